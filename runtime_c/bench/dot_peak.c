// SPDX-License-Identifier: Apache-2.0
// Prints the peak of int8 dot products of one core in GOP/s (a multiply-add is two operations):
// dot_peak [seconds]
#include "base/fp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { DOT_CHAINS = 12, DOT_STEPS = 20000 };

// Independent chains of one instruction: set, step, sum and lane bytes are the vector's.
#define DOT_BODY(vector, zero, step, fold, bytes)                                       \
  static double N(dot_peak)(int32_t *sink) {                                            \
    vector acc[DOT_CHAINS];                                                             \
    SMR_UNROLL for (size_t i = 0; i < DOT_CHAINS; i++) acc[i] = zero;                   \
    for (size_t s = 0; s < DOT_STEPS / 8; s++) {                                        \
      SMR_UNROLL for (size_t i = 0; i < 8 * DOT_CHAINS; i++) step(acc[i % DOT_CHAINS]); \
    }                                                                                   \
    int32_t sum = 0;                                                                    \
    SMR_UNROLL for (size_t i = 0; i < DOT_CHAINS; i++) sum += fold(acc[i]);             \
    *sink = sum;                                                                        \
    return 2.0 * (double)(bytes) * (double)(DOT_CHAINS * DOT_STEPS);                    \
  }

#include "simd/scalar_begin.h"
#define DOT_STEP(a) ((a) += 3 * (int32_t)(s & 7))
#define DOT_FOLD(a) (a)
DOT_BODY(int32_t, (int32_t)i, DOT_STEP, DOT_FOLD, 1)
#undef DOT_STEP
#undef DOT_FOLD
#include "simd/end.h"
#if SMR_ARCH_X86_64
#include "simd/avx2_begin.h"
// Pairwise 16-bit products, which cannot saturate, as in the AVX2 kernels.
#define DOT_STEP(a) ((a) = _mm256_add_epi32((a), _mm256_madd_epi16((a), _mm256_set1_epi16(3))))
#define DOT_FOLD(a) _mm256_extract_epi32((a), 0)
DOT_BODY(__m256i, _mm256_set1_epi32((int32_t)i), DOT_STEP, DOT_FOLD, 16)
#undef DOT_STEP
#undef DOT_FOLD
#include "simd/end.h"
#include "simd/avx512vnni_begin.h"
#define DOT_STEP(a) ((a) = _mm512_dpbusd_epi32((a), _mm512_set1_epi8(3), _mm512_set1_epi8(2)))
#define DOT_FOLD(a) _mm_cvtsi128_si32(_mm512_castsi512_si128(a))
DOT_BODY(__m512i, _mm512_set1_epi32((int32_t)i), DOT_STEP, DOT_FOLD, 64)
#undef DOT_STEP
#undef DOT_FOLD
#include "simd/end.h"
#endif
#if SMR_ARCH_AARCH64
#include "simd/neon_dot_begin.h"
#define DOT_STEP(a) ((a) = vdotq_s32((a), vdupq_n_s8(3), vdupq_n_s8(2)))
#define DOT_FOLD(a) vgetq_lane_s32((a), 0)
DOT_BODY(int32x4_t, vdupq_n_s32((int32_t)i), DOT_STEP, DOT_FOLD, 16)
#undef DOT_STEP
#undef DOT_FOLD
#include "simd/end.h"
#endif

// Run the best loop of this processor once; returns its operations.
static double dot_peak_once(void *sink) {
  const uint32_t isa = smr_cpu_isa();
#if SMR_ARCH_X86_64
  if (isa & SMR_ISA_AVX512_VNNI) return smr_dot_peak_avx512vnni(sink);
  if (isa & SMR_ISA_AVX2) return smr_dot_peak_avx2(sink);
#endif
#if SMR_ARCH_AARCH64
  if (isa & SMR_ISA_NEON_DOT) return smr_dot_peak_neon_dot(sink);
#endif
  (void)isa;
  return smr_dot_peak_scalar(sink);
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
  int32_t sink = 0;
  const double best = bench_rate(dot_peak_once, &sink, seconds);
  char names[128];
  smr_isa_format(smr_cpu_isa(), names, sizeof names);
  printf("%.2f GOP/s %s%s\n", best * 1e-9, names, sink == 1 ? " " : "");
  return 0;
}
