// SPDX-License-Identifier: Apache-2.0
// scatter_elements and scatter_nd: indices that are out of range. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

static void begin(struct op_test *t, const char *op, uint8_t dtype, uint32_t rank,
                  const int64_t *dims, const void *x, uint32_t index_rank,
                  const int64_t *index_dims, const int64_t *indices, uint32_t update_rank,
                  const int64_t *update_dims, const void *updates, const char *reduction) {
  op_begin(t, op);
  op_in(t, dtype, rank, dims, x);
  op_in(t, SAMARA_INT64, index_rank, index_dims, indices);
  op_in(t, dtype, update_rank, update_dims, updates);
  op_out(t, dtype, rank, dims);
  op_enum(t, "reduction", reduction);
}

SMR_TEST(index_values_are_checked) {
  struct op_test t;
  begin(&t, "scatter_elements", SAMARA_FLOAT32, 1, DIMS(3), NULL, 1, DIMS(1), DIMS(-4), 1, DIMS(1),
        NULL, "none");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  CHECK_STR(t.error.text,
            "scatter_elements: index -4 at position 0 is out of range, expected -3 to 2");
  op_end(&t);
  begin(&t, "scatter_nd", SAMARA_FLOAT32, 2, DIMS(3, 2), NULL, 2, DIMS(1, 2), DIMS(0, 2), 1,
        DIMS(1), NULL, "none");
  op_finish(&t, SAMARA_BAD_DATA, NULL);
}

SMR_TEST_MAIN(RUN(index_values_are_checked))
