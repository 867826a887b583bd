// SPDX-License-Identifier: Apache-2.0
// Index values, axes and tiles of the operators that move elements.
#include "base/fp.h"

#include "ops/move.h"

#include "harness.h"

SMR_TEST(indices_count_from_either_end) {
  const struct smr_op op = {.name = "gather"};
  samara_error error = {0};
  const struct smr_job job = {.op = &op, .error = &error};
  size_t index = 99;
  CHECK_EQ_INT(smr_move_index(&job, 4, 0, 5, &index), SAMARA_OK);
  CHECK_EQ_INT(index, 4);
  CHECK_EQ_INT(smr_move_index(&job, -5, 0, 5, &index), SAMARA_OK);
  CHECK_EQ_INT(index, 0);
  CHECK_EQ_INT(smr_move_index(&job, 5, 17, 5, &index), SAMARA_BAD_DATA);
  CHECK_STR(error.text, "gather: index 5 at position 17 is out of range, expected -5 to 4");
  CHECK_EQ_INT(smr_move_index(&job, -6, 0, 5, &index), SAMARA_BAD_DATA);
  CHECK_EQ_INT(smr_move_index(&job, INT64_MIN, 0, INT64_MAX, &index), SAMARA_BAD_DATA);
  CHECK_EQ_INT(smr_move_index(&job, INT64_MAX, 0, 5, &index), SAMARA_BAD_DATA);
  CHECK_EQ_INT(smr_move_index(&job, 0, 3, 0, &index), SAMARA_BAD_DATA);
  CHECK_STR(error.text, "gather: index 0 at position 3, but the axis is empty");
  CHECK_EQ_INT(index, 0);
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

SMR_TEST_MAIN(RUN(indices_count_from_either_end); RUN(units_fill_tiles); RUN(strides_are_bytes))
