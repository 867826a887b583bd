// SPDX-License-Identifier: Apache-2.0
// where: broadcasting of three operands, every element size.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

SMR_TEST(broadcasts) {
  const uint8_t c[2] = {1, 0};
  const int64_t a[3] = {10, 20, 30};
  const int64_t b = -1;
  static const uint8_t dtypes[] = {SAMARA_INT64, SAMARA_INT32, SAMARA_INT8, SAMARA_FLOAT16};
  for (int i = 0; i < 4; i++) {
    const size_t size = smr_dtype_bytes(dtypes[i]);
    uint8_t narrow[24], want[48];
    for (int j = 0; j < 3; j++) memcpy(narrow + (size_t)j * size, &a[j], size);
    for (int j = 0; j < 6; j++) memcpy(want + (size_t)j * size, j < 3 ? &a[j] : &b, size);
    struct op_test t;
    op_begin(&t, "where");
    op_in(&t, SAMARA_BOOL, 2, DIMS(2, 1), c);
    op_in(&t, dtypes[i], 1, DIMS(3), narrow);
    op_in(&t, dtypes[i], 0, NULL, &b);
    op_out(&t, dtypes[i], 2, DIMS(2, 3));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, 6 * size);
    op_end(&t);
  }
}

SMR_TEST(many_tiles) {
  enum { N = 20000 };
  static uint8_t c[N];
  static float a[N], b[N];
  for (int i = 0; i < N; i++) c[i] = i % 3 == 0, a[i] = (float)i, b[i] = (float)-i;
  struct op_test t;
  op_begin(&t, "where");
  op_in(&t, SAMARA_BOOL, 1, DIMS(N), c);
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(N), a);
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(N), b);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(N));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const float *y = (const float *)t.out[0].data;
    for (int i = 0; i < N; i++) CHECK(y[i] == (i % 3 == 0 ? a[i] : b[i]));
  }
  op_end(&t);
}

SMR_TEST_MAIN(RUN(broadcasts); RUN(many_tiles))
