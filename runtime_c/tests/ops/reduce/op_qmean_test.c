// SPDX-License-Identifier: Apache-2.0
// qmean: sums too long for int32 too, along rows and along columns.
#include "base/fp.h"

#include "ops/op_harness.h"

// Mean of [count, width] over axis 0, or of [width, count] over axis 1, all of one value.
static void check_constant(int64_t count, int64_t width, int axis, int8_t value, int8_t zero,
                           int8_t expected) {
  const float x_scale = 0.5f;
  const int32_t x_zero = zero;
  const size_t n = (size_t)(count * width);
  int8_t *x = (int8_t *)malloc(n);
  memset(x, value, n);
  struct op_test t;
  op_begin(&t, "qmean");
  op_in(&t, SAMARA_QINT8, 2, axis ? (int64_t[]){width, count} : (int64_t[]){count, width}, x);
  op_quant(&t, &t.in[0], 1, &x_scale, &x_zero, -1);
  op_out(&t, SAMARA_QINT8, 1, (int64_t[]){width});
  op_ints(&t, "axes", 1, (int64_t[]){axis});
  op_f32(&t, "scale", 1.0f);
  op_int(&t, "zero_point", -10);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    int right = 1;
    for (int64_t i = 0; i < width; i++)
      right = right && ((const int8_t *)t.out[0].data)[i] == expected;
    CHECK(right);
  }
  op_end(&t);
  free(x);
}

SMR_TEST(means_of_equals) {
  for (int axis = 0; axis < 2; axis++) {
    check_constant(1, 3, axis, 20, 0, 0);
    check_constant(7, 300, axis, 5, 0, -8);         // 2.5: to even
    check_constant(7, 300, axis, 7, 0, -6);         // 3.5: to even
    check_constant(300, 5, axis, -128, 127, -128);  // -127.5 - 10 saturates
    // More than int32 holds: 255 * 9000000 is above 2^31.
    check_constant(9000000, 1, axis, -8, 100, -64);
    check_constant(9000000, 1, axis, 127, -128, 118);
  }
  check_constant(8500000, 2, 0, 127, -128, 118);
}

SMR_TEST(nothing_has_mean_zero) {
  const float x_scale = 0.5f;
  const int32_t x_zero = 3;
  struct op_test t;
  op_begin(&t, "qmean");
  op_in(&t, SAMARA_QINT8, 2, (int64_t[]){0, 3}, NULL);
  op_quant(&t, &t.in[0], 1, &x_scale, &x_zero, -1);
  op_out(&t, SAMARA_QINT8, 1, (int64_t[]){3});
  op_ints(&t, "axes", 1, (int64_t[]){0});
  op_int(&t, "zero_point", -10);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) CHECK_MEM(t.out[0].data, "\xf6\xf6\xf6", 3);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(means_of_equals); RUN(nothing_has_mean_zero))
