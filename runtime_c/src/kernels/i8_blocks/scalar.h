// SPDX-License-Identifier: Apache-2.0
// Products in blocks in portable C. The reference of the other kernels.

#define BLOCKS_ROWS 4
#define BLOCKS_VECTORS 1
#define BLOCKS_ROW_VECTORS 1
#define BLOCKS_SHIFT_8 0

// The dot product of four bytes of weights, from 0 to 15, with x.
SMR_INLINE int32_t N(blocks_dot)(int32_t w, const int8_t *x) {
  return (w & 255) * x[0] + (w >> 8 & 255) * x[1] + (w >> 16 & 255) * x[2] + (w >> 24) * x[3];
}

SMR_INLINE void N(blocks_sum_4)(const size_t mr, const size_t nv,
                                const struct N(blocks_masks) * masks, const char *w,
                                const int8_t *x, size_t stride, int32_t (*sums)[BLOCKS_V]) {
  for (size_t j = 0; j < 4; j++, w += BLOCKS_GROUP_BYTES, x += 4) {
    for (size_t v = 0; v < nv; v++) {
      int32_t q;
      memcpy(&q, w + 4 * v, sizeof q);
      q ^= masks->flip;
      const int32_t low = q & masks->low, high = q >> 4 & masks->high;
      for (size_t i = 0; i < mr; i++) {
        const int8_t *at = x + i * stride;
        sums[i][v] = N(iadd)(sums[i][v], N(blocks_dot)(low, at) + N(blocks_dot)(high, at + 16));
      }
    }
  }
}

SMR_INLINE void N(blocks_sum_8)(const size_t mr, const size_t nv, size_t groups, const char *w,
                                const int8_t *x, size_t stride, int32_t (*sums)[BLOCKS_V]) {
  const int8_t *q = (const int8_t *)w;
  for (; groups > 0; groups--, q += BLOCKS_GROUP_BYTES, x += SMR_NARROW_ROWS_8) {
    for (size_t v = 0; v < nv; v++) {
      for (size_t i = 0; i < mr; i++) {
        const int8_t *a = x + i * stride, *b = q + 4 * v;
        const int32_t dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
        sums[i][v] = N(iadd)(sums[i][v], dot);
      }
    }
  }
}
