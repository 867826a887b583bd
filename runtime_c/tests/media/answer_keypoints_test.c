// SPDX-License-Identifier: Apache-2.0
// Tests points: the reference's bits, any bytes of outputs, and refusals.
#include "base/fp.h"

#include "media/answer_keypoints.h"

#include <math.h>

#include "harness.h"
#include "media/answer_data.h"

struct keypoints_case {
  struct smr_answer_keypoints record;
  struct smr_answer_outputs outputs;
  struct smr_answer_geometry geometry;
  size_t count, words;
  const uint32_t *want;  // bits of x, y and score
};
#include "media/answer_keypoints_cases.inc"

SMR_TEST(as_the_reference) {
  for (size_t k = 0; k < sizeof keypoints_cases / sizeof *keypoints_cases; k++) {
    const struct keypoints_case *c = &keypoints_cases[k];
    struct smr_answer_point points[16];
    size_t count = 0;
    REQUIRE(smr_answer_keypoints_count(&c->record, &c->outputs, &count, NULL) == SAMARA_OK);
    REQUIRE(count == c->count && count * 3 == c->words && count <= 16);
    REQUIRE(smr_answer_keypoints(&c->record, &c->outputs, &c->geometry, points, count, NULL) ==
            SAMARA_OK);
    for (size_t i = 0; i < count; i++) {
      CHECK_EQ_INT(answer_bits(points[i].x), c->want[3 * i]);
      CHECK_EQ_INT(answer_bits(points[i].y), c->want[3 * i + 1]);
      CHECK_EQ_INT(answer_bits(points[i].score), c->want[3 * i + 2]);
    }
  }
}

SMR_TEST(any_bytes) {
  uint32_t seed = 1;
  for (uint32_t k = 0; k < 3000; k++) {
    const struct smr_answer_keypoints record = {
        .heatmaps = answer_below(2, &seed) != 0,
        .channels_last = answer_below(2, &seed) != 0,
        .refine = (enum smr_answer_refine)answer_below(3, &seed),
        .sigmoid = answer_below(2, &seed) != 0,
        .yx = answer_below(2, &seed) != 0,
        .ratio = answer_below(2, &seed) != 0,
        .step = 2 + answer_below(2, &seed)};
    const int64_t maps[] = {1, 1 + answer_below(9, &seed), 1 + answer_below(9, &seed),
                            1 + answer_below(9, &seed)};
    const int64_t pairs[] = {1, 1 + answer_below(9, &seed), record.step};
    samara_tensor t =
        record.heatmaps ? answer_random(4, maps, &seed) : answer_random(3, pairs, &seed);
    const struct smr_answer_outputs outputs = {&t, 1};
    const struct smr_answer_geometry g = answer_picture(32, 24, &seed);
    size_t count = 0;
    REQUIRE(smr_answer_keypoints_count(&record, &outputs, &count, NULL) == SAMARA_OK);
    struct smr_answer_point *points =
        (struct smr_answer_point *)kernel_alloc(count * sizeof *points, 4);
    REQUIRE(smr_answer_keypoints(&record, &outputs, &g, points, count, NULL) == SAMARA_OK);
    for (size_t i = 0; i < count; i++) {
      CHECK(isfinite(points[i].x) && isfinite(points[i].y) && !isnan(points[i].score));
      CHECK(!record.heatmaps || !record.sigmoid || points[i].score <= 1);
    }
    kernel_free(points, 4);
    answer_free(&t);
  }
}

SMR_TEST(refuses) {
  static float data[12];
  samara_tensor t = {.data = data, .size_bytes = 48, .shape = {1, 3, 4}, .rank = 3};
  t.dtype = SAMARA_FLOAT32;
  const struct smr_answer_outputs outputs = {&t, 1};
  struct smr_answer_geometry g = {2, 2, {0, 0, 2, 2}, 0, false, {2, 2}, {0, 0}, {2, 2}};
  struct smr_answer_keypoints record = {.heatmaps = true};
  struct smr_answer_point points[6];
  size_t count;
  samara_error error;
  CHECK_EQ_INT(smr_answer_keypoints_count(&record, &outputs, &count, &error), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "expected heat maps [1, points, height, width]");
  record.heatmaps = false;
  CHECK_EQ_INT(smr_answer_keypoints_count(&record, &outputs, &count, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "0 numbers for a point, expected 2 or 3");
  record.step = 3;
  t.shape[1] = 2;
  CHECK_EQ_INT(smr_answer_keypoints_count(&record, &outputs, &count, &error), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "has 8 elements, expected 3 for each point");
  record.step = 2;
  CHECK_EQ_INT(smr_answer_keypoints(&record, &outputs, &g, points, 3, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "room for 3 points, the output has 4");
  g.quarters = 4;
  CHECK_EQ_INT(smr_answer_keypoints(&record, &outputs, &g, points, 6, &error), SAMARA_BAD_ARGUMENT);
}

SMR_TEST_MAIN(RUN(as_the_reference); RUN(any_bytes); RUN(refuses))
