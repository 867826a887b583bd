// SPDX-License-Identifier: Apache-2.0
// Tests scores of boxes by hand; answer_boxes_test.c compares them with the reference.
#include "base/fp.h"

#include "media/answer_score.h"

#include <math.h>

#include "harness.h"

static float data[3 * 4];
static float objects[3];
static const samara_tensor tensors[] = {
    {data, sizeof data, {3, 4}, 2, SAMARA_FLOAT32, 0, 0},
    {objects, sizeof objects, {3, 1}, 2, SAMARA_FLOAT32, 0, 0},
};
static const struct smr_answer_outputs outputs = {tensors, 2};

static void fill(void) {
  static const float rows[3][4] = {{9, 1, 2, 2}, {9, NAN, -INFINITY, NAN}, {9, NAN, NAN, NAN}};
  static const float given[3] = {0.5f, -1, 1};
  memcpy(data, rows, sizeof data);
  memcpy(objects, given, sizeof objects);
}

static void score(enum smr_answer_activation activation, bool object, bool root, float scores[3],
                  int32_t classes[3]) {
  const struct smr_answer_part part = {.count = 1, .begin = 1};
  const struct smr_answer_part objectness = {.count = object ? 1 : 0, .outputs = {1}};
  struct smr_answer_scoring s = {.activation = activation, .root = root};
  fill();
  REQUIRE(smr_answer_rows_open(&part, &outputs, false, "score", &s.score, NULL) == SAMARA_OK);
  REQUIRE(smr_answer_rows_open(&objectness, &outputs, false, "objectness", &s.objectness, NULL) ==
          SAMARA_OK);
  smr_answer_scores(&s, 0, 3, scores, classes);
}

SMR_TEST(largest_class) {
  float scores[3];
  int32_t classes[3];
  score(SMR_ANSWER_PLAIN, false, false, scores, classes);
  CHECK(scores[0] == 2 && isnan(scores[1]) && isnan(scores[2]));
  CHECK_EQ_INT(classes[0], 1);
}

SMR_TEST(activations) {
  float scores[3];
  int32_t classes[3];
  score(SMR_ANSWER_SIGMOID, false, false, scores, classes);
  CHECK(scores[0] == smr_answer_sigmoid(2) && scores[1] == 0 && isnan(scores[2]));
  // Over all channels, the first one too.
  score(SMR_ANSWER_SOFTMAX, false, false, scores, classes);
  const float powers[] = {1, smr_answer_exp(-8), smr_answer_exp(-7)};
  CHECK(scores[0] == powers[2] / (((powers[0] + powers[1]) + powers[2]) + powers[2]));
  CHECK(scores[1] == 0 && classes[1] == 1 && isnan(scores[2]));
}

SMR_TEST(objectness) {
  float scores[3];
  int32_t classes[3];
  score(SMR_ANSWER_PLAIN, true, false, scores, classes);
  CHECK(scores[0] == 1 && isnan(scores[1]) && isnan(scores[2]));
  score(SMR_ANSWER_PLAIN, true, true, scores, classes);
  CHECK(scores[0] == 1);
  score(SMR_ANSWER_SIGMOID, true, false, scores, classes);
  CHECK(scores[0] == smr_answer_sigmoid(2) * smr_answer_sigmoid(0.5f));
  score(SMR_ANSWER_SOFTMAX, true, true, scores, classes);
  CHECK(isfinite(scores[0]) && isnan(scores[2]));
}

SMR_TEST_MAIN(RUN(largest_class); RUN(activations); RUN(objectness))
