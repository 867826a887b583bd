// SPDX-License-Identifier: Apache-2.0
// qresize: a known answer, and taps that a file may hold but must not.
#include "base/fp.h"

#include "ops/op_harness.h"

static const int8_t known[] = {0, 100, -100, 50, 20, -20};  // [1, 2, 3, 1]

static void begin(struct op_test *t, const int32_t *down, const int32_t *across) {
  static const float scale = 1.0f;
  static const int32_t zero = 0;
  op_begin(t, "qresize");
  op_in(t, SAMARA_QINT8, 4, (int64_t[]){1, 2, 3, 1}, known);
  op_quant(t, &t->in[0], 1, &scale, &zero, -1);
  op_in(t, SAMARA_INT32, 2, (int64_t[]){1, 3}, down);
  op_in(t, SAMARA_INT32, 2, (int64_t[]){2, 3}, across);
  op_out(t, SAMARA_QINT8, 4, (int64_t[]){1, 1, 2, 1});
}

SMR_TEST(interpolates) {
  struct op_test t;
  // Halves of rows 0 and 1: 25, 60, -60; then 25 to 60 by a quarter, and -60.
  begin(&t, (int32_t[]){0, 1, 1024}, (int32_t[]){0, 1, 512, 2, 2, 2048});
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    CHECK_EQ_INT(((const int8_t *)t.out[0].data)[0], 34);  // 33.75
    CHECK_EQ_INT(((const int8_t *)t.out[0].data)[1], -60);
  }
  op_end(&t);
}

static void check_refused(const int32_t *down, const int32_t *across, const char *text) {
  struct op_test t;
  begin(&t, down, across);
  op_finish(&t, SAMARA_BAD_DATA, text);
}

SMR_TEST(bad_taps) {
  const int32_t down[] = {0, 1, 1024}, across[] = {0, 1, 512, 2, 2, 2048};
  check_refused((int32_t[]){2, 1, 0}, across, "taps_0 holds (2, 1, 0)");
  check_refused((int32_t[]){0, -1, 0}, across, "two indices below 2");
  check_refused((int32_t[]){0, 1, 2049}, across, "taps_0 holds (0, 1, 2049)");
  check_refused((int32_t[]){0, 1, -1}, across, "weight up to 2048");
  check_refused(down, (int32_t[]){0, 1, 512, 2, 3, 0}, "taps_1 holds (2, 3, 0)");
  check_refused(down, (int32_t[]){INT32_MIN, 1, 512, 2, 2, 0}, "two indices below 3");
}

SMR_TEST_MAIN(RUN(interpolates); RUN(bad_taps))
