// SPDX-License-Identifier: Apache-2.0
// What products by AVX-512 VNNI and by AMX share: staging, in rows I8_GEMM_PITCH bytes apart,
// output, and products of a single row.

// acc += per lane, the four products of the unsigned bytes at `p` and the signed ones at `w`. In
// assembly, as in avx512vnni.h.
SMR_INLINE void N(i8_gemm_dot_1)(__m512i *acc, const uint8_t *p, const int8_t *w) {
  const uint8_t (*four)[4] = (const uint8_t (*)[4])(const void *)p;
  const __m512i b = _mm512_loadu_si512(w);
  __m512i a;
  __asm__("vpbroadcastd %2, %1\n\tvpdpbusd %3, %1, %0" : "+v"(*acc), "=&v"(a) : "m"(*four), "v"(b));
}

static void N(i8_gemm_stage)(size_t rows, const int8_t *const *a, size_t n, size_t at,
                             void *staged) {
  const __m512i flip = _mm512_set1_epi8((char)0x80);
  const size_t whole = n / 64 * 64;
  const __mmask64 mask = ((__mmask64)1 << n % 64) - 1;
  uint8_t *to = (uint8_t *)staged + at;
  for (size_t r = 0; whole > 0 && r < rows; r++, to += I8_GEMM_PITCH) {
    for (size_t i = 0; i < whole; i += 64)
      _mm512_storeu_si512(to + i, _mm512_xor_si512(_mm512_loadu_si512(a[r] + i), flip));
  }
  to = (uint8_t *)staged + at + whole;
  for (size_t r = 0; mask && r < rows; r++, to += I8_GEMM_PITCH) {
    const __m512i last = _mm512_maskz_loadu_epi8(mask, a[r] + whole);
    _mm512_storeu_si512(to, _mm512_xor_si512(last, flip));
  }
}

SMR_INLINE uint8_t *N(i8_gemm_flip)(const int8_t *from, size_t n, uint8_t *to) {
  const __m512i flip = _mm512_set1_epi8((char)0x80);
  for (; n >= 64; n -= 64, from += 64, to += 64)
    _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_loadu_si512(from), flip));
  const __m512i last = _mm512_maskz_loadu_epi8(((__mmask64)1 << n) - 1, from);
  _mm512_storeu_si512(to, _mm512_xor_si512(last, flip));
  return to + n;
}

// Masked 64-byte stores would often cross cache lines, so store 16 bytes at a time.
SMR_INLINE uint8_t *N(i8_gemm_flip_16)(const int8_t *from, size_t n, uint8_t *to) {
  const __m128i last = _mm_maskz_loadu_epi8((__mmask16)((1u << n) - 1), from);
  _mm_storeu_si128((__m128i *)(void *)to, _mm_xor_si128(last, _mm_set1_epi8((char)0x80)));
  return to + n;
}

static void N(i8_gemm_gather)(size_t rows, const int8_t *const *begin, const size_t *taps,
                              size_t count, size_t n, size_t pitch, uint8_t *first) {
  for (size_t i = 0; i < rows; i++, first += pitch) {
    uint8_t *to = first;
    if (n <= 16) {
      for (size_t t = 0; t < count; t++) to = N(i8_gemm_flip_16)(begin[i] + taps[t], n, to);
    } else {
      for (size_t t = 0; t < count; t++) to = N(i8_gemm_flip)(begin[i] + taps[t], n, to);
    }
  }
}

// Convert 16 sums of a row. The upper end is clamped before the conversion to integers, which is
// undefined for large values: as integers, which order like floats unless both are negative. Too
// small values become the least integer. hi >= 0.
SMR_INLINE void N(i8_gemm_bytes_out)(__m512i sums, __m512 multiplier,
                                     const struct smr_i8_gemm_direct *to, __mmask16 mask,
                                     int8_t *out) {
  const __m512i hi = _mm512_castps_si512(N(set1)(to->hi));
  const __m512i lo = N(iset1)(to->lo - to->zero), zero = N(iset1)(to->zero);
  const __m512i v = _mm512_castps_si512(N(mul)(N(to_float)(sums), multiplier));
  const __m512i whole = N(to_int)(_mm512_castsi512_ps(_mm512_min_epi32(v, hi)));
  _mm512_mask_cvtsepi32_storeu_epi8(out, mask, N(iadd)(_mm512_max_epi32(whole, lo), zero));
}

