// SPDX-License-Identifier: Apache-2.0
// Windows of copied lines against their definition.
#include "base/fp.h"

#include "ops/conv/qwindows.h"

#include "base/isa.h"
#include "harness.h"
#include "ops/partition.h"

#include <stdlib.h>

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

static void run_case(const struct smr_window *w, size_t groups, size_t channels, size_t gap,
                     bool w_zero, bool filled, uint32_t threads) {
  const size_t pixel = groups * channels + gap;
  const size_t x_bytes = (size_t)(w->batch * w->in[0] * w->in[1] * w->in[2]) * pixel - gap;
  int8_t *x = malloc(x_bytes);
  for (size_t i = 0; i < x_bytes; i++) x[i] = (int8_t)(i * 37 % 251);
  const double outputs = (double)(w->batch * w->out[0] * w->out[1] * w->out[2] * N);
  const struct smr_job job = {
      .name = "no deadline",
      .threads = threads,
      .work = outputs * (double)(int64_t)(smr_window_taps(w) * (int64_t)channels)};
  struct smr_deadline_watch watch = {.job = &job};
  struct smr_qwindows s;
  const struct smr_i8_gemm_config *config = smr_i8_gemm_config(smr_cpu_isa());
  CHECK_EQ_INT(smr_qwindows_make(&job, w, config, groups, channels, w_zero, filled, &s), SAMARA_OK);
  const size_t k = filled ? (size_t)w->kernel[2] * channels : s.k;  // without what fills it up
  CHECK(!filled || (s.k >= k && s.k < k + SMR_I8_GROUP));
  CHECK(!filled || s.native == smr_i8_gemm_native(config, SMR_I8_GROUP, w_zero));
  int8_t *to = malloc(s.bytes);
  size_t *taps = malloc(s.taps * sizeof *taps), all = 0;
  smr_qwindows_taps(w, &s, taps);
  const struct smr_i8_gemm_windows rows = smr_qwindows_rows(w, &s);
  const int offset = s.native ? config->a_offset : 0;
  for (size_t block = 0; block < s.blocks; block++) {
    size_t first, wrong = 0;
    const size_t count = smr_qwindows_pixels(w, &s, block, &first);
    CHECK_EQ_INT(first, all);
    all += count;
    CHECK_EQ_INT(smr_qwindows_copy(&watch, w, &s, x, pixel, ZERO, block, to), SAMARA_OK);
    for (size_t i = 0; i < count; i++)
      for (size_t g = 0; g < groups; g++)
        for (size_t byte = 0; byte < s.taps * k; byte++) {
          const int8_t *row =
              to + i / rows.line * rows.line_bytes + i % rows.line * rows.step_bytes;
          const int8_t *tap = row + g * channels + taps[byte / k];
          CHECK(tap + s.k <= to + s.bytes);
          const int8_t is = tap[byte % k];
          const int8_t want = expected(w, x, pixel, channels, g, first + i, byte);
          wrong += is != (int8_t)(uint8_t)(want + offset);
        }
    CHECK_EQ_INT(wrong, 0);
  }
  CHECK_EQ_INT(all, w->batch * w->out[0] * w->out[1] * w->out[2]);
  if (all >= 64 * SMR_PIECES_PER_THREAD) CHECK(s.blocks * 2 >= smr_partition(&job));
  free(x), free(to), free(taps);
}

SMR_TEST(against_the_definition) {
  static const struct smr_window windows[] = {
      {3, {1, 6, 9}, {1, 4, 5}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, .batch = 2},
      {3, {2, 3, 5}, {2, 3, 6}, {2, 1, 3}, {1, 1, 1}, {1, 1, 2}, {1, 0, 3}, .batch = 1},
      {3, {1, 9, 7}, {1, 3, 2}, {1, 1, 1}, {1, 3, 4}, {1, 1, 1}, {0, 0, 0}, .batch = 2},
      {3, {1, 9, 4}, {1, 5, 4}, {1, 3, 3}, {1, 1, 1}, {1, 3, 1}, {0, 1, 1}, .batch = 1},
      {3, {1, 1, 2}, {1, 1, 7}, {1, 1, 4}, {1, 1, 1}, {1, 1, 1}, {0, 0, 4}, .batch = 3},
      {3, {1, 40, 50}, {1, 40, 50}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, .batch = 1},
      {3, {1, 1, 2100}, {1, 1, 2100}, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}, .batch = 1},
  };
  static const size_t channels[] = {1, 3, 4, 33};
  for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
    for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++) {
      run_case(&windows[i], 1, channels[c], 0, false, false, 1);
      run_case(&windows[i], 1, channels[c], 2, true, false, 2);
      run_case(&windows[i], 2, channels[c], 0, false, false, 4);
      if (smr_qwindows_merge(&windows[i], 1))
        run_case(&windows[i], 1, channels[c], 1, false, true, 1);
    }
}

SMR_TEST_MAIN(RUN(against_the_definition))
