// SPDX-License-Identifier: Apache-2.0
// int8 tensors in the vocabulary, four vectors of lanes at a time; included between
// simd/<isa>_begin.h and simd/end.h. Portable C uses simd/requantize.h instead.
//
//   load_i8(p, v)            4 VF bytes as int32 lanes
//   load_i8_n(p, n, v)       the first n < 4 VF of them, the rest 0
//   load_i8_some(p, n, v)    either; for n that is usually 4 VF. The code for the rest of a row
//                            is a separate function that is not inlined
//   i8_limits(lo, hi, zero)  struct i8_limits of an output
//   store_i8(y, p, l, n)     round_half_even(clamp(p[k], lo - zero, hi - zero)) + zero, the first
//                            n <= 4 VF bytes. No lane of p is NaN.
//
// The code rounds first and clamps by saturating steps, which is the same for integer limits.
// Conversions give the least integer for values below int32, so that only the upper limit needs a
// float comparison; NEON's saturate on both sides. WebAssembly's conversion takes eight
// instructions on x86, so v128 clamps floats and rounds them by a sum, as portable C does. Each
// instruction set defines the functions once, however often this header is included.

#if defined(SMR_SIMD_V128)
#ifndef SMR_SIMD_BYTES_V128
#define SMR_SIMD_BYTES_V128
#include "simd/v128_bytes.h"

struct N(i8_limits) {
  N(vf) lo, hi;   // minus zero
  N(vi) rounder;  // bits of the number that rounds, minus zero
};

SMR_INLINE struct N(i8_limits) N(i8_limits)(int32_t lo, int32_t hi, int32_t zero) {
  const N(vi) magic = N(bits)(N(set1)(SMR_ROUND_MAGIC));
  return (struct N(i8_limits)){N(set1)((float)(lo - zero)), N(set1)((float)(hi - zero)),
                               N(isub)(magic, N(iset1)(zero))};
}

// A float below 2^22 plus the magic number has the rounded integer in its low bits.
SMR_INLINE N(vi) N(round_i8)(N(vf) p, const struct N(i8_limits) * l) {
  const N(vf) within = N(max)(N(min)(p, l->hi), l->lo);
  return N(isub)(N(bits)(N(add)(within, N(set1)(SMR_ROUND_MAGIC))), l->rounder);
}

SMR_INLINE void N(widen_i8)(N(v16i8) bytes, N(vi) v[4]) {
  const N(v8i16) low = N(widen_low)(bytes), high = N(widen_high)(bytes);
  v[0] = N(ints_low)(low), v[1] = N(ints_high)(low);
  v[2] = N(ints_low)(high), v[3] = N(ints_high)(high);
}

SMR_INLINE void N(load_i8)(const int8_t *p, N(vi) v[4]) { N(widen_i8)(N(load_8)(p), v); }

SMR_INLINE void N(load_i8_n)(const int8_t *p, size_t n, N(vi) v[4]) {
  N(widen_i8)(N(load_8_n)(p, n), v);
}

SMR_APART N(v16i8) N(load_i8_rest)(const int8_t *p, size_t n) { return N(load_8_n)(p, n); }

SMR_INLINE void N(load_i8_some)(const int8_t *p, size_t n, N(vi) v[4]) {
  N(widen_i8)(n == 16 ? N(load_8)(p) : N(load_i8_rest)(p, n), v);
}

SMR_APART void N(store_i8_rest)(int8_t *y, N(v16i8) bytes, size_t n) { N(store_8_n)(y, bytes, n); }

SMR_INLINE void N(store_i8)(int8_t *y, const N(vf) p[4], const struct N(i8_limits) * l, size_t n) {
  const N(v8i16) low = N(words_of)(N(round_i8)(p[0], l), N(round_i8)(p[1], l));
  const N(v8i16) high = N(words_of)(N(round_i8)(p[2], l), N(round_i8)(p[3], l));
  const N(v16i8) bytes = N(bytes_of)(low, high);
  if (n == 16)
    N(store_8)(y, bytes);
  else
    N(store_i8_rest)(y, bytes, n);
}
#endif

#elif VF == 4 && !defined(SMR_SIMD_BYTES_NEON)
#define SMR_SIMD_BYTES_NEON

struct N(i8_limits) {
  int16x8_t zero;
  int8x16_t lo, hi;
};

