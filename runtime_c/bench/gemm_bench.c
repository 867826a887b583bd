// SPDX-License-Identifier: Apache-2.0
// Measures the most used float kernels on one core, in GFLOP/s and in percent of the multiply-add
// peak measured in the same run:  gemm_bench [ISA ceiling] [substring of a shape's name]
#include "base/fp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peak.h"
#include "kernels/bf16_gemm/bf16_gemm.h"
#include "kernels/f32_conv_direct/f32_conv_direct.h"
#include "kernels/f32_dwconv/f32_dwconv.h"
#include "kernels/f32_gemm/f32_gemm.h"

static float *bench_floats(size_t n) {
  float *p = (float *)bench_alloc(n * sizeof(float));
  for (size_t i = 0; i < n; i++) p[i] = (float)(int)(i * 7919 % 255) * 0.01f - 1.0f;
  return p;
}

static void bench_print(const char *name, const char *kernel, double rate, double bytes_per_flop,
                        uint32_t isa) {
  struct bench_peak c = {isa, 0};
  const double peak = bench_rate(bench_peak_once, &c, 0.02);
  printf("%-34s %-34s %8.1f GFLOP/s %5.1f %% of %.0f  %6.1f GB/s\n", name, kernel, rate * 1e-9,
         100 * rate / peak, peak * 1e-9, rate * bytes_per_flop * 1e-9);
  fflush(stdout);
}

struct bench_gemm {
  struct smr_f32_gemm_plan plan;
  struct smr_f32_gemm_args args;
};

static double bench_gemm_body(void *context) {
  struct bench_gemm *g = (struct bench_gemm *)context;
  smr_f32_gemm_run(&g->plan, &g->args, 0, g->plan.units);
  return 2.0 * (double)g->args.m * (double)g->args.n * (double)g->args.k * (double)g->args.taps;
}

static const float **bench_indirection(const float *a, size_t size, size_t k, const float *zero) {
  const float **p = (const float **)bench_alloc(size * size * 9 * sizeof *p);
  for (size_t i = 0; i < size * size * 9; i++) {
    const size_t y = i / 9 / size + i % 9 / 3 - 1, x = i / 9 % size + i % 3 - 1;
    p[i] = y < size && x < size ? a + (y * size + x) * k : zero;
  }
  return p;
}

// taps == 9 is a 3x3 convolution with padding over an image of sqrt(m) x sqrt(m) pixels.
static void bench_product(const char *name, size_t m, size_t k, size_t n, size_t taps,
                          smr_gemm_type type, uint32_t isa) {
  const size_t panels = smr_panels(n);
  float *a = bench_floats(m * k), *zero = (float *)bench_alloc(k * 4);
  float *bias = bench_floats(panels * 16), *out = (float *)bench_alloc(m * n * 4);
  const size_t stride = type == SMR_GEMM_BF16
                            ? smr_bf16_gemm_panel_bytes(taps, k)
                            : smr_panel_stride_bytes(k * taps, type == SMR_GEMM_F16 ? 2 : 4);
  void *w = type == SMR_GEMM_F32 ? (void *)bench_floats(panels * stride / 4)
                                 : bench_alloc(panels * stride);
  const float **indirect =
      taps > 1 ? bench_indirection(a, (size_t)lround(sqrt((double)m)), k, zero) : NULL;
  struct bench_gemm g = {.args = {.batch = 1,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .taps = taps,
                                  .a = a,
                                  .a_stride = k,
                                  .indirect = indirect,
                                  .zero = zero,
                                  .w = w,
                                  .w_type = type,
                                  .panel_stride_bytes = stride,
                                  .bias = bias,
                                  .out = out,
                                  .out_type = SMR_GEMM_F32,
                                  .out_stride = n,
                                  .lo = 0,
                                  .hi = 6}};
  smr_f32_gemm_plan_make(
      type == SMR_GEMM_BF16 ? smr_bf16_gemm_config(isa) : smr_f32_gemm_config(isa), &g.args,
      &g.plan);
  const double rate = bench_rate(bench_gemm_body, &g, 0.15);
  const double bytes =
      4 * ((double)m * (double)k + (double)m * (double)n) + (double)(panels * stride);
  bench_print(name, g.plan.kernel, rate, bytes / (2.0 * (double)(m * k * n * taps)), isa);
  free(a), free(zero), free(bias), free(out), free(w), free((void *)indirect);
}

struct bench_depthwise {
  const struct smr_f32_dwconv_config *config;
  struct smr_f32_dwconv_args args;
};

