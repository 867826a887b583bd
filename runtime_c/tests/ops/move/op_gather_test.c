// SPDX-License-Identifier: Apache-2.0
// gather, gather_elements and gather_nd: indices that are out of range, and other refusals.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

static void begin(struct op_test *t, const char *op, uint8_t dtype, uint32_t rank,
                  const int64_t *dims, uint8_t index_dtype, uint32_t index_rank,
                  const int64_t *index_dims, const int64_t *values, uint32_t out_rank,
                  const int64_t *out_dims) {
  int32_t narrow[64];
  size_t n = 1;
  for (uint32_t i = 0; i < index_rank; i++) n *= (size_t)index_dims[i];
  for (size_t i = 0; i < n && index_dtype == SAMARA_INT32; i++) narrow[i] = (int32_t)values[i];
  op_begin(t, op);
  op_in(t, dtype, rank, dims, NULL);
  op_in(t, index_dtype, index_rank, index_dims,
        index_dtype == SAMARA_INT32 ? (const void *)narrow : (const void *)values);
  op_out(t, dtype, out_rank, out_dims);
}

SMR_TEST(index_values_are_checked) {
  struct op_test t;
  begin(&t, "gather", SAMARA_FLOAT32, 1, DIMS(7), SAMARA_INT64, 1, DIMS(3), DIMS(0, 7, 1), 1,
        DIMS(3));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  CHECK_STR(t.error.text, "gather: index 7 at position 1 is out of range, expected -7 to 6");
  op_end(&t);
  begin(&t, "gather_elements", SAMARA_FLOAT32, 2, DIMS(2, 2), SAMARA_INT32, 2, DIMS(1, 2),
        DIMS(1, -3), 2, DIMS(1, 2));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  CHECK_STR(t.error.text,
            "gather_elements: index -3 at position 1 is out of range, expected -2 to 1");
  op_end(&t);
  begin(&t, "gather_nd", SAMARA_FLOAT32, 2, DIMS(2, 3), SAMARA_INT64, 2, DIMS(1, 2),
        DIMS(1, INT64_MIN), 1, DIMS(1));
  op_finish(&t, SAMARA_BAD_DATA, "at position 1 is out of range, expected -3 to 2");
}

SMR_TEST_MAIN(RUN(index_values_are_checked))
