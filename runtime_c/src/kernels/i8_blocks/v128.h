// SPDX-License-Identifier: Apache-2.0
// Products in blocks for vectors of 128 bits: pairs of int16.
#include "simd/v128_bytes.h"

#define BLOCKS_ROWS 4
#define BLOCKS_VECTORS 1
#define BLOCKS_ROW_VECTORS BLOCKS_V
#define BLOCKS_SHIFT_8 0

// Four bytes as int16, twice.
SMR_INLINE N(v8i16) N(blocks_words)(const int8_t *x) {
  int32_t four;
  memcpy(&four, x, sizeof four);
  return N(widen_low)((N(v16i8))N(iset1)(four));
}

// acc[2] += sums of pairs of products of 16 bytes of weights with the four bytes at x.
SMR_INLINE void N(blocks_madd)(N(vi) * acc, N(v16i8) q, const int8_t *x) {
  const N(v8i16) a = N(blocks_words)(x);
  acc[0] = N(iadd)(acc[0], N(madd)(a, N(widen_low)(q)));
  acc[1] = N(iadd)(acc[1], N(madd)(a, N(widen_high)(q)));
}

SMR_INLINE void N(blocks_sum_4)(const size_t mr, const size_t nv,
                                const struct N(blocks_masks) * masks, const char *w,
                                const int8_t *x, size_t stride, N(vi) (*sums)[BLOCKS_V]) {
  SMR_UNROLL for (size_t v = 0; v < nv; v++) {
    N(vi) acc[BLOCKS_ROWS][2];
    SMR_UNROLL for (size_t i = 0; i < mr; i++) acc[i][0] = acc[i][1] = N(izero)();
    SMR_UNROLL for (size_t j = 0; j < 4; j++) {
      const N(vi) q = N(ixor)((N(vi))N(load_8)(w + j * BLOCKS_GROUP_BYTES + v * 16), masks->flip);
      const N(v16i8) low = (N(v16i8))N(iand)(q, masks->low);
      const N(v16i8) high = (N(v16i8))N(iand)(N(isrl)(q, 4), masks->high);
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        N(blocks_madd)(acc[i], low, x + i * stride + 4 * j);
        N(blocks_madd)(acc[i], high, x + i * stride + 16 + 4 * j);
      }
    }
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      sums[i][v] = N(iadd)(sums[i][v], N(pair_sums)(acc[i][0], acc[i][1]));
    }
  }
}

SMR_INLINE void N(blocks_sum_8)(const size_t mr, const size_t nv, size_t groups, const char *w,
                                const int8_t *x, size_t stride, N(vi) (*sums)[BLOCKS_V]) {
  N(vi) acc[BLOCKS_ROWS][BLOCKS_V][2];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) acc[i][v][0] = acc[i][v][1] = N(izero)();
  }
  for (; groups > 0; groups--, w += BLOCKS_GROUP_BYTES, x += SMR_NARROW_ROWS_8) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) {
      const N(v16i8) q = N(load_8)(w + v * 16);
      SMR_UNROLL for (size_t i = 0; i < mr; i++) N(blocks_madd)(acc[i][v], q, x + i * stride);
    }
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) {
      sums[i][v] = N(iadd)(sums[i][v], N(pair_sums)(acc[i][v][0], acc[i][v][1]));
    }
  }
}