static double bench_depthwise_body(void *context) {
  struct bench_depthwise *d = (struct bench_depthwise *)context;
  smr_f32_dwconv_run(d->config, &d->args, 0, smr_f32_dwconv_units(&d->args));
  return 2.0 * (double)(d->args.out_h * d->args.out_w * d->args.channels * d->args.kernel_h *
                        d->args.kernel_w);
}

static void bench_dwconv(const char *name, size_t size, size_t channels, size_t kernel,
                         size_t stride, uint32_t isa) {
  const size_t out = (size + stride - 1) / stride, taps = kernel * kernel;
  const size_t panels = smr_panels(channels), panel = smr_panel_stride_bytes(taps, 4);
  float *in = bench_floats(size * size * channels), *w = bench_floats(panels * panel / 4);
  float *bias = bench_floats(panels * 16), *y = (float *)bench_alloc(out * out * channels * 4);
  struct bench_depthwise d = {smr_f32_dwconv_config(isa),
                              {.batch = 1,
                               .channels = channels,
                               .in_h = size,
                               .in_w = size,
                               .out_h = out,
                               .out_w = out,
                               .kernel_h = kernel,
                               .kernel_w = kernel,
                               .stride_h = stride,
                               .stride_w = stride,
                               .dilation_h = 1,
                               .dilation_w = 1,
                               .pad_top = (kernel - 1) / 2,
                               .pad_left = (kernel - 1) / 2,
                               .in = in,
                               .in_pixel_stride = channels,
                               .in_row_stride = channels * size,
                               .w = w,
                               .panel_stride_bytes = panel,
                               .bias = bias,
                               .out = y,
                               .out_pixel_stride = channels,
                               .out_row_stride = channels * out,
                               .lo = 0,
                               .hi = 6}};
  const double rate = bench_rate(bench_depthwise_body, &d, 0.15);
  const double bytes = 4.0 * (double)((size * size + out * out) * channels);
  bench_print(name, smr_f32_dwconv_kernel(d.config, &d.args), rate,
              bytes / (2.0 * (double)(out * out * channels * taps)), isa);
  free(in), free(w), free(bias), free(y);
}

struct bench_direct {
  const struct smr_f32_conv_direct_config *config;
  struct smr_f32_conv_direct_args args;
  void *scratch;
};

static double bench_direct_body(void *context) {
  struct bench_direct *d = (struct bench_direct *)context;
  smr_f32_conv_direct_run(d->config, &d->args, 0, smr_f32_conv_direct_units(&d->args), d->scratch);
  return 2.0 * (double)(d->args.out_h * d->args.out_w * d->args.n * d->args.in_c *
                        d->args.kernel_h * d->args.kernel_w);
}

static void bench_first_layer(const char *name, size_t size, size_t n, size_t kernel,
                              int channels_first, uint32_t isa) {
  const size_t out = size / 2, k = kernel * kernel * 3, panels = smr_panels(n);
  const size_t panel = smr_panel_stride_bytes(k, 4);
  float *in = bench_floats(size * size * 3), *w = bench_floats(panels * panel / 4);
  float *bias = bench_floats(panels * 16), *y = (float *)bench_alloc(out * out * n * 4);
  struct bench_direct d = {smr_f32_conv_direct_config(isa),
                           {.batch = 1,
                            .n = n,
                            .in_h = size,
                            .in_w = size,
                            .in_c = 3,
                            .out_h = out,
                            .out_w = out,
                            .kernel_h = kernel,
                            .kernel_w = kernel,
                            .stride_h = 2,
                            .stride_w = 2,
                            .dilation_h = 1,
                            .dilation_w = 1,
                            .pad_top = kernel / 2,
                            .pad_left = kernel / 2,
                            .in = in,
                            .in_pixel_stride = channels_first ? 1 : 3,
                            .in_row_stride = channels_first ? size : size * 3,
                            .in_channel_stride = channels_first ? size * size : 1,
                            .w = w,
                            .panel_stride_bytes = panel,
                            .bias = bias,
                            .out = y,
                            .out_pixel_stride = n,
                            .out_row_stride = n * out,
                            .lo = 0,
                            .hi = 6},
                           NULL};
  d.scratch = bench_alloc(smr_f32_conv_direct_scratch_bytes(d.config, &d.args));
  const double rate = bench_rate(bench_direct_body, &d, 0.15);
  const double bytes = 4.0 * (double)(size * size * 3 + out * out * n);
  bench_print(name, d.config->name, rate, bytes / (2.0 * (double)(out * out * n * k)), isa);
  free(in), free(w), free(bias), free(y), free(d.scratch);
}

