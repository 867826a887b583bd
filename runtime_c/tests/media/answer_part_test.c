// SPDX-License-Identifier: Apache-2.0
// Tests parts of records: channels of outputs that follow each other.
#include "base/fp.h"

#include "media/answer_part.h"

#include "harness.h"

// Element (row, channel) is 10 * row + channel, in rows and in columns.
static float by_rows[2 * 3], by_columns[3 * 2];

static samara_tensor tensor(float *data, int32_t rank, int64_t a, int64_t b, int64_t c) {
  return (samara_tensor){.data = data,
                         .size_bytes = sizeof by_rows,
                         .shape = {a, b, c},
                         .rank = rank,
                         .dtype = SAMARA_FLOAT32};
}

static void fill(void) {
  for (int32_t row = 0; row < 2; row++)
    for (int32_t channel = 0; channel < 3; channel++)
      by_rows[3 * row + channel] = by_columns[2 * channel + row] = (float)(10 * row + channel);
}

static void check_rows(const samara_tensor *tensors, bool channels_first) {
  const struct smr_answer_outputs outputs = {tensors, 2};
  const struct smr_answer_part part = {.count = 2, .outputs = {1, 0}, .begin = 1};
  struct smr_answer_rows rows;
  REQUIRE(smr_answer_rows_open(&part, &outputs, channels_first, "part", &rows, NULL) == SAMARA_OK);
  CHECK(rows.rows == 4 && rows.begin == 1 && rows.channels == 2 && rows.all_channels == 3);
  // Rows 0 and 1 are those of output 1, rows 2 and 3 those of output 0: the same numbers.
  float y[3] = {-1, -1, -1};
  smr_answer_rows_load(&rows, 2, 1, 3, y);
  CHECK(y[0] == 12 && y[1] == 2 && y[2] == 12);
  smr_answer_rows_load(&rows, 1, 3, 1, y);
  CHECK(y[0] == 11 && y[1] == 2);
}

SMR_TEST(loads_across_outputs) {
  fill();
  const samara_tensor rows[] = {tensor(by_rows, 3, 1, 2, 3), tensor(by_rows, 2, 2, 3, 0)};
  const samara_tensor columns[] = {tensor(by_columns, 3, 1, 3, 2), tensor(by_columns, 2, 3, 2, 0)};
  check_rows(rows, false);
  check_rows(columns, true);
}

SMR_TEST(refuses) {
  samara_tensor tensors[] = {tensor(by_rows, 3, 1, 2, 3), tensor(by_rows, 3, 1, 3, 2)};
  const struct smr_answer_outputs outputs = {tensors, 2};
  struct smr_answer_rows rows;
  samara_error error;
  struct smr_answer_part part = {.count = 0};
  CHECK_EQ_INT(smr_answer_rows_open(&part, &outputs, false, "part", &rows, &error), SAMARA_OK);
  CHECK(rows.rows == 0 && rows.channels == 0);
  part = (struct smr_answer_part){.count = 17};
  CHECK_EQ_INT(smr_answer_rows_open(&part, &outputs, false, "part", &rows, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "part has 17 outputs, expected up to 16");
  part = (struct smr_answer_part){.count = 2, .outputs = {0, 1}};
  CHECK_EQ_INT(smr_answer_rows_open(&part, &outputs, false, "part", &rows, &error),
               SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "output 1 has 2 channels");
  static const uint32_t ranges[][2] = {{3, 0}, {2, 2}, {0, 4}, {UINT32_MAX, 0}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    part = (struct smr_answer_part){.count = 1, .begin = ranges[i][0], .end = ranges[i][1]};
    CHECK_EQ_INT(smr_answer_rows_open(&part, &outputs, false, "part", &rows, &error),
                 SAMARA_BAD_SHAPE);
  }
  part = (struct smr_answer_part){.count = 1, .outputs = {2}};
  CHECK_EQ_INT(smr_answer_rows_open(&part, &outputs, false, "part", &rows, &error),
               SAMARA_BAD_ARGUMENT);
  part = (struct smr_answer_part){.count = 1};
  tensors[0].shape[0] = 2, tensors[0].shape[1] = 1;
  CHECK_EQ_INT(smr_answer_rows_open(&part, &outputs, false, "part", &rows, &error),
               SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "a batch of 1");
  tensors[0] = tensor(by_rows, 1, 6, 0, 0);
  CHECK_EQ_INT(smr_answer_rows_open(&part, &outputs, false, "part", &rows, &error),
               SAMARA_BAD_SHAPE);
}

SMR_TEST_MAIN(RUN(loads_across_outputs); RUN(refuses))
