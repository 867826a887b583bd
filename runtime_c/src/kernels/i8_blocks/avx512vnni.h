// SPDX-License-Identifier: Apache-2.0
// Products in blocks for AVX-512 VNNI: dot products of four unsigned with four signed bytes.

#define BLOCKS_ROWS 8
#define BLOCKS_VECTORS 1
#define BLOCKS_ROW_VECTORS BLOCKS_V
#define BLOCKS_SHIFT_8 128
#define BLOCKS_AHEAD 4096  // bytes to prefetch for a single row: the hardware stops at page ends

// acc += dot products of the unsigned bytes u with the four bytes at x.
SMR_INLINE void N(blocks_dot)(__m512i *acc, __m512i u, const int8_t *x) {
  int32_t four;
  memcpy(&four, x, sizeof four);
  *acc = _mm512_dpbusd_epi32(*acc, u, _mm512_set1_epi32(four));
}

SMR_INLINE void N(blocks_sum_4)(const size_t mr, const size_t nv,
                                const struct N(blocks_masks) * masks, const char *w,
                                const int8_t *x, size_t stride, __m512i (*sums)[BLOCKS_V]) {
  (void)nv;
  __m512i other[BLOCKS_ROWS];  // a second chain hides latency
  SMR_UNROLL for (size_t i = 0; i < mr; i++) other[i] = N(izero)();
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    if (mr == 1) _mm_prefetch(w + BLOCKS_AHEAD + j * BLOCKS_GROUP_BYTES, _MM_HINT_T0);
    const __m512i q = N(ixor)(_mm512_loadu_si512(w + j * BLOCKS_GROUP_BYTES), masks->flip);
    const __m512i low = N(iand)(q, masks->low), high = N(iand)(N(isrl)(q, 4), masks->high);
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      N(blocks_dot)(&sums[i][0], low, x + i * stride + 4 * j);
      N(blocks_dot)(&other[i], high, x + i * stride + 16 + 4 * j);
    }
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) sums[i][0] = N(iadd)(sums[i][0], other[i]);
}

SMR_INLINE void N(blocks_sum_8)(const size_t mr, const size_t nv, size_t groups, const char *w,
                                const int8_t *x, size_t stride, __m512i (*sums)[BLOCKS_V]) {
  (void)nv;
  const __m512i flip = N(iset1)((int32_t)0x80808080);
  for (; groups > 0; groups--, w += BLOCKS_GROUP_BYTES, x += SMR_NARROW_ROWS_8) {
    if (mr == 1) _mm_prefetch(w + BLOCKS_AHEAD, _MM_HINT_T0);
    const __m512i u = N(ixor)(_mm512_loadu_si512(w), flip);
    SMR_UNROLL for (size_t i = 0; i < mr; i++) N(blocks_dot)(&sums[i][0], u, x + i * stride);
  }
}
#undef BLOCKS_AHEAD
