// SPDX-License-Identifier: Apache-2.0
// pad: what it refuses. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void begin(struct op_test *t, uint8_t dtype, uint32_t rank, const int64_t *dims,
                  const int64_t *pads, const char *mode, const void *data) {
  int64_t out[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) out[i] = dims[i] + pads[i] + pads[rank + i];
  op_begin(t, "pad");
  op_in(t, dtype, rank, dims, data);
  op_out(t, dtype, rank, out);
  op_ints(t, "pads", 2 * rank, pads);
  op_enum(t, "mode", mode);
}

SMR_TEST(refuses) {
  struct op_test t;
  begin(&t, SAMARA_INT32, 1, DIMS(3), DIMS(3, 0), "reflect", NULL);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, SAMARA_INT32, 1, DIMS(0), DIMS(1, 0), "edge", NULL);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, SAMARA_INT32, 1, DIMS(2), DIMS(-1, -1), "wrap", NULL);  // leaves nothing, asks nothing
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(refuses))
