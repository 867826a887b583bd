// SPDX-License-Identifier: Apache-2.0
// VF elements of 8 and 16 bits as int32 lanes, and back; included between simd/<isa>_begin.h and
// simd/end.h. Stores write the low bits of lanes, whose values must fit the narrow type.
//
//   load_u8(p) load_u16(p)         VF elements, zero-extended
//   load_bytes(p)                  4 VF bytes at any address
//   load_u8_pairs(p)               2 VF elements as pairs of int16
//   store_u8(p, v) store_i16(p, v)
//   store_u8_clip(p, v)            lanes from -32768 to 32767, clipped to 0..255
//   pairs(a, b)                    the low 16 bits of a in the low half, those of b in the high
//   half dot(x, y)                      for two pairs of int16 in each lane: x0 y0 + x1 y1 even(a,
//   b) odd(a, b)           lanes 0, 2, 4 .. or 1, 3, 5 .. of a, then those of b

#if defined(SMR_SIMD_AVX512)
#ifndef SMR_SIMD_LANES_AVX512
#define SMR_SIMD_LANES_AVX512
SMR_INLINE N(vi) N(load_bytes)(const uint8_t *p) { return _mm512_loadu_si512(p); }
SMR_INLINE N(vi) N(load_u8)(const uint8_t *p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SMR_INLINE N(vi) N(load_u16)(const uint16_t *p) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
SMR_INLINE void N(store_u8)(uint8_t *p, N(vi) v) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(v));
}
SMR_INLINE void N(store_u8_clip)(uint8_t *p, N(vi) v) {
  const N(vi) most = _mm512_max_epi32(v, _mm512_setzero_si512());
  _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtusepi32_epi8(most));
}
SMR_INLINE void N(store_i16)(int16_t *p, N(vi) v) {
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(v));
}
SMR_INLINE N(vi) N(load_u8_pairs)(const uint8_t *p) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
SMR_INLINE N(vi) N(pairs)(N(vi) a, N(vi) b) { return N(ior)(a, N(ishl)(b, 16)); }
SMR_INLINE N(vi) N(dot)(N(vi) x, N(vi) y) { return _mm512_madd_epi16(x, y); }
SMR_INLINE N(vi) N(even)(N(vi) a, N(vi) b) {
  const N(vi) places = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_epi32(a, places, b);
}
SMR_INLINE N(vi) N(odd)(N(vi) a, N(vi) b) {
  const N(vi) places = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_epi32(a, places, b);
}
#endif

#elif defined(SMR_SIMD_AVX2)
#ifndef SMR_SIMD_LANES_AVX2
#define SMR_SIMD_LANES_AVX2
SMR_INLINE N(vi) N(load_bytes)(const uint8_t *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
SMR_INLINE N(vi) N(load_u8)(const uint8_t *p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
SMR_INLINE N(vi) N(load_u16)(const uint16_t *p) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SMR_INLINE __m128i N(lanes_16)(N(vi) v) {
  return _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}
SMR_INLINE void N(store_u8)(uint8_t *p, N(vi) v) {
  const __m128i words = N(lanes_16)(v);
  _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi16(words, words));
}
SMR_INLINE void N(store_u8_clip)(uint8_t *p, N(vi) v) { N(store_u8)(p, v); }
SMR_INLINE void N(store_i16)(int16_t *p, N(vi) v) {
  _mm_storeu_si128((__m128i *)(void *)p, N(lanes_16)(v));
}
SMR_INLINE N(vi) N(load_u8_pairs)(const uint8_t *p) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SMR_INLINE N(vi) N(pairs)(N(vi) a, N(vi) b) { return N(ior)(a, N(ishl)(b, 16)); }
SMR_INLINE N(vi) N(dot)(N(vi) x, N(vi) y) { return _mm256_madd_epi16(x, y); }
SMR_INLINE N(vi) N(even)(N(vi) a, N(vi) b) {
  const __m256 halves = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8);
}
SMR_INLINE N(vi) N(odd)(N(vi) a, N(vi) b) {
  const __m256 halves = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8);
}
#endif

