// SPDX-License-Identifier: Apache-2.0
// Products in blocks for AVX2.
//
// Products of an unsigned and a signed byte are added in pairs to int16, with saturation. With
// 4 bits, eight pairs are at most 8 * 2 * 15 * 127 = 30480: 32 rows are added without overflow.
// With 8 bits, a pair of products of |w| <= 128 with x, negated where w is negative, is at most 2 *
// 128 * 127 = 32512.

#define BLOCKS_ROWS 4
#define BLOCKS_VECTORS 1
#define BLOCKS_ROW_VECTORS BLOCKS_V
#define BLOCKS_SHIFT_8 0
#define BLOCKS_AHEAD 4096  // bytes to prefetch for a single row: the hardware stops at page ends

SMR_INLINE __m256i N(blocks_load)(const char *w) {
  return _mm256_loadu_si256((const __m256i *)(const void *)w);
}

// acc += pairs of products of the bytes u with the four bytes at x, in int16. In assembly, because
// GCC 12 computes all products of a tile before it adds them, and runs out of registers.
SMR_INLINE void N(blocks_pairs)(__m256i *acc, __m256i u, const int8_t *x) {
  const int8_t (*four)[4] = (const int8_t (*)[4])(const void *)x;
  __m256i t;
  __asm__("vpbroadcastd %2, %1\n\tvpmaddubsw %1, %3, %1\n\tvpaddw %1, %0, %0"
          : "+x"(*acc), "=&x"(t)
          : "m"(*four), "x"(u));
}

// A single row: every four bytes of x serve all columns.
SMR_INLINE void N(blocks_row_4)(const struct N(blocks_masks) * masks, const char *w,
                                const int8_t *x, __m256i *sums) {
  __m256i acc[2];
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    _mm_prefetch(w + BLOCKS_AHEAD + j * BLOCKS_GROUP_BYTES, _MM_HINT_T0);
    int32_t four[2];
    memcpy(&four[0], x + 4 * j, 4);
    memcpy(&four[1], x + 16 + 4 * j, 4);
    const __m256i a = N(iset1)(four[0]), b = N(iset1)(four[1]);
    SMR_UNROLL for (size_t v = 0; v < 2; v++) {
      const __m256i q = N(ixor)(N(blocks_load)(w + j * BLOCKS_GROUP_BYTES + v * 32), masks->flip);
      const __m256i low = N(iand)(q, masks->low), high = N(iand)(N(isrl)(q, 4), masks->high);
      const __m256i pairs =
          _mm256_add_epi16(_mm256_maddubs_epi16(low, a), _mm256_maddubs_epi16(high, b));
      acc[v] = j == 0 ? pairs : _mm256_add_epi16(acc[v], pairs);
    }
  }
  const __m256i ones = _mm256_set1_epi16(1);
  sums[0] = N(iadd)(sums[0], _mm256_madd_epi16(acc[0], ones));
  sums[1] = N(iadd)(sums[1], _mm256_madd_epi16(acc[1], ones));
}

SMR_INLINE void N(blocks_sum_4)(const size_t mr, const size_t nv,
                                const struct N(blocks_masks) * masks, const char *w,
                                const int8_t *x, size_t stride, __m256i (*sums)[BLOCKS_V]) {
  if (mr == 1) {
    N(blocks_row_4)(masks, w, x, sums[0]);
    return;
  }
  __m256i acc[BLOCKS_ROWS][BLOCKS_V];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) acc[i][v] = N(izero)();
  }
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) {
      const __m256i q = N(ixor)(N(blocks_load)(w + j * BLOCKS_GROUP_BYTES + v * 32), masks->flip);
      const __m256i low = N(iand)(q, masks->low), high = N(iand)(N(isrl)(q, 4), masks->high);
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        N(blocks_pairs)(&acc[i][v], low, x + i * stride + 4 * j);
        N(blocks_pairs)(&acc[i][v], high, x + i * stride + 16 + 4 * j);
      }
    }
  }
  const __m256i ones = _mm256_set1_epi16(1);
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) {
      sums[i][v] = N(iadd)(sums[i][v], _mm256_madd_epi16(acc[i][v], ones));
    }
  }
}

// The same for 8 bits: one group.
SMR_INLINE void N(blocks_row_8)(const char *w, const int8_t *x, __m256i *sums) {
  const __m256i ones = _mm256_set1_epi16(1);
  int32_t four;
  memcpy(&four, x, sizeof four);
  _mm_prefetch(w + BLOCKS_AHEAD, _MM_HINT_T0);
  SMR_UNROLL for (size_t v = 0; v < 2; v++) {
    const __m256i q = N(blocks_load)(w + v * 32);
    const __m256i pairs =
        _mm256_maddubs_epi16(_mm256_abs_epi8(q), _mm256_sign_epi8(N(iset1)(four), q));
    sums[v] = N(iadd)(sums[v], _mm256_madd_epi16(pairs, ones));
  }
}

SMR_INLINE void N(blocks_sum_8)(const size_t mr, const size_t nv, size_t groups, const char *w,
                                const int8_t *x, size_t stride, __m256i (*sums)[BLOCKS_V]) {
  const __m256i ones = _mm256_set1_epi16(1);
  if (mr == 1) {
    for (; groups >= 4; groups -= 4, w += 4 * BLOCKS_GROUP_BYTES, x += 4 * SMR_NARROW_ROWS_8) {
      SMR_UNROLL for (size_t j = 0; j < 4; j++) {
        N(blocks_row_8)(w + j * BLOCKS_GROUP_BYTES, x + j * SMR_NARROW_ROWS_8, sums[0]);
      }
    }
    for (; groups > 0; groups--, w += BLOCKS_GROUP_BYTES, x += SMR_NARROW_ROWS_8)
      N(blocks_row_8)(w, x, sums[0]);
    return;
  }
  for (; groups > 0; groups--, w += BLOCKS_GROUP_BYTES, x += SMR_NARROW_ROWS_8) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) {
      const __m256i q = N(blocks_load)(w + v * 32), size = _mm256_abs_epi8(q);
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        const int8_t (*four)[4] = (const int8_t (*)[4])(const void *)(x + i * stride);
        __m256i t;
        __asm__(
            "vpbroadcastd %2, %1\n\tvpsignb %3, %1, %1\n\tvpmaddubsw %1, %4, %1\n\t"
            "vpmaddwd %5, %1, %1\n\tvpaddd %1, %0, %0"
            : "+x"(sums[i][v]), "=&x"(t)
            : "m"(*four), "x"(q), "x"(size), "x"(ones));
      }
    }
  }
}
#undef BLOCKS_AHEAD
