// SPDX-License-Identifier: Apache-2.0
// Tests masks: the reference's bits, any bytes of outputs, and what is refused.
#include "base/fp.h"

#include "media/answer_mask.h"

#include "harness.h"
#include "media/answer_data.h"

struct mask_case {
  struct smr_answer_mask record;
  struct smr_answer_outputs outputs;
  struct smr_answer_geometry geometry;
  size_t element_bytes, words;
  const uint32_t *want;  // the class of each pixel
};
#include "media/answer_mask_cases.inc"

static uint32_t mask_at(const void *classes, size_t element_bytes, size_t index) {
  return element_bytes == 1 ? ((const uint8_t *)classes)[index]
                            : ((const uint16_t *)classes)[index];
}

static void check_case(const struct mask_case *c) {
  struct smr_answer_mask_size size;
  REQUIRE(smr_answer_mask_size(&c->record, &c->outputs, &c->geometry, &size, NULL) == SAMARA_OK);
  REQUIRE(size.element_bytes == c->element_bytes);
  REQUIRE(size.classes_bytes == c->words * c->element_bytes);
  void *scratch = kernel_alloc(size.scratch_bytes, 8);
  void *classes = kernel_alloc(size.classes_bytes, 8);
  CHECK_EQ_INT(smr_answer_mask(&c->record, &c->outputs, &c->geometry, scratch, size.scratch_bytes,
                               classes, size.classes_bytes, NULL),
               SAMARA_OK);
  for (size_t i = 0; i < c->words; i++)
    CHECK_EQ_INT(mask_at(classes, size.element_bytes, i), c->want[i]);
  kernel_free(scratch, 8);
  kernel_free(classes, 8);
}

SMR_TEST(as_the_reference) {
  for (size_t k = 0; k < sizeof mask_cases / sizeof *mask_cases; k++) check_case(&mask_cases[k]);
}

SMR_TEST(any_bytes) {
  uint32_t seed = 1, made = 0, data = 0;
  for (uint32_t k = 0; k < 3000; k++) {
    struct smr_answer_mask record = {.layout = (enum smr_answer_layout)answer_below(3, &seed),
                                     .sigmoid = answer_below(2, &seed) != 0,
                                     .limited = answer_below(2, &seed) != 0,
                                     .threshold = 1.5f};
    const bool flat = record.layout == SMR_ANSWER_NHW;
    const int64_t shape[] = {1, 1 + answer_below(9, &seed), 1 + answer_below(9, &seed),
                             1 + answer_below(9, &seed)};
    samara_tensor t = answer_random(flat ? 3 : 4, shape, &seed);
    const struct smr_answer_outputs outputs = {&t, 1};
    const struct smr_answer_geometry g = answer_picture(
        1 + (int32_t)answer_below(40, &seed), 1 + (int32_t)answer_below(40, &seed), &seed);
    struct smr_answer_mask_size size;
    if (smr_answer_mask_size(&record, &outputs, &g, &size, NULL) == SAMARA_OK) {
      void *scratch = kernel_alloc(size.scratch_bytes, 8);
      void *classes = kernel_alloc(size.classes_bytes, 8);
      const samara_status status = smr_answer_mask(
          &record, &outputs, &g, scratch, size.scratch_bytes, classes, size.classes_bytes, NULL);
      // Random class numbers may be none.
      CHECK(status == SAMARA_OK || (status == SAMARA_BAD_DATA && flat && !record.limited));
      made += status == SAMARA_OK;
      data += status == SAMARA_BAD_DATA;
      kernel_free(scratch, 8);
      kernel_free(classes, 8);
    }
    answer_free(&t);
  }
  CHECK(made > 500 && data > 100);
}

SMR_TEST(refuses) {
  static float data[12];
  static int32_t numbers[4] = {0, 65534, 65535, 0};
  samara_tensor t = {.data = data, .size_bytes = 48, .shape = {1, 3, 2, 2}, .rank = 4};
  t.dtype = SAMARA_FLOAT32;
  const struct smr_answer_outputs outputs = {&t, 1};
  struct smr_answer_geometry g = {2, 2, {0, 0, 2, 2}, 0, false, {2, 2}, {0, 0}, {2, 2}};
  struct smr_answer_mask record = {.output = 0};
  struct smr_answer_mask_size size;
  int64_t scratch[20];
  uint16_t classes[4];
  samara_error error;
  CHECK_EQ_INT(smr_answer_mask_size(&record, &outputs, &g, &size, &error), SAMARA_OK);
  CHECK_EQ_INT(smr_answer_mask(&record, &outputs, &g, scratch, size.scratch_bytes - 1, classes,
                               size.classes_bytes, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(smr_answer_mask(&record, &outputs, &g, scratch, size.scratch_bytes, classes,
                               size.classes_bytes - 1, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "a mask in 3 bytes");
  CHECK_EQ_INT(smr_answer_mask(&record, &outputs, &g, (char *)scratch + 4, size.scratch_bytes,
                               classes, size.classes_bytes, &error),
               SAMARA_BAD_ARGUMENT);
  record.limited = true;
  CHECK_EQ_INT(smr_answer_mask_size(&record, &outputs, &g, &size, &error), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "3 channels, expected one, for a threshold");
  record.limited = false;
  t.shape[0] = 3, t.shape[1] = 1;
  CHECK_EQ_INT(smr_answer_mask_size(&record, &outputs, &g, &size, &error), SAMARA_BAD_SHAPE);
  record.layout = SMR_ANSWER_NHW;
  t.rank = 3, t.shape[0] = 1, t.shape[1] = t.shape[2] = 2;
  CHECK_EQ_INT(smr_answer_mask_size(&record, &outputs, &g, &size, &error), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "has floats, expected integers");
  t.dtype = SAMARA_INT32, t.data = numbers, t.size_bytes = 16;
  CHECK_EQ_INT(smr_answer_mask_size(&record, &outputs, &g, &size, &error), SAMARA_OK);
  CHECK_EQ_INT(smr_answer_mask(&record, &outputs, &g, scratch, sizeof scratch, classes,
                               sizeof classes, &error),
               SAMARA_BAD_DATA);
  CHECK_CONTAINS(error.text, "class 65535 in element 2 of a mask, expected 0 to 65534");
  g.width = 1;
  CHECK_EQ_INT(smr_answer_mask_size(&record, &outputs, &g, &size, &error), SAMARA_BAD_ARGUMENT);
  // A side too long, in memory that is said to be there: nothing is read.
  g.width = 2;
  t.shape[1] = 1 << 20, t.size_bytes = SIZE_MAX;
  CHECK_EQ_INT(smr_answer_mask_size(&record, &outputs, &g, &size, &error), SAMARA_BAD_SHAPE);
}

SMR_TEST_MAIN(RUN(as_the_reference); RUN(any_bytes); RUN(refuses))
