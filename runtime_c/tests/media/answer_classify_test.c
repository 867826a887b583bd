// SPDX-License-Identifier: Apache-2.0
// Tests the best classes: the reference's bits, and any bytes of outputs.
#include "base/fp.h"

#include "media/answer_classify.h"

#include <math.h>

#include "harness.h"
#include "media/answer_data.h"

struct classify_case {
  struct smr_answer_classify record;
  struct smr_answer_outputs outputs;
  struct smr_answer_geometry geometry;
  size_t count, words;
  const uint32_t *want;  // of each class: its score's bits, its number
};
#include "media/answer_classify_cases.inc"

SMR_TEST(as_the_reference) {
  for (size_t k = 0; k < sizeof classify_cases / sizeof *classify_cases; k++) {
    const struct classify_case *c = &classify_cases[k];
    struct smr_answer_ranked classes[100];
    size_t count = 0;
    samara_error error;
    REQUIRE(smr_answer_classify(&c->record, &c->outputs, classes, 100, &count, &error) ==
            SAMARA_OK);
    REQUIRE(count == c->count && count * 2 == c->words);
    for (size_t i = 0; i < count; i++) {
      CHECK_EQ_INT(answer_bits(classes[i].score), c->want[2 * i]);
      CHECK_EQ_INT(classes[i].index, c->want[2 * i + 1]);
    }
  }
}

// In order, above the threshold, and never NaN.
SMR_TEST(any_bytes) {
  uint32_t seed = 1;
  for (uint32_t k = 0; k < 3000; k++) {
    const int64_t shape[] = {1, 1 + answer_below(150, &seed)};
    samara_tensor t = answer_random(2, shape, &seed);
    const struct smr_answer_outputs outputs = {&t, 1};
    const struct smr_answer_classify record = {
        .activation = (enum smr_answer_activation)answer_below(3, &seed),
        .top = 1 + answer_below(9, &seed),
        .limited = answer_below(2, &seed) != 0,
        .threshold = 0.25f};
    const size_t room = 1 + answer_below(9, &seed);
    struct smr_answer_ranked *classes =
        (struct smr_answer_ranked *)kernel_alloc(room * sizeof *classes, 4);
    size_t count = 99;
    REQUIRE(smr_answer_classify(&record, &outputs, classes, room, &count, NULL) == SAMARA_OK);
    CHECK(count <= room && count <= record.top && count <= (size_t)shape[1]);
    for (size_t i = 0; i < count; i++) {
      CHECK(!isnan(classes[i].score) && classes[i].index < (size_t)shape[1]);
      CHECK(!record.limited || classes[i].score > 0.25f);
      CHECK(i == 0 || smr_answer_better(&classes[i - 1], &classes[i]));
    }
    kernel_free(classes, 4);
    answer_free(&t);
  }
}

SMR_TEST(refuses) {
  static float data[6];
  samara_tensor t = {.data = data, .size_bytes = 24, .shape = {2, 3}, .rank = 2};
  t.dtype = SAMARA_FLOAT32;
  const struct smr_answer_outputs outputs = {&t, 1};
  struct smr_answer_classify record = {.top = 1};
  struct smr_answer_ranked best;
  size_t count;
  samara_error error;
  CHECK_EQ_INT(smr_answer_classify(&record, &outputs, &best, 1, &count, &error), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "has 2 axes longer than 1");
  t.shape[0] = 1;
  CHECK_EQ_INT(smr_answer_classify(&record, &outputs, &best, 0, &count, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "room for 0");
  record.top = 0;
  CHECK_EQ_INT(smr_answer_classify(&record, &outputs, &best, 1, &count, &error),
               SAMARA_BAD_ARGUMENT);
}

SMR_TEST_MAIN(RUN(as_the_reference); RUN(any_bytes); RUN(refuses))
