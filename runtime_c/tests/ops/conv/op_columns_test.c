// SPDX-License-Identifier: Apache-2.0
// deform_columns and fold: undisplaced windows, planes, points far outside, sums of windows.
#include "base/fp.h"

#include "ops/op_harness.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

enum { N = 2, H = 9, W = 11, C = 12, OUT_H = 4, OUT_W = 11, TAPS = 6, G = 3 };

static float x[N * H * W * C], offset[N * OUT_H * OUT_W * G * TAPS * 2];

// Windows of 2 x 3, every second row, padded by a column; moved by whole or by half pixels.
static void begin(struct op_test *t, float by) {
  for (size_t i = 0; i < N * H * W * C; i++)
    x[i] = (float)(i / C / W % H) + (float)(i / C % W) * 0.5f + (float)(i % C) * 3;
  for (size_t i = 0; i < sizeof offset / sizeof offset[0]; i++) offset[i] = by;
  op_begin(t, "deform_columns");
  op_in(t, SAMARA_FLOAT32, 4, DIMS(N, H, W, C), x);
  op_in(t, SAMARA_FLOAT32, 4, DIMS(N, OUT_H, OUT_W, G * TAPS * 2), offset);
  op_out(t, SAMARA_FLOAT32, 4, DIMS(N, OUT_H, OUT_W, C * TAPS));
  op_ints(t, "kernel", 2, DIMS(2, 3));
  op_ints(t, "strides", 2, DIMS(2, 1));
  op_ints(t, "dilations", 2, DIMS(1, 1));
  op_ints(t, "pads", 4, DIMS(0, 1, 0, 1));
  op_int(t, "groups", 2);
  op_int(t, "offset_groups", G);
}

SMR_TEST(windows) {
  static const float moves[] = {0, 1, 0.5f, -0.25f};
  for (size_t m = 0; m < 4; m++) {
    struct op_test t;
    begin(&t, moves[m]);
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
      CHECK(t.tiles > 1);
      for (size_t i = 0; i < N * OUT_H * OUT_W * C * TAPS; i++) {
        const size_t pixel = i / C / TAPS, group = i % (C * TAPS) / (C / 2 * TAPS);
        const size_t tap = i / (C / 2) % TAPS, channel = group * (C / 2) + i % (C / 2);
        const double row = (double)(pixel / OUT_W % OUT_H * 2 + tap / 3) + (double)moves[m];
        const double column = (double)(pixel % OUT_W + tap % 3) - 1 + (double)moves[m];
        // Beyond the border the samples fade, which other tests look at.
        if (row < 0 || row > H - 1 || column < 0 || column > W - 1) continue;
        CHECK_NEAR(((const float *)t.out[0].data)[i], row + column * 0.5 + (double)channel * 3,
                   1e-5);
      }
    }
    op_end(&t);
  }
}

SMR_TEST(points_far_outside) {
  static const float far[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 100, -100};
  for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
    struct op_test t;
    begin(&t, far[i]);
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
      for (size_t k = 0; k < N * OUT_H * OUT_W * C * TAPS; k++)
        CHECK(((const float *)t.out[0].data)[k] == 0);
    op_end(&t);
  }
}

// Windows of ones count how many of them meet each element.
SMR_TEST(sums_of_windows) {
  static float ones[3 * 2 * 3 * 4 * 5];
  for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++) ones[i] = 1;
  for (int64_t stride = 1; stride < 3; stride++) {
    const int64_t height = 4, width = 4 * stride + 1;  // 5 windows of 3, a column of padding
    struct op_test t;
    op_begin(&t, "fold");
    op_in(&t, SAMARA_FLOAT32, 6, DIMS(1, 3, 2, 3, 4, 5), ones);
    op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 3, height, width));
    op_ints(&t, "size", 2, DIMS(height, width));
    op_ints(&t, "strides", 2, DIMS(1, stride));
    op_ints(&t, "dilations", 2, DIMS(1, 1));
    op_ints(&t, "pads", 4, DIMS(0, 1, 1, 1));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
      for (int64_t i = 0; i < 3 * height * width; i++) {
        const int64_t row = i / width % height, column = i % width;
        int64_t want = 0;
        for (int64_t o = 0; o < 4; o++) {
          if (row < o || row > o + 1) continue;
          for (int64_t p = 0; p < 5; p++) {
            const int64_t first = p * stride - 1;
            want += column >= first && column < first + 3;
          }
        }
        CHECK_EQ_INT(((const float *)t.out[0].data)[i], want);
      }
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(windows), RUN(points_far_outside), RUN(sums_of_windows))
