// SPDX-License-Identifier: Apache-2.0
// The vocabulary in AVX2, FMA and F16C, eight lanes wide. Included by simd/avx2_begin.h only.

typedef __m256 N(vf);
typedef __m256i N(vi);
typedef __m256 N(vm);
typedef int32_t N(v8si) __attribute__((vector_size(32)));
typedef uint32_t N(v8su) __attribute__((vector_size(32)));

// All ones in the first n lanes.
SMR_INLINE __m256i N(mask_n)(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

SMR_INLINE __m256 N(zero)(void) { return _mm256_setzero_ps(); }
SMR_INLINE __m256 N(set1)(float x) { return _mm256_set1_ps(x); }
SMR_INLINE __m256 N(load)(const float *p) { return _mm256_loadu_ps(p); }
SMR_INLINE void N(store)(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
SMR_INLINE __m256 N(load_n)(const float *p, size_t n) {
  return _mm256_maskload_ps(p, N(mask_n)(n));
}
SMR_INLINE void N(store_n)(float *p, __m256 v, size_t n) {
  _mm256_maskstore_ps(p, N(mask_n)(n), v);
}
SMR_INLINE __m256 N(load_f16)(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SMR_INLINE void N(store_f16)(uint16_t *p, __m256 v) {
  _mm_storeu_si128((__m128i *)(void *)p,
                   _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
SMR_INLINE __m256 N(load_f16_n)(const uint16_t *p, size_t n) {
  uint16_t lanes[8] = {0};
  for (size_t i = 0; i < n; i++) lanes[i] = p[i];
  return N(load_f16)(lanes);
}
SMR_INLINE void N(store_f16_n)(uint16_t *p, __m256 v, size_t n) {
  uint16_t lanes[8];
  N(store_f16)(lanes, v);
  for (size_t i = 0; i < n; i++) p[i] = lanes[i];
}

SMR_INLINE __m256 N(add)(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
SMR_INLINE __m256 N(sub)(__m256 a, __m256 b) { return _mm256_sub_ps(a, b); }
SMR_INLINE __m256 N(mul)(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
SMR_INLINE __m256 N(div)(__m256 a, __m256 b) { return _mm256_div_ps(a, b); }
SMR_INLINE __m256 N(fma)(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
SMR_INLINE __m256 N(min)(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
SMR_INLINE __m256 N(max)(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
SMR_INLINE __m256 N(clamp)(__m256 x, __m256 lo, __m256 hi) {
  return _mm256_min_ps(hi, _mm256_max_ps(lo, x));
}
SMR_INLINE __m256 N(neg)(__m256 a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
SMR_INLINE __m256 N(abs)(__m256 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
SMR_INLINE __m256 N(sqrt)(__m256 a) { return _mm256_sqrt_ps(a); }
SMR_INLINE __m256 N(floor)(__m256 a) { return _mm256_floor_ps(a); }
SMR_INLINE __m256 N(ceil)(__m256 a) { return _mm256_ceil_ps(a); }
SMR_INLINE __m256 N(trunc)(__m256 a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
SMR_INLINE __m256 N(rint)(__m256 a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

SMR_INLINE __m256i N(bits)(__m256 v) { return _mm256_castps_si256(v); }
SMR_INLINE __m256 N(from_bits)(__m256i i) { return _mm256_castsi256_ps(i); }

SMR_INLINE __m256 N(lt)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
SMR_INLINE __m256 N(le)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
SMR_INLINE __m256 N(gt)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
SMR_INLINE __m256 N(ge)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
SMR_INLINE __m256 N(eq)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
SMR_INLINE __m256 N(ne)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
SMR_INLINE __m256 N(mand)(__m256 a, __m256 b) { return _mm256_and_ps(a, b); }
SMR_INLINE __m256 N(mor)(__m256 a, __m256 b) { return _mm256_or_ps(a, b); }
SMR_INLINE __m256 N(mnot)(__m256 a) {
  return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
}
SMR_INLINE int N(any)(__m256 m) { return _mm256_movemask_ps(m) != 0; }
SMR_INLINE int N(all)(__m256 m) { return _mm256_movemask_ps(m) == 0xff; }
SMR_INLINE __m256 N(select)(__m256 m, __m256 a, __m256 b) { return _mm256_blendv_ps(b, a, m); }

SMR_INLINE __m256i N(izero)(void) { return _mm256_setzero_si256(); }
SMR_INLINE __m256i N(iset1)(int32_t x) { return _mm256_set1_epi32(x); }
SMR_INLINE N(vi) N(iload_i8)(const int8_t *p) {
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
SMR_INLINE __m256i N(iload)(const int32_t *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
SMR_INLINE void N(istore)(int32_t *p, __m256i v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }
SMR_INLINE __m256i N(iload_n)(const int32_t *p, size_t n) {
  return _mm256_maskload_epi32(p, N(mask_n)(n));
}
SMR_INLINE void N(istore_n)(int32_t *p, __m256i v, size_t n) {
  _mm256_maskstore_epi32(p, N(mask_n)(n), v);
}
SMR_INLINE __m256i N(iadd)(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
SMR_INLINE __m256i N(isub)(__m256i a, __m256i b) { return _mm256_sub_epi32(a, b); }
SMR_INLINE __m256i N(imul)(__m256i a, __m256i b) { return _mm256_mullo_epi32(a, b); }
SMR_INLINE __m256i N(imin)(__m256i a, __m256i b) { return _mm256_min_epi32(a, b); }
SMR_INLINE __m256i N(imax)(__m256i a, __m256i b) { return _mm256_max_epi32(a, b); }
SMR_INLINE __m256i N(iand)(__m256i a, __m256i b) { return _mm256_and_si256(a, b); }
SMR_INLINE __m256i N(ior)(__m256i a, __m256i b) { return _mm256_or_si256(a, b); }
SMR_INLINE __m256i N(ixor)(__m256i a, __m256i b) { return _mm256_xor_si256(a, b); }
// As a vector expression, so that a constant n becomes an immediate at every -O level.
SMR_INLINE __m256i N(ishl)(__m256i a, int n) { return (__m256i)((N(v8su))a << n); }
SMR_INLINE __m256i N(isra)(__m256i a, int n) { return (__m256i)((N(v8si))a >> n); }
SMR_INLINE __m256i N(isrl)(__m256i a, int n) { return (__m256i)((N(v8su))a >> n); }
SMR_INLINE __m256 N(igt)(__m256i a, __m256i b) {
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b));
}
SMR_INLINE __m256 N(ieq)(__m256i a, __m256i b) {
  return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
SMR_INLINE __m256i N(iselect)(__m256 m, __m256i a, __m256i b) {
  return _mm256_blendv_epi8(b, a, _mm256_castps_si256(m));
}

SMR_INLINE __m256i N(to_int)(__m256 v) { return _mm256_cvtps_epi32(v); }
SMR_INLINE __m256i N(to_int_trunc)(__m256 v) { return _mm256_cvttps_epi32(v); }
SMR_INLINE __m256 N(to_float)(__m256i i) { return _mm256_cvtepi32_ps(i); }
SMR_INLINE __m256 N(scale2)(__m256 v, __m256i i) {
  return N(mul)(v, N(from_bits)(N(ishl)(N(iadd)(i, N(iset1)(127)), 23)));
}

SMR_INLINE float N(reduce_add)(__m256 v) {
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
SMR_INLINE float N(reduce_max)(__m256 v) {
  __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  x = _mm_max_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
SMR_INLINE float N(reduce_min)(__m256 v) {
  __m128 x = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  x = _mm_min_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_min_ss(x, _mm_movehdup_ps(x)));
}

// Half vectors, for a last panel that is at most half full.
typedef __m128 N(hf);
SMR_INLINE __m128 N(hset1)(float x) { return _mm_set1_ps(x); }
SMR_INLINE __m128 N(hload)(const float *p) { return _mm_loadu_ps(p); }
SMR_INLINE void N(hstore)(float *p, __m128 v) { _mm_storeu_ps(p, v); }
SMR_INLINE __m128 N(hload_f16)(const uint16_t *p) {
  return _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
SMR_INLINE __m128 N(hfma)(__m128 a, __m128 b, __m128 c) { return _mm_fmadd_ps(a, b, c); }
SMR_INLINE __m128 N(hmin)(__m128 a, __m128 b) { return _mm_min_ps(a, b); }
SMR_INLINE __m128 N(hmax)(__m128 a, __m128 b) { return _mm_max_ps(a, b); }
SMR_INLINE __m128 N(hlow)(__m256 v) { return _mm256_castps256_ps128(v); }