SMR_INLINE struct N(i8_limits) N(i8_limits)(int32_t lo, int32_t hi, int32_t zero) {
  return (struct N(i8_limits)){vdupq_n_s16((int16_t)zero), vdupq_n_s8((int8_t)lo),
                               vdupq_n_s8((int8_t)hi)};
}

SMR_INLINE void N(load_i8)(const int8_t *p, N(vi) v[4]) {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
  v[0] = vmovl_s16(vget_low_s16(low)), v[1] = vmovl_high_s16(low);
  v[2] = vmovl_s16(vget_low_s16(high)), v[3] = vmovl_high_s16(high);
}

SMR_APART void N(load_i8_rest)(const int8_t *p, size_t n, uint64_t bytes[2]) {
  smr_load_tail(p, n, bytes);
}

SMR_INLINE void N(load_i8_some)(const int8_t *p, size_t n, N(vi) v[4]) {
  uint64_t bytes[2];
  if (n < 16) {
    N(load_i8_rest)(p, n, bytes);
    p = (const int8_t *)bytes;
  }
  N(load_i8)(p, v);
}

SMR_INLINE void N(load_i8_n)(const int8_t *p, size_t n, N(vi) v[4]) {
  uint64_t bytes[2];
  smr_load_tail(p, n, bytes);
  N(load_i8)((const int8_t *)bytes, v);
}

SMR_APART void N(store_i8_rest)(int8_t *y, int8x16_t bytes, size_t n) {
  const uint64x2_t wide = vreinterpretq_u64_s8(bytes);
  const uint64_t half[2] = {vgetq_lane_u64(wide, 0), vgetq_lane_u64(wide, 1)};
  smr_store_tail(y, n, half);
}

SMR_INLINE void N(store_i8)(int8_t *y, const N(vf) p[4], const struct N(i8_limits) * l, size_t n) {
  const int16x8_t low = vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(p[0])), vcvtnq_s32_f32(p[1]));
  const int16x8_t high = vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(p[2])), vcvtnq_s32_f32(p[3]));
  const int8x16_t whole =
      vqmovn_high_s16(vqmovn_s16(vqaddq_s16(low, l->zero)), vqaddq_s16(high, l->zero));
  const int8x16_t bytes = vmaxq_s8(vminq_s8(whole, l->hi), l->lo);
  if (n == 16)
    vst1q_s8(y, bytes);
  else
    N(store_i8_rest)(y, bytes, n);
}

#elif VF == 8 && !defined(SMR_SIMD_BYTES_AVX2)
#define SMR_SIMD_BYTES_AVX2

struct N(i8_limits) {
  __m256 high;  // hi - zero
  __m256i zero, lo;
};

SMR_INLINE struct N(i8_limits) N(i8_limits)(int32_t lo, int32_t hi, int32_t zero) {
  return (struct N(i8_limits)){_mm256_set1_ps((float)(hi - zero)), _mm256_set1_epi16((int16_t)zero),
                               _mm256_set1_epi8((char)lo)};
}

SMR_INLINE void N(load_i8)(const int8_t *p, N(vi) v[4]) {
  SMR_UNROLL for (size_t k = 0; k < 4; k++) v[k] =
      _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p + 8 * k)));
}

SMR_INLINE __m256i N(load_bytes_n)(const int8_t *p, size_t n) {
  // Through registers: loading a vector from two halves just stored would stall.
  const size_t rest = n & 15;
  uint64_t half[2];
  smr_load_tail(p + n - rest, rest, half);
  const __m128i last = _mm_set_epi64x((long long)half[1], (long long)half[0]);
  if (n < 16) return _mm256_zextsi128_si256(last);
  return _mm256_set_m128i(last, _mm_loadu_si128((const __m128i *)(const void *)p));
}

SMR_APART __m256i N(load_bytes_rest)(const int8_t *p, size_t n) { return N(load_bytes_n)(p, n); }

SMR_INLINE void N(widen_i8)(__m256i bytes, N(vi) v[4]) {
  const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
  v[0] = _mm256_cvtepi8_epi32(low), v[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(low, 8));
  v[2] = _mm256_cvtepi8_epi32(high), v[3] = _mm256_cvtepi8_epi32(_mm_srli_si128(high, 8));
}

