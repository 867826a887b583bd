// SPDX-License-Identifier: Apache-2.0
// The vocabulary in AVX-512, sixteen lanes wide. Included by simd/avx512*_begin.h only.

typedef __m512 N(vf);
typedef __m512i N(vi);
typedef __mmask16 N(vm);
typedef int32_t N(v16si) __attribute__((vector_size(64)));
typedef uint32_t N(v16su) __attribute__((vector_size(64)));

// The first n lanes, n <= 16.
SMR_INLINE __mmask16 N(mask_n)(size_t n) { return (__mmask16)((1u << n) - 1u); }

SMR_INLINE __m512 N(zero)(void) { return _mm512_setzero_ps(); }
SMR_INLINE __m512 N(set1)(float x) { return _mm512_set1_ps(x); }
SMR_INLINE __m512 N(load)(const float *p) { return _mm512_loadu_ps(p); }
SMR_INLINE void N(store)(float *p, __m512 v) { _mm512_storeu_ps(p, v); }
SMR_INLINE __m512 N(load_n)(const float *p, size_t n) {
  return _mm512_maskz_loadu_ps(N(mask_n)(n), p);
}
SMR_INLINE void N(store_n)(float *p, __m512 v, size_t n) {
  _mm512_mask_storeu_ps(p, N(mask_n)(n), v);
}
SMR_INLINE __m512 N(load_f16)(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
SMR_INLINE void N(store_f16)(uint16_t *p, __m512 v) {
  _mm256_storeu_si256((__m256i *)(void *)p,
                      _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
SMR_INLINE __m512 N(load_f16_n)(const uint16_t *p, size_t n) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(N(mask_n)(n), p));
}
SMR_INLINE void N(store_f16_n)(uint16_t *p, __m512 v, size_t n) {
  _mm256_mask_storeu_epi16(p, N(mask_n)(n),
                           _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

SMR_INLINE __m512 N(add)(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
SMR_INLINE __m512 N(sub)(__m512 a, __m512 b) { return _mm512_sub_ps(a, b); }
SMR_INLINE __m512 N(mul)(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
SMR_INLINE __m512 N(div)(__m512 a, __m512 b) { return _mm512_div_ps(a, b); }
SMR_INLINE __m512 N(fma)(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
SMR_INLINE __m512 N(min)(__m512 a, __m512 b) { return _mm512_min_ps(a, b); }
SMR_INLINE __m512 N(max)(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
SMR_INLINE __m512 N(clamp)(__m512 x, __m512 lo, __m512 hi) {
  return _mm512_min_ps(hi, _mm512_max_ps(lo, x));
}
SMR_INLINE __m512 N(neg)(__m512 a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
SMR_INLINE __m512 N(abs)(__m512 a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
SMR_INLINE __m512 N(sqrt)(__m512 a) { return _mm512_sqrt_ps(a); }
SMR_INLINE __m512 N(floor)(__m512 a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
SMR_INLINE __m512 N(ceil)(__m512 a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
SMR_INLINE __m512 N(trunc)(__m512 a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
SMR_INLINE __m512 N(rint)(__m512 a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

SMR_INLINE __m512i N(bits)(__m512 v) { return _mm512_castps_si512(v); }
SMR_INLINE __m512 N(from_bits)(__m512i i) { return _mm512_castsi512_ps(i); }

SMR_INLINE __mmask16 N(lt)(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
SMR_INLINE __mmask16 N(le)(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
SMR_INLINE __mmask16 N(gt)(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
SMR_INLINE __mmask16 N(ge)(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
SMR_INLINE __mmask16 N(eq)(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
SMR_INLINE __mmask16 N(ne)(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
SMR_INLINE __mmask16 N(mand)(__mmask16 a, __mmask16 b) { return a & b; }
SMR_INLINE __mmask16 N(mor)(__mmask16 a, __mmask16 b) { return a | b; }
SMR_INLINE __mmask16 N(mnot)(__mmask16 a) { return (__mmask16)~a; }
SMR_INLINE int N(any)(__mmask16 m) { return m != 0; }
SMR_INLINE int N(all)(__mmask16 m) { return m == 0xffff; }
SMR_INLINE __m512 N(select)(__mmask16 m, __m512 a, __m512 b) {
  return _mm512_mask_blend_ps(m, b, a);
}

SMR_INLINE __m512i N(izero)(void) { return _mm512_setzero_si512(); }
SMR_INLINE __m512i N(iset1)(int32_t x) { return _mm512_set1_epi32(x); }
SMR_INLINE N(vi) N(iload_i8)(const int8_t *p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SMR_INLINE __m512i N(iload)(const int32_t *p) { return _mm512_loadu_si512(p); }
SMR_INLINE void N(istore)(int32_t *p, __m512i v) { _mm512_storeu_si512(p, v); }
SMR_INLINE __m512i N(iload_n)(const int32_t *p, size_t n) {
  return _mm512_maskz_loadu_epi32(N(mask_n)(n), p);
}
SMR_INLINE void N(istore_n)(int32_t *p, __m512i v, size_t n) {
  _mm512_mask_storeu_epi32(p, N(mask_n)(n), v);
}
SMR_INLINE __m512i N(iadd)(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
SMR_INLINE __m512i N(isub)(__m512i a, __m512i b) { return _mm512_sub_epi32(a, b); }
SMR_INLINE __m512i N(imul)(__m512i a, __m512i b) { return _mm512_mullo_epi32(a, b); }
SMR_INLINE __m512i N(imin)(__m512i a, __m512i b) { return _mm512_min_epi32(a, b); }
SMR_INLINE __m512i N(imax)(__m512i a, __m512i b) { return _mm512_max_epi32(a, b); }
SMR_INLINE __m512i N(iand)(__m512i a, __m512i b) { return _mm512_and_si512(a, b); }
SMR_INLINE __m512i N(ior)(__m512i a, __m512i b) { return _mm512_or_si512(a, b); }
SMR_INLINE __m512i N(ixor)(__m512i a, __m512i b) { return _mm512_xor_si512(a, b); }
// As a vector expression, so that a constant n becomes an immediate at every -O level.
SMR_INLINE __m512i N(ishl)(__m512i a, int n) { return (__m512i)((N(v16su))a << n); }
SMR_INLINE __m512i N(isra)(__m512i a, int n) { return (__m512i)((N(v16si))a >> n); }
SMR_INLINE __m512i N(isrl)(__m512i a, int n) { return (__m512i)((N(v16su))a >> n); }
SMR_INLINE __mmask16 N(igt)(__m512i a, __m512i b) { return _mm512_cmpgt_epi32_mask(a, b); }
SMR_INLINE __mmask16 N(ieq)(__m512i a, __m512i b) { return _mm512_cmpeq_epi32_mask(a, b); }
SMR_INLINE __m512i N(iselect)(__mmask16 m, __m512i a, __m512i b) {
  return _mm512_mask_blend_epi32(m, b, a);
}

SMR_INLINE __m512i N(to_int)(__m512 v) { return _mm512_cvtps_epi32(v); }
SMR_INLINE __m512i N(to_int_trunc)(__m512 v) { return _mm512_cvttps_epi32(v); }
SMR_INLINE __m512 N(to_float)(__m512i i) { return _mm512_cvtepi32_ps(i); }
SMR_INLINE __m512 N(scale2)(__m512 v, __m512i i) {
  return N(mul)(v, N(from_bits)(N(ishl)(N(iadd)(i, N(iset1)(127)), 23)));
}

SMR_INLINE float N(reduce_add)(__m512 v) {
  const __m256 y = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
SMR_INLINE float N(reduce_max)(__m512 v) {
  const __m256 y = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 x = _mm_max_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
  x = _mm_max_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
SMR_INLINE float N(reduce_min)(__m512 v) {
  const __m256 y = _mm256_min_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 x = _mm_min_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
  x = _mm_min_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_min_ss(x, _mm_movehdup_ps(x)));
}

// Half vectors, for a last panel that is at most half full.
typedef __m256 N(hf);
SMR_INLINE __m256 N(hset1)(float x) { return _mm256_set1_ps(x); }
SMR_INLINE __m256 N(hload)(const float *p) { return _mm256_loadu_ps(p); }
SMR_INLINE void N(hstore)(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
SMR_INLINE __m256 N(hload_f16)(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SMR_INLINE __m256 N(hfma)(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
SMR_INLINE __m256 N(hmin)(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
SMR_INLINE __m256 N(hmax)(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
SMR_INLINE __m256 N(hlow)(__m512 v) { return _mm512_castps512_ps256(v); }
