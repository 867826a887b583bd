// SPDX-License-Identifier: Apache-2.0
// Coordinates and weights of resize along one axis.
#include "base/fp.h"

#include "ops/resample/resize_axis.h"

#include "harness.h"

#include <stdlib.h>

struct taps {
  int32_t first, count;
  float weights[64];
};

// Room for exactly the width that is promised.
static struct taps taps_of(const struct smr_resize_spec *spec, int64_t o) {
  struct taps taps = {0};
  const size_t width = (size_t)smr_resize_width(spec);
  float *weights = (float *)malloc(width * sizeof *weights);
  double *scratch = (double *)malloc(width * sizeof *scratch);
  if (weights == NULL || scratch == NULL) abort();
  smr_resize_taps(spec, o, &taps.first, &taps.count, weights, scratch);
  CHECK(taps.first >= 0 && taps.count >= 0 && taps.first + taps.count <= spec->in);
  CHECK((size_t)taps.count <= width);
  for (int32_t i = 0; spec->mode != SMR_RESIZE_NEAREST && i < taps.count && i < 64; i++)
    taps.weights[i] = weights[i];
  free(weights);
  free(scratch);
  return taps;
}

static void expect(const struct smr_resize_spec *spec, int64_t o, int32_t first, int32_t count,
                   const float *weights) {
  const struct taps taps = taps_of(spec, o);
  CHECK_EQ_INT(taps.first, first);
  CHECK_EQ_INT(taps.count, count);
  for (int32_t i = 0; i < count; i++) CHECK_NEAR(taps.weights[i], weights[i], 1e-7);
}

SMR_TEST(linear_weights) {
  struct smr_resize_spec spec = {
      .mode = SMR_RESIZE_LINEAR, .in = 4, .out = 8, .scale = 2, .cubic_a = -0.75};
  expect(&spec, 0, 0, 1, (const float[]){1});  // at -0.25: the edge twice
  expect(&spec, 1, 0, 2, (const float[]){0.75f, 0.25f});
  expect(&spec, 7, 3, 1, (const float[]){1});
  spec.coordinate = SMR_RESIZE_ASYMMETRIC;
  expect(&spec, 3, 1, 2, (const float[]){0.5f, 0.5f});
  expect(&spec, 2, 1, 1, (const float[]){1});
  spec.coordinate = SMR_RESIZE_ALIGN_CORNERS;
  expect(&spec, 7, 3, 1, (const float[]){1});
  spec.out = 1;
  expect(&spec, 0, 0, 1, (const float[]){1});
}

SMR_TEST(cubic_weights) {
  struct smr_resize_spec spec = {
      .mode = SMR_RESIZE_CUBIC, .in = 4, .out = 8, .scale = 2, .cubic_a = -0.75};
  // At 1.25: the cubic at distances 1.25, 0.25, 0.75 and 1.75.
  expect(&spec, 3, 0, 4, (const float[]){-0.10546875f, 0.87890625f, 0.26171875f, -0.03515625f});
  // At -0.25: what falls off the edge counts for the edge, or for nothing.
  expect(&spec, 0, 0, 2, (const float[]){1.10546875f, -0.10546875f});
  spec.exclude_outside = true;
  const struct taps taps = taps_of(&spec, 0);
  CHECK_EQ_INT(taps.count, 2);
  CHECK_NEAR(taps.weights[0] + taps.weights[1], 1, 1e-6);
}

SMR_TEST(weights_sum_to_one) {
  for (int mode = SMR_RESIZE_LINEAR; mode <= SMR_RESIZE_CUBIC; mode++)
    for (int coordinate = 0; coordinate <= SMR_RESIZE_TF_HALF_PIXEL_FOR_NN; coordinate++)
      for (int flags = 0; flags < 4; flags++)
        for (int64_t in = 1; in <= 20; in += 3)
          for (int64_t out = 1; out <= 40; out += 13) {
            const struct smr_resize_spec spec = {
                .mode = (enum smr_resize_mode)mode,
                .coordinate = (enum smr_resize_coordinate)coordinate,
                .in = in,
                .out = out,
                .scale = (double)out / (double)in,
                .cubic_a = -0.5,
                .exclude_outside = flags & 1,
                .antialias = flags & 2};
            for (int64_t o = 0; o < out; o++) {
              const struct taps taps = taps_of(&spec, o);
              double sum = 0;
              for (int32_t i = 0; i < taps.count; i++) sum += (double)taps.weights[i];
              // Far outside an excluding filter has nothing left to weigh.
              if (coordinate != SMR_RESIZE_TF_HALF_PIXEL_FOR_NN || !(flags & 1))
                CHECK_NEAR(sum, 1, 1e-6);
            }
          }
}

SMR_TEST(nearest_elements) {
  for (int rounding = 0; rounding < 4; rounding++) {
    const struct smr_resize_spec spec = {.mode = SMR_RESIZE_NEAREST,
                                         .coordinate = SMR_RESIZE_ALIGN_CORNERS,
                                         .rounding = (enum smr_resize_rounding)rounding,
                                         .in = 4,
                                         .out = 8,
                                         .scale = 2};
    for (int64_t o = 0; o < 8; o++) {
      const double at = (double)o * 3 / 7;
      const double round[4] = {ceil(at - 0.5), floor(at + 0.5), floor(at), ceil(at)};
      const struct taps taps = taps_of(&spec, o);
      CHECK_EQ_INT(taps.first, (int32_t)round[rounding]);
      CHECK_EQ_INT(taps.count, 1);
    }
  }
  struct smr_resize_spec spec = {.mode = SMR_RESIZE_NEAREST,
                                 .coordinate = SMR_RESIZE_ASYMMETRIC,
                                 .in = 4,
                                 .out = 8,
                                 .scale = 2};
  CHECK_EQ_INT(taps_of(&spec, 3).first, 1);  // 1.5 prefers the floor
  spec.rounding = SMR_RESIZE_ROUND_PREFER_CEIL;
  CHECK_EQ_INT(taps_of(&spec, 3).first, 2);
  CHECK_EQ_INT(taps_of(&spec, 7).first, 3);
}

