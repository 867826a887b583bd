// SPDX-License-Identifier: Apache-2.0
// bitcast: what it refuses. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

static samara_status bitcast_status(uint8_t from, uint8_t to, int64_t attr) {
  const uint64_t x[2] = {0x3ff0000000000000u, 1};
  struct op_test t;
  op_begin(&t, "bitcast");
  op_in(&t, from, 1, DIMS(2), x);
  op_out(&t, to, 1, DIMS(2));
  op_int(&t, "to", attr);
  const samara_status status = op_run(&t);
  if (status == SAMARA_OK) op_expect_bytes(&t, 0, x, t.out[0].size_bytes);
  op_end(&t);
  return status;
}

SMR_TEST(bits) {
  CHECK_EQ_INT(bitcast_status(SAMARA_INT64, SAMARA_FLOAT64, SAMARA_FLOAT64), SAMARA_OK);
  CHECK_EQ_INT(bitcast_status(SAMARA_UINT16, SAMARA_FLOAT16, SAMARA_FLOAT16), SAMARA_OK);
  CHECK_EQ_INT(bitcast_status(SAMARA_INT64, SAMARA_FLOAT32, SAMARA_FLOAT32), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT(bitcast_status(SAMARA_INT64, SAMARA_FLOAT64, SAMARA_UINT64), SAMARA_BAD_SHAPE);
}

SMR_TEST_MAIN(RUN(bits))