// Whether the multipliers of two panels are all between -1 and 1: then no sum becomes too large for
// an integer, and saturated bytes can be clamped instead.
SMR_INLINE bool N(i8_gemm_below_1)(const struct smr_i8_gemm_direct *to, size_t column) {
  const float *at = to->multiplier + column;
  const __m512 one = N(set1)(1.0f), left = _mm512_abs_ps(N(load)(at));
  const __m512 right = _mm512_abs_ps(N(load)(at + SMR_I8_PANEL));
  return (_mm512_cmp_ps_mask(left, one, _CMP_NLT_UQ) |
          _mm512_cmp_ps_mask(right, one, _CMP_NLT_UQ)) == 0;
}

struct N(i8_gemm_packing) {
  __m512 multiplier[2];
  __m512i lo, hi, zero, order;
};

SMR_INLINE struct N(i8_gemm_packing)
    N(i8_gemm_packing)(const struct smr_i8_gemm_direct *to, size_t column) {
  return (struct N(i8_gemm_packing)){
      .multiplier = {N(load)(to->multiplier + column),
                     N(load)(to->multiplier + column + SMR_I8_PANEL)},
      .lo = _mm512_set1_epi8((char)to->lo),
      .hi = _mm512_set1_epi8((char)((int32_t)to->hi + to->zero)),
      .zero = _mm512_set1_epi16((short)to->zero),
      .order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
  };
}

// Convert two panels of two rows, whose 64 bytes fill a vector: a third fewer instructions than
// one panel of one row at a time.
SMR_INLINE void N(i8_gemm_two_rows_out)(__m512i (*sums)[2],
                                        const struct N(i8_gemm_packing) * packing, int8_t *out,
                                        size_t out_stride) {
  __m512i words[2];
  SMR_UNROLL for (size_t r = 0; r < 2; r++) {
    __m512i whole[2];
    SMR_UNROLL for (size_t p = 0; p < 2; p++) whole[p] =
        N(to_int)(N(mul)(N(to_float)(sums[r][p]), packing->multiplier[p]));
    words[r] = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), packing->zero);
  }
  const __m512i least = _mm512_max_epi8(_mm512_packs_epi16(words[0], words[1]), packing->lo);
  const __m512i mixed = _mm512_min_epi8(least, packing->hi);
  const __m512i bytes = _mm512_permutexvar_epi32(packing->order, mixed);
  _mm256_storeu_si256((__m256i *)(void *)out, _mm512_castsi512_si256(bytes));
  _mm256_storeu_si256((__m256i *)(void *)(out + out_stride), _mm512_extracti64x4_epi64(bytes, 1));
}

// A single row: eight sums of a panel hide the latency; weights are read as one stream.
SMR_INLINE size_t N(i8_gemm_row)(const struct smr_i8_gemm_rows *call, const uint8_t *row) {
  const int8_t *panel = call->w;
  for (size_t column = 0; column < call->columns; column += SMR_I8_PANEL) {
    const int8_t *w = panel;
    __m512i acc[8];
    acc[0] = N(iload)(call->from + column);
    SMR_UNROLL for (size_t i = 1; i < 8; i++) acc[i] = N(izero)();
    for (size_t tap = 0; tap < call->tap_count; tap++) {
      const uint8_t *at = row + call->taps[tap];
      size_t groups = call->groups;
      for (; groups >= 8; groups -= 8, at += 32, w += 512) {
        SMR_UNROLL for (size_t i = 0; i < 8; i++) {
          N(i8_gemm_dot_1)(&acc[i], at + 4 * i, w + 64 * i);
        }
      }
      for (; groups > 0; groups--, at += 4, w += 64) N(i8_gemm_dot_1)(acc, at, w);
    }
    SMR_UNROLL for (size_t i = 1; i < 8; i++) acc[0] = N(iadd)(acc[0], acc[i]);
    N(istore)(call->sums + column, acc[0]);
    panel += call->panel_stride_bytes;
  }
  return 0;
}
#undef I8_GEMM_PITCH