SMR_INLINE void N(load_i8_n)(const int8_t *p, size_t n, N(vi) v[4]) {
  N(widen_i8)(N(load_bytes_n)(p, n), v);
}

SMR_INLINE void N(load_i8_some)(const int8_t *p, size_t n, N(vi) v[4]) {
  if (n == 32)
    N(load_i8)(p, v);
  else
    N(widen_i8)(N(load_bytes_rest)(p, n), v);
}

SMR_APART void N(store_i8_rest)(int8_t *y, __m256i bytes, size_t n) {
  __m128i last = _mm256_castsi256_si128(bytes);
  if (n >= 16) {
    _mm_storeu_si128((__m128i *)(void *)y, last);
    last = _mm256_extracti128_si256(bytes, 1);
    y += 16;
  }
  const uint64_t half[2] = {(uint64_t)_mm_cvtsi128_si64(last),
                            (uint64_t)_mm_extract_epi64(last, 1)};
  smr_store_tail(y, n & 15, half);
}

SMR_INLINE void N(store_i8)(int8_t *y, const N(vf) p[4], const struct N(i8_limits) * l, size_t n) {
  __m256i v[4];
  SMR_UNROLL for (size_t k = 0; k < 4; k++) v[k] = _mm256_cvtps_epi32(_mm256_min_ps(p[k], l->high));
  const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(v[0], v[1]), l->zero);
  const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(v[2], v[3]), l->zero);
  // Packing works within halves: the bytes of vector k are dwords k and 4 + k.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes =
      _mm256_max_epi8(_mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order), l->lo);
  if (n == 32)
    _mm256_storeu_si256((__m256i *)(void *)y, bytes);
  else
    N(store_i8_rest)(y, bytes, n);
}

#elif VF == 16 && !defined(SMR_SIMD_BYTES_AVX512)
#define SMR_SIMD_BYTES_AVX512

// Without optimisation GCC's intrinsics are macros, whose casts trigger its own warnings.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

struct N(i8_limits) {
  __m512 high;  // hi - zero
  __m512i zero, lo;
};

SMR_INLINE struct N(i8_limits) N(i8_limits)(int32_t lo, int32_t hi, int32_t zero) {
  return (struct N(i8_limits)){_mm512_set1_ps((float)(hi - zero)), _mm512_set1_epi16((int16_t)zero),
                               _mm512_set1_epi8((char)lo)};
}

// The first n <= 64 bytes.
SMR_INLINE __mmask64 N(i8_mask)(size_t n) {
  return n < 64 ? ((__mmask64)1 << n) - 1 : ~(__mmask64)0;
}

SMR_INLINE void N(load_i8)(const int8_t *p, N(vi) v[4]) {
  SMR_UNROLL for (size_t k = 0; k < 4; k++) v[k] =
      _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * k)));
}

SMR_INLINE void N(load_i8_n)(const int8_t *p, size_t n, N(vi) v[4]) {
  const __m512i bytes = _mm512_maskz_loadu_epi8(N(i8_mask)(n), p);
  v[0] = _mm512_cvtepi8_epi32(_mm512_castsi512_si128(bytes));
  v[1] = _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(bytes, 1));
  v[2] = _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(bytes, 2));
  v[3] = _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(bytes, 3));
}

SMR_INLINE void N(load_i8_some)(const int8_t *p, size_t n, N(vi) v[4]) {
  if (n == 64)
    N(load_i8)(p, v);
  else
    N(load_i8_n)(p, n, v);
}

SMR_INLINE void N(store_i8)(int8_t *y, const N(vf) p[4], const struct N(i8_limits) * l, size_t n) {
  __m512i v[4];
  SMR_UNROLL for (size_t k = 0; k < 4; k++) v[k] = _mm512_cvtps_epi32(_mm512_min_ps(p[k], l->high));
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), l->zero);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), l->zero);
  // Packing works within quarters: the bytes of vector k are dwords k, 4 + k, 8 + k and 12 + k.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes =
      _mm512_max_epi8(_mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high)), l->lo);
  if (n == 64)
    _mm512_storeu_si512((void *)y, bytes);
  else
    _mm512_mask_storeu_epi8(y, N(i8_mask)(n), bytes);
}
#pragma GCC diagnostic pop
#endif