SMR_TEST(regions) {
  struct smr_resize_spec spec = {.mode = SMR_RESIZE_LINEAR,
                                 .coordinate = SMR_RESIZE_TF_CROP_AND_RESIZE,
                                 .in = 5,
                                 .out = 3,
                                 .scale = 0.6,
                                 .begin = -0.25,
                                 .end = 0.75};
  CHECK_EQ_INT(taps_of(&spec, 0).count, 0);  // at -1
  expect(&spec, 1, 1, 1, (const float[]){1});
  expect(&spec, 2, 3, 1, (const float[]){1});
  spec.out = 1;
  expect(&spec, 0, 1, 1, (const float[]){1});
}

// Numbers as a hostile file has them stay inside the input and the promised room.
SMR_TEST(extremes) {
  static const double scales[] = {1.4e-45, 1e-20, 1, 3.4e38};
  for (size_t s = 0; s < 4; s++)
    for (int mode = 0; mode <= SMR_RESIZE_CUBIC; mode++)
      for (int coordinate = 0; coordinate <= SMR_RESIZE_TF_CROP_AND_RESIZE; coordinate++)
        for (int flags = 0; flags < 4; flags++) {
          const struct smr_resize_spec spec = {.mode = (enum smr_resize_mode)mode,
                                               .coordinate = (enum smr_resize_coordinate)coordinate,
                                               .in = 3,
                                               .out = INT32_MAX,
                                               .scale = scales[s],
                                               .begin = -3e38,
                                               .end = 3e38,
                                               .cubic_a = 3e38,
                                               .exclude_outside = flags & 1,
                                               .antialias = flags & 2};
          taps_of(&spec, 0);
          taps_of(&spec, INT32_MAX - 1);
        }
}

// Every weight of every output, and nothing else, is in the adjoint; in room that is exact.
static void check_adjoint(const struct smr_resize_spec *spec) {
  const size_t in = (size_t)spec->in;
  const struct smr_resize_adjoint adjoint = {
      .first = (int32_t *)malloc(in * sizeof(int32_t)),
      .count = (int32_t *)malloc(in * sizeof(int32_t)),
      .offset = (size_t *)malloc(in * sizeof(size_t)),
      .weights = (float *)malloc(smr_resize_adjoint_weights(spec) * sizeof(float))};
  void *scratch = malloc(smr_resize_adjoint_scratch(spec));
  if (adjoint.first == NULL || adjoint.count == NULL || adjoint.offset == NULL ||
      adjoint.weights == NULL || scratch == NULL)
    abort();
  smr_resize_adjoint_begin(spec, &adjoint);
  for (int64_t o = 0; o < spec->out; o++) smr_resize_adjoint_extend(spec, &adjoint, o, scratch);
  smr_resize_adjoint_place(spec, &adjoint);
  for (int64_t o = 0; o < spec->out; o++) smr_resize_adjoint_fill(spec, &adjoint, o, scratch);
  double all = 0, found = 0;
  for (int64_t i = 0; i < spec->in; i++)
    for (int32_t k = 0; k < adjoint.count[i]; k++)
      all += (double)adjoint.weights[adjoint.offset[i] + (size_t)k];
  for (int64_t o = 0; o < spec->out; o++) {
    const struct taps taps = taps_of(spec, o);
    for (int32_t t = 0; t < taps.count; t++) {
      const float weight = spec->mode == SMR_RESIZE_NEAREST ? 1.0f : taps.weights[t];
      const int32_t i = taps.first + t, k = (int32_t)o - adjoint.first[i];
      if (CHECK(k >= 0 && k < adjoint.count[i]))
        CHECK(adjoint.weights[adjoint.offset[i] + (size_t)k] == weight);
      found += (double)weight;
    }
  }
  CHECK_NEAR(all, found, 1e-6);
  free(adjoint.first);
  free(adjoint.count);
  free(adjoint.offset);
  free(adjoint.weights);
  free(scratch);
}

SMR_TEST(adjoint_turns_taps_round) {
  for (int mode = 0; mode <= SMR_RESIZE_CUBIC; mode++)
    for (int coordinate = 0; coordinate <= SMR_RESIZE_TF_CROP_AND_RESIZE; coordinate++)
      for (int flags = 0; flags < 8; flags++)
        for (int64_t in = 1; in <= 15; in += 7)
          for (int64_t out = 1; out <= 31; out += 10) {
            const struct smr_resize_spec spec = {
                .mode = (enum smr_resize_mode)mode,
                .coordinate = (enum smr_resize_coordinate)coordinate,
                .in = in,
                .out = out,
                // The file's scale need not be the ratio.
                .scale = (double)out / (double)in * (flags & 4 ? 0.5 : 1),
                .cubic_a = -0.75,
                .begin = flags & 4 ? 1.5 : -0.5,  // also from the end to the beginning
                .end = flags & 4 ? -0.25 : 1,
                .exclude_outside =
                    coordinate != SMR_RESIZE_TF_HALF_PIXEL_FOR_NN && (flags & 5) == 1,
                .antialias = flags & 2};
            check_adjoint(&spec);
          }
}

SMR_TEST_MAIN(RUN(linear_weights); RUN(cubic_weights); RUN(weights_sum_to_one);
              RUN(nearest_elements); RUN(regions); RUN(extremes), RUN(adjoint_turns_taps_round))