int main(int argc, char **argv) {
  const uint32_t isa = bench_isa(argc, argv, 1);
  const char *filter = argc > 2 ? argv[2] : "";
  static const struct {
    const char *name;
    size_t m, k, n, taps;
    int f16;
  } products[] = {
      {"12544x16x96", 12544, 16, 96, 1, 0},
      {"12544x32x16", 12544, 32, 16, 1, 0},
      {"3136x96x24", 3136, 96, 24, 1, 0},
      {"3136x24x144", 3136, 24, 144, 1, 0},
      {"3136x144x24", 3136, 144, 24, 1, 0},
      {"784x144x32", 784, 144, 32, 1, 0},
      {"784x32x192", 784, 32, 192, 1, 0},
      {"784x192x32", 784, 192, 32, 1, 0},
      {"196x192x64", 196, 192, 64, 1, 0},
      {"196x64x384", 196, 64, 384, 1, 0},
      {"196x384x64", 196, 384, 64, 1, 0},
      {"196x384x96", 196, 384, 96, 1, 0},
      {"196x96x576", 196, 96, 576, 1, 0},
      {"196x576x96", 196, 576, 96, 1, 0},
      {"49x576x160", 49, 576, 160, 1, 0},
      {"49x160x960", 49, 160, 960, 1, 0},
      {"49x960x160", 49, 960, 160, 1, 0},
      {"49x960x320", 49, 960, 320, 1, 0},
      {"49x320x1280", 49, 320, 1280, 1, 0},
      {"3136x64x256", 3136, 64, 256, 1, 0},
      {"196x1024x256", 196, 1024, 256, 1, 0},
      {"49x2048x512", 49, 2048, 512, 1, 0},
      {"512x512x512", 512, 512, 512, 1, 0},
      {"conv3x3 56x56x64x64", 3136, 64, 64, 9, 0},
      {"conv3x3 28x28x128x128", 784, 128, 128, 9, 0},
      {"conv3x3 14x14x256x256", 196, 256, 256, 9, 0},
      {"conv3x3 7x7x512x512", 49, 512, 512, 9, 0},
      {"1x1280x1000", 1, 1280, 1000, 1, 0},
      {"1x512x1000", 1, 512, 1000, 1, 0},
      {"1x1280x1000 f16", 1, 1280, 1000, 1, 1},
      {"196x384x96 f16", 196, 384, 96, 1, 1},
      {"49x960x320 f16", 49, 960, 320, 1, 1},
  };
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    if (!strstr(products[i].name, filter)) continue;
    bench_product(products[i].name, products[i].m, products[i].k, products[i].n, products[i].taps,
                  products[i].f16 ? SMR_GEMM_F16 : SMR_GEMM_F32, isa);
    if (!products[i].f16 && smr_bf16_gemm_pays(isa))
      bench_product(products[i].name, products[i].m, products[i].k, products[i].n, products[i].taps,
                    SMR_GEMM_BF16, isa);
  }
  static const struct {
    const char *name;
    size_t size, channels, kernel, stride;
  } depthwise[] = {
      {"dw3x3 112x112x32", 112, 32, 3, 1}, {"dw3x3s2 112x112x96", 112, 96, 3, 2},
      {"dw3x3 56x56x144", 56, 144, 3, 1},  {"dw3x3s2 56x56x144", 56, 144, 3, 2},
      {"dw3x3 28x28x192", 28, 192, 3, 1},  {"dw3x3 14x14x384", 14, 384, 3, 1},
      {"dw3x3 14x14x576", 14, 576, 3, 1},  {"dw3x3 7x7x960", 7, 960, 3, 1},
      {"dw5x5 28x28x120", 28, 120, 5, 1},  {"dw3x3 40x40x24", 40, 24, 3, 1},
  };
  for (size_t i = 0; i < sizeof depthwise / sizeof *depthwise; i++) {
    if (!strstr(depthwise[i].name, filter)) continue;
    bench_dwconv(depthwise[i].name, depthwise[i].size, depthwise[i].channels, depthwise[i].kernel,
                 depthwise[i].stride, isa);
  }
  if (strstr("first3x3", filter)) {
    bench_first_layer("first3x3 224 NHWC x32", 224, 32, 3, 0, isa);
    bench_first_layer("first3x3 224 NCHW x32", 224, 32, 3, 1, isa);
    bench_first_layer("first7x7 224 NHWC x64", 224, 64, 7, 0, isa);
    bench_first_layer("first7x7 224 NCHW x64", 224, 64, 7, 1, isa);
  }
  return 0;
}
