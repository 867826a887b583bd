// SPDX-License-Identifier: Apache-2.0
// Index values, axes and tiles of the operators that move elements.
#include "base/fp.h"

#include "ops/move/move.h"

#include "harness.h"

SMR_TEST(indices_count_from_either_end) {
  const struct smr_op op = {.name = "gather"};
  samara_error error = {0};
  const struct smr_job job = {.op = &op, .error = &error};
  size_t index = 99;
  CHECK_EQ_INT(smr_move_index(&job, 4, 0, 5, true, &index), SAMARA_OK);
  CHECK_EQ_INT(index, 4);
  CHECK_EQ_INT(smr_move_index(&job, -5, 0, 5, true, &index), SAMARA_OK);
  CHECK_EQ_INT(index, 0);
  CHECK_EQ_INT(smr_move_index(&job, 5, 17, 5, true, &index), SAMARA_BAD_DATA);
  CHECK_STR(error.text, "gather: index 5 at position 17 is out of range, expected -5 to 4");
  CHECK_EQ_INT(smr_move_index(&job, -6, 0, 5, true, &index), SAMARA_BAD_DATA);
  CHECK_EQ_INT(smr_move_index(&job, INT64_MIN, 0, INT64_MAX, true, &index), SAMARA_BAD_DATA);
  CHECK_EQ_INT(smr_move_index(&job, INT64_MAX, 0, 5, true, &index), SAMARA_BAD_DATA);
  CHECK_EQ_INT(smr_move_index(&job, 0, 3, 0, true, &index), SAMARA_BAD_DATA);
  CHECK_STR(error.text, "gather: index 0 at position 3, but the axis is empty");
  CHECK_EQ_INT(index, 0);
}

SMR_TEST(indices_that_may_not_be_negative) {
  const struct smr_op op = {.name = "gather"};
  samara_error error = {0};
  const struct smr_job job = {.op = &op, .error = &error};
  size_t index = 99, picks[3];
  CHECK_EQ_INT(smr_move_index(&job, 4, 0, 5, false, &index), SAMARA_OK);
  CHECK_EQ_INT(index, 4);
  CHECK_EQ_INT(smr_move_index(&job, -1, 2, 5, false, &index), SAMARA_BAD_DATA);
  CHECK_STR(error.text, "gather: index -1 at position 2 is out of range, expected 0 to 4");
  CHECK_EQ_INT(smr_move_index(&job, INT64_MIN, 0, 5, false, &index), SAMARA_BAD_DATA);
  CHECK_EQ_INT(smr_move_index(&job, -1, 0, 0, false, &index), SAMARA_BAD_DATA);
  CHECK_EQ_INT(index, 4);
  int64_t wide[] = {4, 0, -1};
  int32_t narrow[] = {4, 0, -1};
  const struct smr_tensor tensors[] = {{.dtype = SAMARA_INT64, .data = wide},
                                       {.dtype = SAMARA_INT32, .data = narrow}};
  for (size_t t = 0; t < 2; t++) {
    CHECK_EQ_INT(smr_move_indices(&job, &tensors[t], 0, 2, 5, false, picks), SAMARA_OK);
    CHECK_EQ_INT(picks[0], 4);
    CHECK_EQ_INT(smr_move_indices(&job, &tensors[t], 0, 3, 5, false, picks), SAMARA_BAD_DATA);
    CHECK_STR(error.text, "gather: index -1 at position 2 is out of range, expected 0 to 4");
  }
}

SMR_TEST(units_fill_tiles) {
  struct smr_job job = {0};
  struct smr_units units = smr_units_make(&job, 1000, 1024);
  CHECK_EQ_INT(units.per_tile, 32);
  CHECK_EQ_INT(job.tiles, 32);
  CHECK_EQ_INT(smr_units_begin(&units, 31), 992);
  CHECK_EQ_INT(smr_units_begin(&units, 32), 1000);
  units = smr_units_make(&job, 3, 1 << 20);
  CHECK_EQ_INT(units.per_tile, 1);
  CHECK_EQ_INT(job.tiles, 3);
  units = smr_units_make(&job, 0, 4);
  CHECK_EQ_INT(job.tiles, 0);
  units = smr_units_make(&job, 5, 0);
  CHECK_EQ_INT(job.tiles, 1);
}

SMR_TEST(strides_are_bytes) {
  const struct smr_tensor t = {.dtype = SAMARA_INT64, .rank = 3, .dims = {2, 3, 5}};
  size_t strides[SAMARA_MAX_RANK];
  smr_dense_strides(&t, strides);
  CHECK_EQ_INT(strides[0], 120);
  CHECK_EQ_INT(strides[1], 40);
  CHECK_EQ_INT(strides[2], 8);
  struct smr_tensor apart = t;
  apart.pixel_stride = 9;
  smr_move_strides(&apart, strides);
  CHECK_EQ_INT(strides[0], 216);
  CHECK_EQ_INT(strides[1], 72);
  CHECK_EQ_INT(strides[2], 8);
  CHECK_EQ_INT(smr_extent(&t, 1, 3), 15);
  CHECK_EQ_INT(smr_extent(&t, 3, 3), 1);
}

SMR_TEST(rows_of_indices) {
  const struct smr_op op = {.name = "gather"};
  samara_error error = {0};
  const struct smr_job job = {.op = &op, .error = &error};
  int64_t wide[] = {9, 4, -5, 0, -1};
  int32_t narrow[] = {9, 4, -5, 0, -1};
  const struct smr_tensor tensors[] = {{.dtype = SAMARA_INT64, .data = wide},
                                       {.dtype = SAMARA_INT32, .data = narrow}};
  static const size_t want[] = {4, 0, 0, 4};
  for (size_t t = 0; t < 2; t++) {
    size_t picks[4];
    CHECK_EQ_INT(smr_move_indices(&job, &tensors[t], 1, 4, 5, true, picks), SAMARA_OK);
    CHECK_MEM(picks, want, sizeof want);
    CHECK_EQ_INT(smr_move_indices(&job, &tensors[t], 0, 4, 5, true, picks), SAMARA_BAD_DATA);
    CHECK_STR(error.text, "gather: index 9 at position 0 is out of range, expected -5 to 4");
    CHECK_EQ_INT(smr_move_indices(&job, &tensors[t], 1, 4, 4, true, picks), SAMARA_BAD_DATA);
    CHECK_STR(error.text, "gather: index 4 at position 1 is out of range, expected -4 to 3");
    // Elements 4, 0, 0 and 4 along an axis of stride 3 elements, each a step further.
    char data[(3 * 4 + 4) * 16], dst[4 * 16];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (char)i;
    for (size_t element = 1; element <= 16; element += element < 4 ? 1 : 4) {
      smr_move_pick(4, want, data, 3 * element, element, element, dst);
      for (size_t j = 0; j < 4; j++)
        CHECK_MEM(dst + j * element, data + (want[j] * 3 + j) * element, element);
    }
  }
}

SMR_TEST_MAIN(RUN(rows_of_indices); RUN(indices_count_from_either_end);
              RUN(indices_that_may_not_be_negative); RUN(units_fill_tiles); RUN(strides_are_bytes))
