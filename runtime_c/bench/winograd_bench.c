// SPDX-License-Identifier: Apache-2.0
// Compares Winograd with direct 3x3 convolutions, alternating on one core, in CPU time of the
// thread: winograd_bench [ISA ceiling] [substring of a layer's name]
//
// Per form: time of the direct product over that of the form (median of the rounds), the form's
// multiply-adds as a share of the peak measured in the same run, the multiply-adds of the direct
// form as a share of it (comparable with other libraries), the shares of its three steps, and the
// errors of both against float64, as root mean squares of sampled outputs.
#include "base/fp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/f32_winograd/f32_winograd.h"
#include "peak.h"

enum { ROUNDS = 15, SAMPLES = 400 };

struct layer {
  const char *name;
  size_t size, c, n;
};

static const struct layer layers[] = {
    {"resnet18 56x56 64-64", 56, 64, 64},
    {"resnet18 28x28 128-128", 28, 128, 128},
    {"resnet18 14x14 256-256", 14, 256, 256},
    {"resnet18 7x7 512-512", 7, 512, 512},
    {"vgg19 224x224 64-64", 224, 64, 64},
    {"vgg19 112x112 64-128", 112, 64, 128},
    {"vgg19 112x112 128-128", 112, 128, 128},
    {"vgg19 56x56 128-256", 56, 128, 256},
    {"vgg19 56x56 256-256", 56, 256, 256},
    {"vgg19 28x28 256-512", 28, 256, 512},
    {"vgg19 28x28 512-512", 28, 512, 512},
    {"vgg19 14x14 512-512", 14, 512, 512},
    {"squeezenet 55x55 16-64", 55, 16, 64},
    {"squeezenet 27x27 32-128", 27, 32, 128},
    {"squeezenet 13x13 48-192", 13, 48, 192},
    {"squeezenet 13x13 64-256", 13, 64, 256},
    {"small 32x32 8-8", 32, 8, 8},
    {"small 32x32 16-16", 32, 16, 16},
    {"small 16x16 32-32", 16, 32, 32},
    {"small 8x8 64-64", 8, 64, 64},
    {"small 24x24 24-40", 24, 24, 40},
    {"wide 28x28 16-256", 28, 16, 256},
    {"narrow 28x28 256-16", 28, 256, 16},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t random_state = 12345;
static float random_float(void) {  // with variance 1
  random_state = random_state * 1664525u + 1013904223u;
  return ((float)(random_state >> 8) * 0x1p-24f - 0.5f) * 3.4641016f;
}
static float *random_floats(size_t n, float scale) {
  float *p = bench_alloc(n * sizeof(float));
  for (size_t i = 0; i < n; i++) p[i] = random_float() * scale;
  return p;
}

struct both {
  struct smr_f32_gemm_args gemm;
  struct smr_f32_gemm_plan plan;
  struct smr_f32_winograd_args args;
  struct smr_f32_winograd_plan winograd[SMR_WINOGRAD_FORMS];
  float *weights[SMR_WINOGRAD_FORMS], *room, *y;
  double steps[3];
};

static void run_direct(struct both *b) { smr_f32_gemm_run(&b->plan, &b->gemm, 0, b->plan.units); }

static void run_winograd(struct both *b, enum smr_winograd_form form) {
  const struct smr_f32_winograd_plan *plan = &b->winograd[form];
  b->args.weights = b->weights[form];
  for (size_t block = 0; block < plan->blocks; block++) {
    const size_t tiles = smr_f32_winograd_tiles(plan, block);
    const double start = now();
    smr_f32_winograd_input(plan, &b->args, block, b->room, 0, tiles);
    const double moved = now();
    smr_f32_winograd_products(plan, &b->args, block, b->room, 0,
                              smr_f32_winograd_units(plan, block));
    const double multiplied = now();
    smr_f32_winograd_output(plan, &b->args, block, b->room, 0, tiles);
    b->steps[0] += moved - start;
    b->steps[1] += multiplied - moved;
    b->steps[2] += now() - multiplied;
  }
}

// Seconds per call, averaged over enough calls for the clock.
static double timed(struct both *b, int form, size_t repeat) {
  const double start = now();
  for (size_t i = 0; i < repeat; i++) {
    if (form < 0)
      run_direct(b);
    else
      run_winograd(b, (enum smr_winograd_form)form);
  }
  return (now() - start) / (double)repeat;
}

// Root mean square error of `y` against float64 at sampled outputs.
static double error_of(const struct layer *l, const struct both *b, const float *x,
                       const float *w) {
  double sum = 0;
  random_state = 777;
  for (int s = 0; s < SAMPLES; s++) {
    random_float();
    const size_t pixel = (random_state >> 8) % (l->size * l->size);
    random_float();
    const size_t n = (random_state >> 8) % l->n;
    double want = 0;
    for (size_t t = 0; t < 9; t++) {
      const size_t py = pixel / l->size + t / 3 - 1, px = pixel % l->size + t % 3 - 1;
      for (size_t c = 0; py < l->size && px < l->size && c < l->c; c++)
        want += (double)x[(py * l->size + px) * l->c + c] *
                (double)w[(n / 16 * 9 * l->c + t * l->c + c) * 16 + n % 16];
    }
    const double d = (double)b->y[pixel * l->n + n] - want;
    sum += d * d;
  }
  return sqrt(sum / (double)SAMPLES);
}

static void bench(const struct layer *l, uint32_t isa) {
  const size_t pixels = l->size * l->size, panels = smr_panels(l->n);
  const size_t panel_floats = 9 * l->c * SMR_PANEL;
  float *x = random_floats(pixels * l->c, 1.0f), *zero = bench_alloc(l->c * sizeof(float));
  float *w = random_floats(panels * panel_floats, 1.0f / sqrtf(9.0f * (float)l->c));
  const float **pointers = bench_alloc(pixels * 9 * sizeof *pointers);
  for (size_t i = 0; i < pixels * 9; i++) {
    const size_t py = i / 9 / l->size + i % 9 / 3 - 1, px = i / 9 % l->size + i % 3 - 1;
    pointers[i] = py < l->size && px < l->size ? x + (py * l->size + px) * l->c : zero;
  }
  struct both b = {.y = bench_alloc(pixels * l->n * sizeof(float))};
  b.gemm = (struct smr_f32_gemm_args){.batch = 1,
                                      .m = pixels,
                                      .n = l->n,
                                      .k = l->c,
                                      .taps = 9,
                                      .indirect = pointers,
                                      .zero = zero,
                                      .w = w,
                                      .panel_stride_bytes = panel_floats * sizeof(float),
                                      .out = b.y,
                                      .out_stride = l->n,
                                      .lo = -INFINITY,
                                      .hi = INFINITY};
  smr_f32_gemm_plan_make(smr_f32_gemm_config(isa), &b.gemm, &b.plan);
  b.args = (struct smr_f32_winograd_args){.batch = 1,
                                          .in_h = l->size,
                                          .in_w = l->size,
                                          .channels = l->c,
                                          .out_h = l->size,
                                          .out_w = l->size,
                                          .n = l->n,
                                          .pad_top = 1,
                                          .pad_left = 1,
                                          .in = x,
                                          .in_pixel_stride = l->c,
                                          .in_row_stride = l->c * l->size,
                                          .in_batch_stride = pixels * l->c,
                                          .zero = zero,
                                          .out = b.y,
                                          .out_pixel_stride = l->n,
                                          .out_row_stride = l->n * l->size,
                                          .out_batch_stride = pixels * l->n,
                                          .lo = -INFINITY,
                                          .hi = INFINITY};
  size_t most = 0;
  for (int f = 0; f < SMR_WINOGRAD_FORMS; f++) {
    const enum smr_winograd_form form = (enum smr_winograd_form)f;
    smr_f32_winograd_plan_make(form, isa, smr_f32_gemm_config(isa), &b.args, &b.winograd[f]);
    b.weights[f] = bench_alloc(smr_f32_winograd_weight_bytes(form, l->c, l->n));
    const struct smr_f32_winograd_weights how = {.channels = l->c,
                                                 .n = l->n,
                                                 .src = w,
                                                 .panel_stride = panel_floats,
                                                 .tap_stride = l->c * SMR_PANEL,
                                                 .c_stride = SMR_PANEL,
                                                 .n_stride = 1,
                                                 .dst = b.weights[f]};
    smr_f32_winograd_weights(form, isa, &how, 0, panels);
    const size_t floats = smr_f32_winograd_block_floats(&b.winograd[f]);
    most = floats > most ? floats : most;
  }
  b.room = bench_alloc(most * sizeof(float));
  const double macs = (double)pixels * 9.0 * (double)l->c * (double)l->n;
  double peak = 0;
  for (int r = 0; r < ROUNDS; r++) {  // other work on the machine only ever slows a round down
    struct bench_peak loop = {isa, 0};
    const double start = now(), ops = bench_peak_once(&loop), rate = ops / (now() - start);
    peak = rate > peak ? rate : peak;
  }
  const size_t repeat = 1 + (size_t)(4e-3 * peak / (2 * macs));
  const double direct_error = (run_direct(&b), error_of(l, &b, x, w));
  for (int f = 0; f < SMR_WINOGRAD_FORMS; f++) {
    const double error = (run_winograd(&b, (enum smr_winograd_form)f), error_of(l, &b, x, w));
    memset(b.steps, 0, sizeof b.steps);
    double ratios[ROUNDS], direct[ROUNDS], form[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
      direct[r] = timed(&b, -1, repeat);
      form[r] = timed(&b, f, repeat);
      ratios[r] = direct[r] / form[r];
    }
    qsort(ratios, ROUNDS, sizeof *ratios, bench_compare);
    qsort(direct, ROUNDS, sizeof *direct, bench_compare);
    qsort(form, ROUNDS, sizeof *form, bench_compare);
    const struct smr_f32_winograd_plan *plan = &b.winograd[f];
    const double own = (double)(plan->tiles * smr_winograd_points(plan->form) * l->c * l->n);
    const double all = b.steps[0] + b.steps[1] + b.steps[2];
    printf(
        "%-24s f%d3 %5.2fx  %8.1f us direct %8.1f us  %4.0f %% of peak as direct (%3.0f %%), "
        "own %3.0f %%, products alone %3.0f %%; in %2.0f %% out %2.0f %%; error %.2fx; %zu x %zu "
        "tiles\n",
        l->name, f == SMR_WINOGRAD_F43 ? 4 : 2, ratios[ROUNDS / 2], form[ROUNDS / 2] * 1e6,
        direct[ROUNDS / 2] * 1e6, 200 * macs / form[ROUNDS / 2] / peak,
        200 * macs / direct[ROUNDS / 2] / peak, 200 * own / form[ROUNDS / 2] / peak,
        200 * own / (form[ROUNDS / 2] * b.steps[1] / all) / peak, 100 * b.steps[0] / all,
        100 * b.steps[2] / all, error / direct_error, plan->blocks, plan->block_tiles);
    fflush(stdout);
    free(b.weights[f]);
  }
  free(x), free(zero), free(w), free((void *)pointers), free(b.y), free(b.room);
}

int main(int argc, char **argv) {
  const uint32_t isa = bench_isa(argc, argv, 1);
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
    if (argc < 3 || strstr(layers[i].name, argv[2])) bench(&layers[i], isa);
  return 0;
}
