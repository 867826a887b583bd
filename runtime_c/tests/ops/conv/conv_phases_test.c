// SPDX-License-Identifier: Apache-2.0
// Classes of taps: every tap is in exactly one class, and boxes hold the outputs of one remainder.
#include "base/fp.h"

#include "ops/conv/conv_phases.h"

#include "harness.h"

static void check_window(struct smr_conv_phases *s) {
  const struct smr_window *w = &s->window;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) s->period[i] = smr_conv_phases_period(w, i);
  const struct smr_job job = {.state = s};
  const size_t taps = (size_t)smr_window_taps(w);
  bool seen[512] = {false};
  for (size_t i = 0; i < taps; i++) {
    const size_t tap = smr_conv_phases_source_tap(&job, i);
    if (!CHECK(tap < taps)) return;
    CHECK(!seen[tap]);
    seen[tap] = true;
  }
  for (int64_t z = 0; z < w->stride[0]; z++)
    for (int64_t y = 0; y < w->stride[1]; y++)
      for (int64_t x = 0; x < w->stride[2]; x++) {
        const int64_t out[SMR_MAX_SPATIAL] = {z, y, x};
        const struct smr_conv_phases_box box = smr_conv_phases_box_of(s, out);
        size_t expected = 0, found = 0;
        for (size_t tap = 0; tap < taps; tap++) {
          const int64_t at[3] = {(int64_t)tap / (w->kernel[1] * w->kernel[2]),
                                 (int64_t)tap / w->kernel[2] % w->kernel[1],
                                 (int64_t)tap % w->kernel[2]};
          bool meets = true;
          for (int a = 0; a < 3; a++)
            meets =
                meets && (out[a] + w->pad_begin[a] - at[a] * w->dilation[a]) % w->stride[a] == 0;
          expected += meets;
          if (!meets) continue;
          for (size_t i = 0; i < box.taps; i++)
            found += smr_conv_phases_source_tap(&job, box.first + i) == tap;
        }
        CHECK_EQ_INT(box.taps, expected);
        CHECK_EQ_INT(found, expected);
      }
}

SMR_TEST(every_phase) {
  for (int flipped = 0; flipped < 2; flipped++)
    for (int64_t stride = 1; stride <= 4; stride++)
      for (int64_t dilation = 1; dilation <= 6; dilation++)
        for (int64_t kernel = 1; kernel <= 5; kernel++) {
          struct smr_conv_phases s = {.flipped = flipped != 0,
                                      .window = {.kernel = {2, kernel, 4},
                                                 .stride = {1, stride, 2},
                                                 .dilation = {3, dilation, 1},
                                                 .pad_begin = {0, kernel % 3, 1}}};
          check_window(&s);
        }
}

SMR_TEST_MAIN(RUN(every_phase))