#elif defined(SMR_SIMD_NEON)
#ifndef SMR_SIMD_LANES_NEON
#define SMR_SIMD_LANES_NEON
SMR_INLINE N(vi) N(load_bytes)(const uint8_t *p) { return vreinterpretq_s32_u8(vld1q_u8(p)); }
SMR_INLINE N(vi) N(load_u8)(const uint8_t *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  const uint8x8_t bytes = vreinterpret_u8_u32(vdup_n_u32(word));
  return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
}
SMR_INLINE N(vi) N(load_u16)(const uint16_t *p) {
  return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)));
}
SMR_INLINE void N(store_u8)(uint8_t *p, N(vi) v) {
  const int16x4_t words = vmovn_s32(v);
  const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
  const uint32_t word = vget_lane_u32(vreinterpret_u32_s8(bytes), 0);
  memcpy(p, &word, sizeof word);
}
SMR_INLINE void N(store_u8_clip)(uint8_t *p, N(vi) v) {
  const int16x4_t words = vmovn_s32(v);
  const uint8x8_t bytes = vqmovun_s16(vcombine_s16(words, words));
  const uint32_t word = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
  memcpy(p, &word, sizeof word);
}
SMR_INLINE void N(store_i16)(int16_t *p, N(vi) v) { vst1_s16(p, vmovn_s32(v)); }
SMR_INLINE N(vi) N(load_u8_pairs)(const uint8_t *p) {
  return vreinterpretq_s32_u16(vmovl_u8(vld1_u8(p)));
}
SMR_INLINE N(vi) N(pairs)(N(vi) a, N(vi) b) { return N(ior)(a, N(ishl)(b, 16)); }
SMR_INLINE N(vi) N(dot)(N(vi) x, N(vi) y) {
  const int16x8_t a = vreinterpretq_s16_s32(x), b = vreinterpretq_s16_s32(y);
  return vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b));
}
SMR_INLINE N(vi) N(even)(N(vi) a, N(vi) b) { return vuzp1q_s32(a, b); }
SMR_INLINE N(vi) N(odd)(N(vi) a, N(vi) b) { return vuzp2q_s32(a, b); }
#endif

#elif VF == 1
#ifndef SMR_SIMD_LANES_SCALAR
#define SMR_SIMD_LANES_SCALAR
SMR_INLINE N(vi) N(load_bytes)(const uint8_t *p) {
  N(vi) v;
  memcpy(&v, p, sizeof v);
  return v;
}
SMR_INLINE N(vi) N(load_u8)(const uint8_t *p) { return *p; }
SMR_INLINE N(vi) N(load_u16)(const uint16_t *p) { return *p; }
SMR_INLINE void N(store_u8)(uint8_t *p, N(vi) v) { *p = (uint8_t)v; }
SMR_INLINE void N(store_u8_clip)(uint8_t *p, N(vi) v) {
  *p = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}
SMR_INLINE void N(store_i16)(int16_t *p, N(vi) v) { *p = (int16_t)v; }
SMR_INLINE N(vi) N(load_u8_pairs)(const uint8_t *p) { return p[0] | p[1] << 16; }
SMR_INLINE N(vi) N(pairs)(N(vi) a, N(vi) b) { return N(ior)(a, N(ishl)(b, 16)); }
SMR_INLINE N(vi) N(dot)(N(vi) x, N(vi) y) {
  return (int16_t)x * (int16_t)y + (x >> 16) * (y >> 16);
}
SMR_INLINE N(vi) N(even)(N(vi) a, N(vi) b) { return (void)b, a; }
SMR_INLINE N(vi) N(odd)(N(vi) a, N(vi) b) { return (void)a, b; }
#endif

#else
#ifndef SMR_SIMD_LANES_V128
#define SMR_SIMD_LANES_V128
#include "simd/v128_bytes.h"
typedef uint8_t N(v4u8) __attribute__((vector_size(4)));
typedef uint16_t N(v4u16) __attribute__((vector_size(8)));
SMR_INLINE N(vi) N(load_bytes)(const uint8_t *p) {
  N(vi) v;
  memcpy(&v, p, sizeof v);
  return v;
}
SMR_INLINE N(vi) N(load_u8)(const uint8_t *p) {
  N(v4u8) v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, N(vi));
}
SMR_INLINE N(vi) N(load_u16)(const uint16_t *p) {
  N(v4u16) v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, N(vi));
}
SMR_INLINE void N(store_u8)(uint8_t *p, N(vi) v) {
  const N(v4u8) narrow = __builtin_convertvector(v, N(v4u8));
  memcpy(p, &narrow, sizeof narrow);
}
SMR_INLINE void N(store_u8_clip)(uint8_t *p, N(vi) v) {
  N(store_u8)(p, N(imin)(N(imax)(v, N(izero)()), N(iset1)(255)));
}
SMR_INLINE void N(store_i16)(int16_t *p, N(vi) v) {
  const N(v4i16) narrow = __builtin_convertvector(v, N(v4i16));
  memcpy(p, &narrow, sizeof narrow);
}
typedef uint8_t N(v8u8) __attribute__((vector_size(8)));
typedef uint16_t N(v8u16) __attribute__((vector_size(16)));
SMR_INLINE N(vi) N(load_u8_pairs)(const uint8_t *p) {
  N(v8u8) v;
  memcpy(&v, p, sizeof v);
  return (N(vi)) __builtin_convertvector(v, N(v8u16));
}
SMR_INLINE N(vi) N(pairs)(N(vi) a, N(vi) b) { return N(ior)(a, N(ishl)(b, 16)); }
SMR_INLINE N(vi) N(dot)(N(vi) x, N(vi) y) { return N(madd)((N(v8i16))x, (N(v8i16))y); }
SMR_INLINE N(vi) N(even)(N(vi) a, N(vi) b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6); }
SMR_INLINE N(vi) N(odd)(N(vi) a, N(vi) b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7); }
#endif
#endif
