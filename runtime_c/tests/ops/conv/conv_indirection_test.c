// SPDX-License-Identifier: Apache-2.0
// Indirection buffers against their definition.
#include "base/fp.h"

#include "ops/conv/conv_indirection.h"

#include "harness.h"

#include <stdlib.h>

static const struct smr_window window = {.spatial = 3,
                                         .in = {3, 4, 5},
                                         .out = {2, 3, 4},
                                         .kernel = {2, 3, 2},
                                         .stride = {2, 1, 2},
                                         .dilation = {1, 2, 3},
                                         .pad_begin = {1, 1, 2},
                                         .batch = 2};

enum { STRIDE = 7, PIXELS = 2 * 2 * 3 * 4, TAPS = 2 * 3 * 2 };

SMR_TEST(every_range) {
  static float x[2 * 3 * 4 * 5 * STRIDE];
  static const float zero[1] = {0};
  const float **points = malloc(PIXELS * TAPS * sizeof *points);
  for (size_t first = 0; first < PIXELS; first++)
    for (size_t count = 1; first + count <= PIXELS; count += 3) {
      smr_conv_indirection(&window, x, STRIDE, zero, first, count, points);
      for (size_t i = 0; i < count * TAPS; i++) {
        const size_t p = first + i / TAPS, t = i % TAPS;
        const int64_t at[3] = {(int64_t)(p / 12 % 2), (int64_t)(p / 4 % 3), (int64_t)(p % 4)};
        const int64_t tap[3] = {(int64_t)(t / 6), (int64_t)(t / 2 % 3), (int64_t)(t % 2)};
        size_t pixel = p / 24;
        bool inside = true;
        for (int a = 0; a < 3; a++) {
          const int64_t in =
              at[a] * window.stride[a] - window.pad_begin[a] + tap[a] * window.dilation[a];
          inside = inside && in >= 0 && in < window.in[a];
          pixel = pixel * (size_t)window.in[a] + (size_t)in;
        }
        CHECK(points[i] == (inside ? x + pixel * STRIDE : zero));
      }
    }
  free(points);
}

// Indirection of bytes equals that of floats.
SMR_TEST(bytes) {
  static float x[2 * 3 * 4 * 5 * STRIDE];
  static const float zero[1] = {0};
  static int8_t bytes[2 * 3 * 4 * 5 * STRIDE];
  static const int8_t padding[1] = {7};
  const float **points = malloc(PIXELS * TAPS * sizeof *points);
  const int8_t **places = malloc(PIXELS * TAPS * sizeof *places);
  smr_conv_indirection(&window, x, STRIDE, zero, 0, PIXELS, points);
  smr_conv_indirection_i8(&window, bytes, STRIDE, padding, 0, PIXELS, places);
  for (size_t i = 0; i < PIXELS * TAPS; i++)
    CHECK(places[i] == (points[i] == zero ? padding : bytes + (points[i] - x)));
  free(points);
  free(places);
}

SMR_TEST_MAIN(RUN(every_range); RUN(bytes))
