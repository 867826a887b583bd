// SPDX-License-Identifier: Apache-2.0
// Measures the int8 product on one core, as GOP/s, as a share of the peak of the instruction set's
// multiply-add of bytes measured in the same run, and beside the float product:
//   i8_gemm_bench [ISA ceiling] [substring of a shape's name]
#include "base/fp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/i8_gemm/i8_gemm.h"
#include "simd/common.h"

// Independent chains of multiply-adds, enough for any latency. Returns the number of operations.
enum { I8_PEAK_CHAINS = 16, I8_PEAK_STEPS = 20000 };

#if SMR_ARCH_X86_64
#include "simd/avx512vnni_begin.h"
static double N(i8_peak)(void) {
  __m512i acc[I8_PEAK_CHAINS], a = N(iset1)(1), b = N(iset1)(2);
  SMR_UNROLL for (size_t i = 0; i < I8_PEAK_CHAINS; i++) acc[i] = N(izero)();
  for (size_t step = 0; step < I8_PEAK_STEPS; step++) {
    SMR_UNROLL for (size_t i = 0; i < I8_PEAK_CHAINS; i++) {
      __asm__ volatile("vpdpbusd %2, %1, %0" : "+v"(acc[i]) : "v"(a), "v"(b));
    }
  }
  return (double)(2 * 64 * I8_PEAK_CHAINS * I8_PEAK_STEPS);
}
#include "simd/end.h"
#include "simd/avx512_begin.h"
static double N(i8_peak)(void) {
  __m512i acc[I8_PEAK_CHAINS], t, a = N(iset1)(1), b = N(iset1)(2);
  SMR_UNROLL for (size_t i = 0; i < I8_PEAK_CHAINS; i++) acc[i] = N(izero)();
  for (size_t step = 0; step < I8_PEAK_STEPS; step++) {
    SMR_UNROLL for (size_t i = 0; i < I8_PEAK_CHAINS; i++) {
      __asm__ volatile("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
                       : "+v"(acc[i]), "=&v"(t)
                       : "v"(a), "v"(b));
    }
  }
  return (double)(2 * 32 * I8_PEAK_CHAINS * I8_PEAK_STEPS);
}
#include "simd/end.h"
#include "simd/avx2_begin.h"
static double N(i8_peak)(void) {
  __m256i acc[8], t, a = N(iset1)(1), b = N(iset1)(2);
  SMR_UNROLL for (size_t i = 0; i < 8; i++) acc[i] = N(izero)();
  for (size_t step = 0; step < I8_PEAK_STEPS; step++) {
    SMR_UNROLL for (size_t i = 0; i < 8; i++) {
      __asm__ volatile("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
                       : "+x"(acc[i]), "=&x"(t)
                       : "x"(a), "x"(b));
    }
  }
  return (double)(2 * 16 * 8 * I8_PEAK_STEPS);
}
#include "simd/end.h"
#endif
#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#include "simd/v128_bytes.h"
static double N(i8_peak)(void) {
  N(vi) acc[12];
  volatile int16_t two = 2;  // unknown to the compiler
  const N(v8i16) b = N(wset1)(two);
  SMR_UNROLL for (size_t i = 0; i < 12; i++) acc[i] = N(izero)();
  for (size_t step = 0; step < I8_PEAK_STEPS; step++) {
    SMR_UNROLL for (size_t i = 0; i < 12; i++) {
      acc[i] = N(iadd)(acc[i], N(madd)((N(v8i16))acc[i], b));
    }
  }
  SMR_UNROLL for (size_t i = 1; i < 12; i++) acc[0] = N(iadd)(acc[0], acc[i]);
  volatile N(vi) sink = acc[0];
  (void)sink;
  return (double)(2 * 8 * 12 * I8_PEAK_STEPS);
}
#include "simd/end.h"
#endif

static double i8_peak(void *context) {
  const uint32_t isa = *(const uint32_t *)context;
#if SMR_ARCH_X86_64
  if (isa & SMR_ISA_AVX512_VNNI) return smr_i8_peak_avx512vnni();
  if (isa & SMR_ISA_AVX512) return smr_i8_peak_avx512();
  if (isa & SMR_ISA_AVX2) return smr_i8_peak_avx2();
#endif
#if SMR_ARCH_V128
  if (isa & SMR_ISA_V128) return smr_i8_peak_v128();
#endif
  (void)isa;
  return 0;  // unknown
}

static void *i8_bench_bytes(size_t bytes) {
  int8_t *p = (int8_t *)bench_alloc(bytes);
  for (size_t i = 0; i < bytes; i++) p[i] = (int8_t)(i * 7919 % 255);
  return p;
}

static float *i8_bench_floats(size_t n) {
  float *p = (float *)i8_bench_bytes(n * sizeof *p);
  for (size_t i = 0; i < n; i++) p[i] = (float)(int)(i * 7919 % 255) * 1e-5f - 1e-3f;
  return p;
}

struct i8_bench {
  struct smr_i8_gemm_plan plan;
  struct smr_i8_gemm_args args;
  struct smr_f32_gemm_plan f32_plan;
  struct smr_f32_gemm_args f32_args;
};

static double i8_bench_work(const struct i8_bench *b) {
  return 2.0 * (double)b->args.m * (double)b->args.n * (double)b->args.k * (double)b->args.taps;
}

static double i8_bench_once(void *context) {
  const struct i8_bench *b = (const struct i8_bench *)context;
  smr_i8_gemm_run(&b->plan, &b->args, 0, b->plan.units);
  return i8_bench_work(b);
}

