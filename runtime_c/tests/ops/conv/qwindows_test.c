// SPDX-License-Identifier: Apache-2.0
// Products over windows of copied lines against their definition.
#include "base/fp.h"

#include "ops/conv/qwindows.h"

#include "base/isa.h"
#include "harness.h"
#include "ops/partition.h"

#include <stdlib.h>
#include <string.h>

enum { ZERO = -3, N = 16 };  // padding; channels of output

// Byte `byte` of all taps of output pixel `pixel`, of group `group`.
static int8_t expected(const struct smr_window *w, const int8_t *x, size_t pixel_stride,
                       size_t channels, size_t group, size_t pixel, size_t byte) {
  size_t tap = byte / channels, rest = pixel, place = 0, step = 1;
  for (size_t i = SMR_MAX_SPATIAL; i-- > 0;) {
    const int64_t o = (int64_t)(rest % (size_t)w->out[i]);
    const int64_t at =
        o * w->stride[i] + (int64_t)(tap % (size_t)w->kernel[i]) * w->dilation[i] - w->pad_begin[i];
    rest /= (size_t)w->out[i];
    tap /= (size_t)w->kernel[i];
    if (at < 0 || at >= w->in[i]) return ZERO;
    place += (size_t)at * step;
    step *= (size_t)w->in[i];
  }
  return x[(rest * step + place) * pixel_stride + group * channels + byte % channels];
}

// Weights [groups][rows][N] as panels, whose taps of `k` rows are filled up to `padded`.
static int8_t *pack(const int8_t *w, size_t groups, size_t taps, size_t k, size_t padded,
                    size_t *group_bytes) {
  *group_bytes = smr_i8_panel_stride_bytes(taps * padded);
  int8_t *panels = calloc(groups, *group_bytes), *rows = calloc(taps * padded, N);
  for (size_t g = 0; g < groups; g++) {
    for (size_t t = 0; t < taps; t++)
      memcpy(rows + t * padded * N, w + (g * taps + t) * k * N, k * N);
    smr_i8_pack(taps * padded, N, rows, N, 1, panels + g * *group_bytes);
  }
  free(rows);
  return panels;
}

// Runs `step` tiles at a time.
static void run_tiles(const struct smr_job *job, const struct smr_window *w,
                      const struct smr_qwindows *s, const struct smr_i8_gemm_args *args,
                      size_t step) {
  void *room = malloc(job->thread_scratch_bytes);
  for (size_t begin = 0, end; begin < s->tiles; begin = end) {
    end = s->tiles - begin < step ? s->tiles : begin + step;
    CHECK_EQ_INT(smr_qwindows_run(job, w, s, args, ZERO, begin, end, room), SAMARA_OK);
  }
  free(room);
}

