// SPDX-License-Identifier: Apache-2.0
// Products over pointers to pixels: blocks, groups, and windows that run backwards.
#include "base/fp.h"

#include "ops/conv/indirect.h"

#include "base/isa.h"
#include "kernels/pack/pack_f32.h"
#include "ops/matmul/linear_data.h"

enum { HEIGHT = 30, WIDTH = 31, CHANNELS = 3, GROUPS = 2, N = 5, TAPS = 9, IMAGES = 2 };
enum { PIXELS = IMAGES * HEIGHT * WIDTH };

// sign -1: dilation and padding negated, as a transposed convolution reads its input.
static void run_window(int64_t sign, size_t piece) {
  struct smr_tensor of_floats = {.dtype = SAMARA_FLOAT32};
  struct smr_tensor *const inputs[] = {&of_floats};
  struct smr_job job = {.isa = smr_cpu_isa(), .inputs = inputs, .input_count = 1};
  struct smr_indirect s;
  const struct smr_window w = {.spatial = 2,
                               .in = {1, HEIGHT, WIDTH},
                               .out = {1, HEIGHT, WIDTH},
                               .kernel = {1, 3, 3},
                               .stride = {1, 1, 1},
                               .dilation = {sign, sign * 2, sign},
                               .pad_begin = {0, sign * 2, sign * 1},
                               .batch = IMAGES};
  if (!CHECK_EQ_INT(smr_indirect_prepare(&job, &s, &w, GROUPS, CHANNELS, N, SMR_GEMM_F32),
                    SAMARA_OK))
    return;
  CHECK(s.blocks > 1);
  float *x = linear_floats(PIXELS * GROUPS * CHANNELS, 1);
  float *k = linear_floats(GROUPS * N * TAPS * CHANNELS, 2);
  float *y = malloc(PIXELS * GROUPS * N * sizeof *y);
  static float panels[GROUPS][TAPS * CHANNELS * SMR_PANEL];
  for (size_t g = 0; g < GROUPS; g++)
    smr_pack_f32(&(struct smr_pack_f32_args){.k = TAPS * CHANNELS,
                                             .n = N,
                                             .src = k + g * N * TAPS * CHANNELS,
                                             .k_stride = 1,
                                             .n_stride = TAPS * CHANNELS,
                                             .dst = panels[g],
                                             .panel_stride_bytes = sizeof panels[g]},
                 job.isa, 0, 1);
  const struct smr_f32_gemm_args all = {.batch = GROUPS,
                                        .n = N,
                                        .k = CHANNELS,
                                        .a_stride = GROUPS * CHANNELS,
                                        .a_batch_stride = CHANNELS,
                                        .w = panels,
                                        .panel_stride_bytes = sizeof panels[0],
                                        .w_batch_stride_bytes = sizeof panels[0],
                                        .out = y,
                                        .out_stride = GROUPS * N,
                                        .out_batch_stride = N,
                                        .lo = -INFINITY,
                                        .hi = INFINITY};
  job.scratch = malloc(job.scratch_bytes);
  const float **pointers = malloc(job.thread_scratch_bytes);
  smr_indirect_prologue(&job, &s);
  for (size_t tile = 0; tile < job.tiles; tile += piece)
    smr_indirect_run(&job, &s, &all, x, tile, tile + piece < job.tiles ? tile + piece : job.tiles,
                     pointers);
  for (int64_t i = 0; i < PIXELS * GROUPS * N; i++) {
    const int64_t o = i % (GROUPS * N), g = o / N, px = i / (GROUPS * N);
    double sum = 0;
    for (int64_t tap = 0; tap < TAPS; tap++) {
      const int64_t row = px / WIDTH % HEIGHT + sign * 2 * (tap / 3 - 1);
      const int64_t column = px % WIDTH + sign * (tap % 3 - 1);
      if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH) continue;
      const int64_t at = (px / (WIDTH * HEIGHT) * HEIGHT + row) * WIDTH + column;
      for (int64_t c = 0; c < CHANNELS; c++)
        sum += (double)x[at * GROUPS * CHANNELS + g * CHANNELS + c] *
               (double)k[(o * TAPS + tap) * CHANNELS + c];
    }
    if (!CHECK_NEAR(y[i], sum, 1e-5)) break;
  }
  free(x), free(k), free(y), free(job.scratch), free((void *)(uintptr_t)pointers);
}

SMR_TEST(forwards_and_backwards) {
  run_window(1, 1);
  run_window(1, 1000);
  run_window(-1, 2);
}

SMR_TEST_MAIN(RUN(forwards_and_backwards))