static double i8_bench_float_once(void *context) {
  const struct i8_bench *b = (const struct i8_bench *)context;
  smr_f32_gemm_run(&b->f32_plan, &b->f32_args, 0, b->f32_plan.units);
  return i8_bench_work(b);
}

// taps == 9 is a 3x3 convolution with padding over an image of sqrt(m) x sqrt(m) pixels.
static const int8_t **i8_bench_indirection(const int8_t *a, size_t size, size_t k,
                                           const int8_t *pad) {
  const int8_t **p = (const int8_t **)i8_bench_bytes(size * size * 9 * sizeof *p);
  for (size_t i = 0; i < size * size * 9; i++) {
    const size_t y = i / 9 / size + i % 9 / 3 - 1, x = i / 9 % size + i % 3 - 1;
    p[i] = y < size && x < size ? a + (y * size + x) * k : pad;
  }
  return p;
}

static void i8_bench_product(const char *name, size_t m, size_t k, size_t n, size_t taps,
                             uint32_t isa) {
  const size_t panels = smr_panels(n), stride = smr_i8_panel_stride_bytes(k * taps);
  const size_t f32_stride = smr_panel_stride_bytes(k * taps, 4);
  int8_t *a = (int8_t *)i8_bench_bytes(m * k), *w = (int8_t *)i8_bench_bytes(panels * stride);
  int8_t *pad = (int8_t *)i8_bench_bytes(k);
  int32_t *start = (int32_t *)i8_bench_bytes(panels * 16 * 4);
  float *multiplier = i8_bench_floats(panels * 16);
  float *af = i8_bench_floats(m * k), *wf = i8_bench_floats(panels * f32_stride / 4);
  void *out = i8_bench_bytes(m * n * 4);
  const int8_t **indirect =
      taps > 1 ? i8_bench_indirection(a, (size_t)lround(sqrt((double)m)), k, pad) : NULL;
  struct i8_bench b = {.args = {.batch = 1,
                                .m = m,
                                .n = n,
                                .k = k,
                                .taps = taps,
                                .a = a,
                                .a_stride = k,
                                .indirect = indirect,
                                .pad = pad,
                                .w = w,
                                .panel_stride_bytes = stride,
                                .columns = {start, NULL, multiplier, NULL},
                                .out = out,
                                .out_stride = n,
                                .zero = -3,
                                .lo = -128,
                                .hi = 127},
                       .f32_args = {.batch = 1,
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .taps = 1,
                                    .a = af,
                                    .a_stride = k,
                                    .w = wf,
                                    .panel_stride_bytes = f32_stride,
                                    .bias = multiplier,
                                    .out = out,
                                    .out_stride = n,
                                    .lo = 0,
                                    .hi = 6}};
  smr_i8_gemm_plan_make(smr_i8_gemm_config(isa), &b.args, &b.plan);
  smr_f32_gemm_plan_make(smr_f32_gemm_config(isa), &b.f32_args, &b.f32_plan);
  const double rate = bench_rate(i8_bench_once, &b, 0.15);
  const double peak = i8_peak(&isa) > 0 ? bench_rate(i8_peak, &isa, 0.02) : 0;
  const double f32 = taps == 1 ? bench_rate(i8_bench_float_once, &b, 0.1) : 0;
  const double bytes = (double)(m * k + m * n + panels * stride);
  printf("%-24s %-30s %8.1f GOP/s", name, b.plan.kernel, rate * 1e-9);
  if (peak > 0) printf(" %5.1f %% of %.0f", 100 * rate / peak, peak * 1e-9);
  printf("  %6.1f GB/s", rate * bytes / (2.0 * (double)(m * k * n * taps)) * 1e-9);
  if (f32 > 0) printf("  %5.2f x float", rate / f32);
  printf("\n");
  fflush(stdout);
  free(a), free(w), free(pad), free(start), free(multiplier), free(af), free(wf), free(out);
  free((void *)indirect);
}

int main(int argc, char **argv) {
  const uint32_t isa = bench_isa(argc, argv, 1);
  const char *filter = argc > 2 ? argv[2] : "";
  static const struct {
    const char *name;
    size_t m, k, n, taps;
  } products[] = {
      {"12544x16x96", 12544, 16, 96, 1},        {"3136x24x144", 3136, 24, 144, 1},
      {"3136x144x24", 3136, 144, 24, 1},        {"784x32x192", 784, 32, 192, 1},
      {"784x192x32", 784, 192, 32, 1},          {"196x64x384", 196, 64, 384, 1},
      {"196x384x64", 196, 384, 64, 1},          {"196x384x96", 196, 384, 96, 1},
      {"49x160x960", 49, 160, 960, 1},          {"49x960x320", 49, 960, 320, 1},
      {"49x320x1280", 49, 320, 1280, 1},        {"196x1024x256", 196, 1024, 256, 1},
      {"49x2048x512", 49, 2048, 512, 1},        {"512x512x512", 512, 512, 512, 1},
      {"conv3x3 56x56x64x64", 3136, 64, 64, 9}, {"conv3x3 14x14x256x256", 196, 256, 256, 9},
      {"conv3x3 7x7x512x512", 49, 512, 512, 9}, {"1x1280x1000", 1, 1280, 1000, 1},
      {"1x512x1000", 1, 512, 1000, 1},
  };
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    if (!strstr(products[i].name, filter)) continue;
    i8_bench_product(products[i].name, products[i].m, products[i].k, products[i].n,
                     products[i].taps, isa);
  }
  return 0;
}
