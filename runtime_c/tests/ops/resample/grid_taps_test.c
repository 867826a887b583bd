// SPDX-License-Identifier: Apache-2.0
// The pixels, weights and slopes of grid_sample's points.
#include "base/fp.h"

#include "harness.h"
#include "ops/resample/grid_taps.h"

#include <math.h>

static const struct smr_grid_spec plane = {.axes = 2, .sizes = {3, 5}, .strides = {10, 2}};

// The weight of the pixel at `offset`.
static double weight_of(const struct smr_grid_taps *taps, size_t offset) {
  double sum = 0;
  for (size_t k = 0; k < taps->count; k++)
    if (taps->offsets[k] == offset) sum += (double)taps->weights[k];
  return sum;
}

SMR_TEST(linear) {
  struct smr_grid_spec spec = plane;
  struct smr_grid_taps taps;
  spec.align_corners = true;
  smr_grid_taps_and_slopes(&spec, (const float[]){0.125f, -0.5f}, &taps);  // column 2.25, row 0.5
  CHECK_EQ_INT(taps.count, 4);
  CHECK_NEAR(weight_of(&taps, 4), 0.375, 1e-7);
  CHECK_NEAR(weight_of(&taps, 6), 0.125, 1e-7);
  CHECK_NEAR(weight_of(&taps, 14), 0.375, 1e-7);
  CHECK_NEAR(weight_of(&taps, 16), 0.125, 1e-7);
  spec.align_corners = false;
  smr_grid_taps_and_slopes(&spec, (const float[]){-1, 1}, &taps);  // half a pixel beyond a corner
  CHECK_EQ_INT(taps.count, 1);
  CHECK_EQ_INT(taps.offsets[0], 20);
  CHECK_NEAR(taps.weights[0], 0.25, 1e-7);
  spec.padding = SMR_GRID_BORDER;
  smr_grid_taps_and_slopes(&spec, (const float[]){-1, 1}, &taps);
  CHECK_NEAR(weight_of(&taps, 20), 1, 1e-7);
  CHECK_NEAR(taps.slopes[0][0], 0, 0);
}

// Element after element of a row, thrown back at both ends.
SMR_TEST(reflection) {
  static const int aligned[] = {2, 3, 4, 3, 2, 1, 0, 1, 2, 3, 4, 3, 2};
  static const int halves[] = {4, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 4, 3};
  struct smr_grid_spec spec = plane;
  spec.padding = SMR_GRID_REFLECTION;
  for (int mode = 0; mode < 2; mode++)
    for (int align = 0; align < 2; align++)
      for (int i = -6; i <= 6; i++) {
        spec.mode = mode ? SMR_GRID_NEAREST : SMR_GRID_LINEAR;
        spec.align_corners = align;
        const double x = align ? i / 2.0 - 1 : (2.0 * i + 1) / 5 - 1;
        struct smr_grid_taps taps;
        smr_grid_taps(&spec, (const float[]){(float)x, 0}, &taps);
        const int at = align ? aligned[i + 6] : halves[i + 6];
        CHECK_NEAR(weight_of(&taps, (size_t)(10 + 2 * at)), 1, 2e-6);
      }
}

SMR_TEST(nearest_prefers_even) {
  struct smr_grid_spec spec = plane;
  spec.mode = SMR_GRID_NEAREST;
  spec.align_corners = true;
  static const float at[] = {-1.25f, -0.75f, -0.25f, 0.25f, 0.75f, 1.25f};  // -0.5, 0.5, ... 4.5
  static const size_t want[] = {0, 0, 2, 2, 4, 4};
  for (size_t i = 0; i < 6; i++) {
    struct smr_grid_taps taps;
    smr_grid_taps(&spec, (const float[]){at[i], 0}, &taps);
    if (CHECK_EQ_INT(taps.count, 1)) CHECK_EQ_INT(taps.offsets[0], 10 + 2 * want[i]);
  }
}

// Slopes are what the weights do when the point moves.
SMR_TEST(slopes) {
  for (int mode = 0; mode < 3; mode++)
    for (int padding = 0; padding < 3; padding++)
      for (uint32_t axes = 2; axes <= 3; axes++) {
        const struct smr_grid_spec spec = {.mode = (enum smr_grid_mode)mode,
                                           .padding = (enum smr_grid_padding)padding,
                                           .axes = axes,
                                           .sizes = {4, 7, 5},
                                           .strides = {100, 10, 1}};
        const float point[] = {0.0625f, -0.71875f, 1.21875f};
        struct smr_grid_taps taps;
        smr_grid_taps_and_slopes(&spec, point, &taps);
        for (uint32_t a = 0; a < axes; a++) {
          struct smr_grid_taps ends[2];
          for (int side = 0; side < 2; side++) {
            float moved[3] = {point[0], point[1], point[2]};
            moved[a] += side ? 0x1p-10f : -0x1p-10f;
            smr_grid_taps(&spec, moved, &ends[side]);
          }
          double all = 0;
          for (size_t k = 0; k < taps.count; k++) {
            double slope = 0;
            for (size_t j = 0; j < taps.count; j++)
              if (taps.offsets[j] == taps.offsets[k]) slope += (double)taps.slopes[a][j];
            const double up = weight_of(&ends[1], taps.offsets[k]);
            const double down = weight_of(&ends[0], taps.offsets[k]);
            CHECK_NEAR(slope, (up - down) * 512, 2e-3);
            all += fabs(slope);
          }
          // Border and reflection end at different places; an axis that moves nothing says nothing.
          if (mode != SMR_GRID_NEAREST && a == 0) CHECK(all > 0.1);
        }
      }
}

// No coordinate, however strange, gives a pixel that is not there.
SMR_TEST(strange_points) {
  static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e9f, -1, 1, 0};
  for (int mode = 0; mode < 3; mode++)
    for (int padding = 0; padding < 3; padding++)
      for (int align = 0; align < 2; align++)
        for (int64_t size = 1; size <= 3; size++)
          for (size_t i = 0; i < 81; i++) {
            const struct smr_grid_spec spec = {.mode = (enum smr_grid_mode)mode,
                                               .padding = (enum smr_grid_padding)padding,
                                               .align_corners = align,
                                               .axes = 2,
                                               .sizes = {size, 3},
                                               .strides = {3, 1}};
            struct smr_grid_taps taps;
            smr_grid_taps(&spec, (const float[]){values[i % 9], values[i / 9]}, &taps);
            CHECK(taps.count <= SMR_GRID_TAPS);
            for (size_t k = 0; k < taps.count; k++) CHECK(taps.offsets[k] < (size_t)(3 * size));
          }
}

SMR_TEST_MAIN(RUN(linear), RUN(reflection), RUN(nearest_prefers_even), RUN(slopes),
              RUN(strange_points))
