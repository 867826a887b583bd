// SPDX-License-Identifier: Apache-2.0
// Converts the sums of an int8 product, over the vocabulary. Kernels of instruction sets that
// extend others share it.
//
//   I8_NAME(store)   (p, v, zero, lo, n): stores the first n <= VF lanes of v plus `zero`,
//                    saturated to bytes and at least `lo`. If it does not exist, I8_TO_I8 is
//                    defined and there is a N(i8_gemm_to_i8)
#define I8_NAME(name) N(i8_gemm_##name)
#if defined(SMR_SIMD_AVX512)
SMR_INLINE void N(i8_gemm_store)(int8_t *p, __m512i v, int32_t zero, int32_t lo, size_t n) {
  // Clamp first: very negative values would overflow in the sum.
  const __m512i most = _mm512_max_epi32(v, _mm512_set1_epi32(lo - zero));
  const __m128i bytes = _mm512_cvtsepi32_epi8(_mm512_add_epi32(most, _mm512_set1_epi32(zero)));
  if (n == 16)
    _mm_storeu_si128((__m128i *)(void *)p, bytes);
  else
    _mm_mask_storeu_epi8(p, N(mask_n)(n), bytes);
}
#include "kernels/i8_gemm/scale.h"
#elif defined(SMR_SIMD_AVX2)
SMR_INLINE void N(i8_gemm_store)(int8_t *p, __m256i v, int32_t zero, int32_t lo, size_t n) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i moved = _mm_adds_epi16(words, _mm_set1_epi16((int16_t)zero));
  const __m128i bytes = _mm_max_epi8(_mm_packs_epi16(moved, moved), _mm_set1_epi8((int8_t)lo));
  const uint64_t eight[2] = {(uint64_t)_mm_cvtsi128_si64(bytes)};
  if (n == 8)
    memcpy(p, eight, 8);
  else
    smr_store_tail(p, n, eight);
}
#include "kernels/i8_gemm/scale.h"
#elif defined(SMR_SIMD_NEON)
#define I8_TO_I8
#include "kernels/i8_gemm/scale.h"
#include "kernels/i8_gemm/narrow_neon.h"
#elif defined(SMR_SIMD_V128)
#include "simd/bytes.h"
#define I8_TO_I8
static void N(i8_gemm_to_i8)(size_t rows, size_t first, size_t columns, const int32_t *sums,
                             const struct smr_i8_gemm_direct *direct) {
  // A local copy: for the compiler, stored bytes might alias the parameters.
  const struct smr_i8_gemm_direct to = *direct;
  const struct N(i8_limits) limits = N(i8_limits)(to.lo, (int32_t)to.hi + to.zero, to.zero);
  for (size_t j = first; j < columns; j += SMR_I8_PANEL) {
    const size_t n = columns - j < SMR_I8_PANEL ? columns - j : SMR_I8_PANEL;
    N(vf) multiplier[4], p[4];
    SMR_UNROLL for (size_t k = 0; k < 4; k++) multiplier[k] = N(load)(to.multiplier + j + VF * k);
    const int32_t *from = sums + j;
    int8_t *out = to.out + j;
    for (size_t i = 0; i < rows; i++, from += SMR_I8_GEMM_SUMS, out += to.out_stride) {
      SMR_UNROLL for (size_t k = 0; k < 4; k++) p[k] =
          N(mul)(N(to_float)(N(iload)(from + VF * k)), multiplier[k]);
      N(store_i8)(out, p, &limits, n);
    }
  }
}
#else
#define I8_TO_I8
SMR_HOT static void N(i8_gemm_to_i8)(size_t rows, size_t first, size_t columns, const int32_t *sums,
                                     const struct smr_i8_gemm_direct *to) {
  const float lo = (float)(to->lo - to->zero);
  for (size_t i = 0; i < rows; i++, sums += SMR_I8_GEMM_SUMS) {
    int8_t *out = to->out + i * to->out_stride;
    for (size_t j = first; j < columns; j++)
      out[j] = (int8_t)smr_requantized(sums[j], to->multiplier[j], lo, to->hi, to->zero);
  }
}
#endif

SMR_VECTORIZED static int32_t I8_NAME(row_sum)(const int8_t *a, size_t n) {
  int32_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i];
  return sum;
}

static void I8_NAME(subtract_zeros)(size_t rows, size_t columns, int32_t *sums,
                                    const uint32_t *row_sums, const int32_t *w_zero) {
  for (size_t j = 0; j < columns; j += VF) {
    const N(vi) zero = N(iload)(w_zero + j);
    for (size_t i = 0; i < rows; i++) {
      int32_t *at = sums + i * SMR_I8_GEMM_SUMS + j;
      N(istore)(at, N(isub)(N(iload)(at), N(imul)(zero, N(iset1)((int32_t)row_sums[i]))));
    }
  }
}

#if !defined(I8_TO_I8)
static void I8_NAME(to_i8)(size_t rows, size_t first, size_t columns, const int32_t *sums,
                           const struct smr_i8_gemm_direct *direct) {
  // A local copy: for the compiler, stored bytes might alias the parameters.
  const struct smr_i8_gemm_direct to = *direct;
  const N(vf) hi = N(set1)(to.hi);
  for (size_t j = first; j < columns; j += VF) {
    const N(vf) multiplier = N(load)(to.multiplier + j);
    const size_t n = columns - j < VF ? columns - j : VF;
    const int32_t *from = sums + j;
    int8_t *out = to.out + j;
    for (size_t i = 0; i < rows; i++) {
      I8_NAME(store)(out, I8_NAME(scale)(N(iload)(from), multiplier, hi), to.zero, to.lo, n);
      from += SMR_I8_GEMM_SUMS;
      out += to.out_stride;
    }
  }
}
#endif

static void I8_NAME(to_f32)(size_t rows, size_t columns, const int32_t *sums,
                            const struct smr_i8_gemm_columns *arrays, const float *row_scale,
                            float *out, const struct smr_i8_gemm_params *params) {
  const N(vf) lo = N(set1)(params->f32_lo), hi = N(set1)(params->f32_hi);
  for (size_t i = 0; i < rows; i++, sums += SMR_I8_GEMM_SUMS, out += params->out_stride) {
    const N(vf) scale = N(set1)(row_scale[i]);
    for (size_t j = 0; j < columns; j += VF) {
      const N(vf) multiplier = N(mul)(scale, N(load)(arrays->multiplier + j));
      N(vf) v = N(mul)(N(to_float)(N(iload)(sums + j)), multiplier);
      // Without a bias, do not add 0: that would turn -0 into 0.
      if (arrays->bias) v = N(add)(v, N(load)(arrays->bias + j));
      v = N(clamp)(v, lo, hi);
      if (columns - j >= VF) {
        N(store)(out + j, v);
      } else {
        N(store_n)(out + j, v, columns - j);
      }
    }
  }
}

static const struct smr_i8_gemm_ends N(i8_gemm_ends) = {
    .row_sum = SMR_HAS(i8_gemm_w_zero) ? I8_NAME(row_sum) : NULL,
    .subtract_zeros = SMR_HAS(i8_gemm_w_zero) ? I8_NAME(subtract_zeros) : NULL,
    .to_i8 = SMR_HAS(i8_gemm_to_i8) ? I8_NAME(to_i8) : NULL,
    .to_f32 = SMR_HAS(i8_gemm_to_f32) ? I8_NAME(to_f32) : NULL,
};
#undef I8_NAME
#undef I8_TO_I8