static void run_case(const struct smr_window *w, size_t groups, size_t channels, size_t gap,
                     bool w_zero, bool filled, uint32_t threads) {
  const size_t pixel = groups * channels + gap, all_taps = (size_t)smr_window_taps(w);
  const size_t pixels = (size_t)(w->batch * w->out[0] * w->out[1] * w->out[2]);
  const size_t x_bytes = (size_t)(w->batch * w->in[0] * w->in[1] * w->in[2]) * pixel - gap;
  const size_t depth = all_taps * channels;
  int8_t *x = malloc(x_bytes), *weights = malloc(groups * depth * N);
  for (size_t i = 0; i < x_bytes; i++) x[i] = (int8_t)(i * 37 % 251);
  for (size_t i = 0; i < groups * depth * N; i++) weights[i] = (int8_t)(i * 53 % 241);
  struct smr_job job = {.name = "no deadline",
                        .isa = smr_cpu_isa(),
                        .threads = threads,
                        .work = (double)(int64_t)(pixels * N) * (double)(int64_t)depth};
  const struct smr_i8_gemm_config *config = smr_i8_gemm_config(job.isa);
  int32_t *zeros = malloc(groups * N * sizeof *zeros),
          *starts = malloc(groups * N * sizeof *starts);
  int32_t *out = malloc(pixels * groups * N * sizeof *out);
  for (size_t i = 0; i < groups * N; i++) zeros[i] = w_zero ? (int32_t)(i % 11) - 5 : 0;
  struct smr_i8_gemm_args args = {
      .batch = groups,
      .m = pixels,
      .n = N,
      .k = channels,
      .taps = 1,
      .a = x,
      .a_stride = pixel,
      .a_batch_stride = channels,
      .columns = {.start = starts, .w_zero = w_zero ? zeros : NULL},
      .columns_batch_stride = N,
      .to = SMR_I8_TO_I32,
      .out = out,
      .out_stride = groups * N,
      .out_batch_stride = N,
  };
  struct smr_qwindows s;
  struct smr_i8_gemm_args block = args;
  CHECK_EQ_INT(smr_qwindows_prepare(&job, w, config, w_zero, filled, &block, &s), SAMARA_OK);
  const size_t k = depth / s.taps;  // without padding rows
  CHECK(s.k == k || (filled && s.k > k && s.k < k + SMR_I8_GROUP));
  CHECK(!filled || s.native == smr_i8_gemm_native(config, SMR_I8_GROUP, w_zero));
  int8_t *panels = pack(weights, groups, s.taps, k, s.k, &args.w_batch_stride_bytes);
  args.w = panels;
  args.panel_stride_bytes = args.w_batch_stride_bytes;
  for (size_t g = 0; g < groups; g++)
    smr_i8_gemm_start(config, s.taps * s.k, N, panels + g * args.w_batch_stride_bytes, NULL, ZERO,
                      w_zero ? zeros + g * N : NULL, starts + g * N);
  job.scratch = malloc(job.scratch_bytes);
  smr_qwindows_prologue(&job, w, &s);
  for (size_t step = 1; step <= s.tiles; step = step * 5 + 2) {
    memset(out, 0x55, pixels * groups * N * sizeof *out);
    run_tiles(&job, w, &s, &args, step);
    size_t wrong = 0;  // large images are sampled
    for (size_t i = 0; i < pixels * groups * N; i += 1 + i % 3 * (pixels / 256)) {
      const size_t g = i / N % groups, at = i / N / groups;
      int32_t acc = 0;
      for (size_t r = 0; r < depth; r++)
        acc += (expected(w, x, pixel, channels, g, at, r) - ZERO) *
               (weights[(g * depth + r) * N + i % N] - zeros[g * N + i % N]);
      wrong += out[i] != acc;
    }
    CHECK_EQ_INT(wrong, 0);
  }
  if (pixels >= 64 * SMR_PIECES_PER_THREAD) CHECK(s.blocks * 2 >= smr_partition(&job));
  free(job.scratch), free(panels), free(weights), free(starts), free(zeros), free(out), free(x);
}

SMR_TEST(against_the_definition) {
  static const struct smr_window windows[] = {
      {3, {1, 6, 9}, {1, 4, 5}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, .batch = 2},
      {3, {2, 3, 5}, {2, 3, 6}, {2, 1, 3}, {1, 1, 1}, {1, 1, 2}, {1, 0, 3}, .batch = 1},
      {3, {1, 9, 7}, {1, 3, 2}, {1, 1, 1}, {1, 3, 4}, {1, 1, 1}, {0, 0, 0}, .batch = 2},
      {3, {1, 9, 4}, {1, 5, 4}, {1, 3, 3}, {1, 1, 1}, {1, 3, 1}, {0, 1, 1}, .batch = 1},
      {3, {1, 1, 2}, {1, 1, 7}, {1, 1, 4}, {1, 1, 1}, {1, 1, 1}, {0, 0, 4}, .batch = 3},
      {3, {1, 2, 42}, {1, 2, 10}, {1, 1, 4}, {1, 1, 1}, {1, 1, 11}, {0, 0, 1}, .batch = 1},
      {3, {1, 40, 50}, {1, 40, 50}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, .batch = 1},
      {3, {1, 1, 2100}, {1, 1, 2100}, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}, .batch = 1},
  };
  static const size_t channels[] = {1, 3, 4, 33};
  for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
    for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++) {
      run_case(&windows[i], 1, channels[c], 0, false, false, 1);
      run_case(&windows[i], 1, channels[c], 2, true, false, 2);
      run_case(&windows[i], 2, channels[c], 0, false, false, 4);
      run_case(&windows[i], 3, channels[c], 0, true, false, 1);
      if (smr_qwindows_merge(&windows[i], 1))
        run_case(&windows[i], 1, channels[c], 1, false, true, 1);
    }
}

SMR_TEST_MAIN(RUN(against_the_definition))
