// SPDX-License-Identifier: Apache-2.0
// A loop of independent multiply-adds per instruction set: the arithmetic peak that benchmarks
// divide by.
#ifndef SMR_BENCH_PEAK_H_
#define SMR_BENCH_PEAK_H_

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

// Enough independent chains for any multiply-add latency times throughput.
enum { PEAK_CHAINS = 12, PEAK_STEPS = 20000 };

#define PEAK_BODY                                                                        \
  double N(bench_peak)(float *sink);                                                     \
  double N(bench_peak)(float *sink) {                                                    \
    N(vf) acc[PEAK_CHAINS];                                                              \
    const N(vf) a = N(set1)(0.999f), b = N(set1)(1e-3f);                                 \
    SMR_UNROLL for (size_t i = 0; i < PEAK_CHAINS; i++) acc[i] = N(set1)((float)i);      \
    for (size_t step = 0; step < PEAK_STEPS / 8; step++) {                               \
      SMR_UNROLL for (size_t i = 0; i < 8 * PEAK_CHAINS; i++) {                          \
        acc[i % PEAK_CHAINS] = N(fma)(a, b, acc[i % PEAK_CHAINS]);                       \
      }                                                                                  \
    }                                                                                    \
    SMR_UNROLL for (size_t i = 1; i < PEAK_CHAINS; i++) acc[0] = N(add)(acc[0], acc[i]); \
    *sink = N(reduce_add)(acc[0]);                                                       \
    return 2.0 * (double)(VF * PEAK_CHAINS * PEAK_STEPS);                                \
  }

#include "simd/scalar_begin.h"
PEAK_BODY
#include "simd/end.h"
#if SMR_ARCH_X86_64
#include "simd/avx2_begin.h"
PEAK_BODY
#include "simd/end.h"
#include "simd/avx512_begin.h"
PEAK_BODY
#include "simd/end.h"
#endif
#if SMR_ARCH_AARCH64
#include "simd/neon_begin.h"
PEAK_BODY
#include "simd/end.h"
#endif
#undef PEAK_BODY

struct bench_peak {
  uint32_t isa;
  float sink;  // keeps the loop alive
};

// Runs the loop of the best of these instruction sets once, and returns the operations it did.
static double bench_peak_once(void *context) {
  struct bench_peak *peak = (struct bench_peak *)context;
#if SMR_ARCH_X86_64
  if (peak->isa & SMR_ISA_AVX512) return smr_bench_peak_avx512(&peak->sink);
  if (peak->isa & SMR_ISA_AVX2) return smr_bench_peak_avx2(&peak->sink);
#endif
#if SMR_ARCH_AARCH64
  if (peak->isa & SMR_ISA_NEON) return smr_bench_peak_neon(&peak->sink);
#endif
  return smr_bench_peak_scalar(&peak->sink);
}

#endif  // SMR_BENCH_PEAK_H_
