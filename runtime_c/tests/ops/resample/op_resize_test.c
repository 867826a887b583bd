// SPDX-License-Identifier: Apache-2.0
// resize: what it refuses. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void begin(struct op_test *t, uint8_t dtype, uint32_t rank, const int64_t *dims,
                  const int64_t *sizes, const void *data, const char *mode) {
  int64_t out[SAMARA_MAX_RANK];
  out[0] = dims[0];
  for (uint32_t i = 0; i < rank - 2; i++) out[i + 1] = sizes[i];
  out[rank - 1] = dims[rank - 1];
  op_begin(t, "resize");
  op_in(t, dtype, rank, dims, data);
  op_out(t, dtype, rank, out);
  op_ints(t, "sizes", rank - 2, sizes);
  op_enum(t, "mode", mode);
}

static int64_t bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

SMR_TEST(refuses) {
  struct op_test t;
  begin(&t, SAMARA_INT8, 3, DIMS(1, 2, 1), DIMS(4), NULL, "linear");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, SAMARA_FLOAT32, 3, DIMS(1, 0, 1), DIMS(4), NULL, "linear");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  static const float scales[] = {-1, INFINITY, NAN, -0.0f};
  for (int i = 0; i < 4; i++) {
    begin(&t, SAMARA_FLOAT32, 3, DIMS(1, 2, 1), DIMS(4), NULL, "linear");
    op_ints(&t, "scales", 1, DIMS(bits(scales[i])));
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
    op_end(&t);
  }
  begin(&t, SAMARA_FLOAT32, 3, DIMS(1, 2, 1), DIMS(4), NULL, "linear");
  op_enum(&t, "coordinate", "tf_crop_and_resize");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, SAMARA_FLOAT32, 3, DIMS(1, 2, 1), DIMS(4), NULL, "linear");
  op_int(&t, "coordinate", 7);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(refuses))
