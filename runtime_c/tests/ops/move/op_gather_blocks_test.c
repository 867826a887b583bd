// SPDX-License-Identifier: Apache-2.0
// gather_blocks: indices that are out of range. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

enum { ROWS = 3, WIDTH = 19, BLOCKS = 2 };  // an odd width: rows begin within bytes

static int32_t number(uint8_t dtype, size_t i) {
  const int32_t v = (int32_t)(i * 7 % 16);
  return dtype == SAMARA_UINT4 ? v : dtype == SAMARA_INT4 ? v - 8 : v * 15 - 120;
}

static void begin(struct op_test *t, uint8_t dtype, const int64_t *indices, bool shifted) {
  uint8_t bytes[ROWS * WIDTH] = {0};
  for (size_t i = 0; i < ROWS * WIDTH; i++) {
    const uint32_t q = (uint32_t)number(dtype, i);
    if (dtype == SAMARA_INT8)
      bytes[i] = (uint8_t)q;
    else
      bytes[i / 2] = (uint8_t)(bytes[i / 2] | (q & 15u) << i % 2 * 4);
  }
  const float scales[ROWS * BLOCKS] = {0.5f, 0.25f, 1, 2, 3, 0.125f};
  const uint8_t zeros[ROWS * BLOCKS] = {1, 2, 3, 4, 5, 6};
  op_begin(t, "gather_blocks");
  op_in(t, dtype, 2, DIMS(ROWS, WIDTH), bytes);
  op_in(t, SAMARA_FLOAT32, 2, DIMS(ROWS, BLOCKS), scales);
  op_in(t, SAMARA_INT64, 1, DIMS(2), indices);
  if (shifted) op_in(t, SAMARA_UINT8, 2, DIMS(ROWS, BLOCKS), zeros);
  op_out(t, SAMARA_FLOAT32, 2, DIMS(2, WIDTH));
  op_int(t, "block", 16);
}

SMR_TEST(indices_out_of_range) {
  struct op_test t;
  begin(&t, SAMARA_INT4, DIMS(0, 3), false);
  op_finish(&t, SAMARA_BAD_DATA, NULL);
  begin(&t, SAMARA_INT4, DIMS(-4, 0), false);
  op_finish(&t, SAMARA_BAD_DATA, NULL);
}

SMR_TEST_MAIN(RUN(indices_out_of_range))
