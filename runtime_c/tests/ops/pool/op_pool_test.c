// SPDX-License-Identifier: Apache-2.0
// Pools: sums too long for int32, ties of dequantized averages, refusals.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

static void begin(struct op_test *t, const char *op, uint8_t dtype, uint32_t spatial,
                  const int64_t *in, const int64_t *out, const int64_t *kernel,
                  const int64_t *strides, const int64_t *dilations, const int64_t *pads,
                  const void *data) {
  op_begin(t, op);
  op_in(t, dtype, 2 + spatial, in, data);
  op_out(t, dtype, 2 + spatial, out);
  op_ints(t, "kernel", spatial, kernel);
  op_ints(t, "strides", spatial, strides);
  op_ints(t, "dilations", spatial, dilations);
  op_ints(t, "pads", 2 * spatial, pads);
}

SMR_TEST(refuses) {
  struct op_test t;
  begin(&t, "max_pool", SAMARA_INT32, 1, DIMS(1, 2, 1), DIMS(1, 1, 1), DIMS(2), DIMS(1), DIMS(1),
        DIMS(0, 0), NULL);
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  begin(&t, "max_pool", SAMARA_FLOAT32, 1, DIMS(1, 2, 1), DIMS(1, 2, 1), DIMS(2), DIMS(1), DIMS(1),
        DIMS(0, 0), NULL);
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  begin(&t, "lp_pool", SAMARA_FLOAT32, 1, DIMS(1, 2, 1), DIMS(1, 1, 1), DIMS(2), DIMS(1), DIMS(1),
        DIMS(0, 0), NULL);
  op_int(&t, "p", 0);
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  // As large as numbers in a file get: the window meets one element, nothing overflows.
  begin(&t, "avg_pool", SAMARA_FLOAT32, 3, DIMS(1, 1, 1, 1, 1), DIMS(1, 1, 1, 1, 1),
        DIMS(2, 1 << 30, INT32_MAX), DIMS(INT32_MAX, INT32_MAX, INT32_MAX),
        DIMS(INT32_MAX - 1, 1, 1), DIMS(INT32_MAX - 1, 1 << 29, 0, 0, 1 << 29, INT32_MAX - 1),
        (const float[]){3});
  op_int(&t, "count_include_pad", 1);
  op_finish(&t, SAMARA_OK, NULL);
}

// One window of equal elements, `taps` of them; they are more than int32 sums can hold.
static void check_qavg(int64_t taps, int8_t value, int8_t zero, int8_t expected) {
  const float x_scale = 0.5f;
  const int32_t x_zero = zero;
  int8_t *x = (int8_t *)malloc((size_t)taps);
  memset(x, value, (size_t)taps);
  struct op_test t;
  begin(&t, "qavg_pool", SAMARA_QINT8, 1, DIMS(1, taps, 1), DIMS(1, 1, 1), DIMS(taps), DIMS(1),
        DIMS(1), DIMS(0, 0), x);
  op_quant(&t, &t.in[0], 1, &x_scale, &x_zero, -1);
  op_ints(&t, "extend", 1, DIMS(0));
  op_f32(&t, "scale", 1.0f);
  op_int(&t, "zero_point", -10);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    CHECK_EQ_INT(((const int8_t *)t.out[0].data)[0], expected);
  op_end(&t);
  free(x);
}

SMR_TEST(quantized_average) {
  check_qavg(3, 5, 0, -8);  // 2.5: to even
  check_qavg(300, 127, -128, 118);
  check_qavg(9000000, 127, -128, 118);
  check_qavg(9000000, -8, 100, -64);
}

// The mean of four elements, in and out in steps of `scale`.
static samara_status run_four(struct op_test *t, const int8_t *x, int dequantized, float scale) {
  const int32_t zero = 0;
  begin(t, "qavg_pool", SAMARA_QINT8, 1, DIMS(1, 4, 1), DIMS(1, 1, 1), DIMS(4), DIMS(1), DIMS(1),
        DIMS(0, 0), x);
  op_quant(t, &t->in[0], 1, &scale, &zero, -1);
  op_ints(t, "extend", 1, DIMS(0));
  op_f32(t, "scale", scale);
  op_int(t, "dequantized", dequantized);
  return op_run(t);
}

// Tenths added in float32: what they give for a tie depends on their order.
SMR_TEST(dequantized_average) {
  static const struct {
    int8_t x[4], integer, dequantized;
  } ties[] = {
      {{0, 2, 13, 3}, 4, 5},  // 4.5000005
      {{3, 2, 0, 13}, 4, 4},  // 4.5
      {{0, 6, 15, 1}, 6, 5},  // 5.4999995
  };
  struct op_test t;
  for (size_t i = 0; i < sizeof ties / sizeof *ties; i++)
    for (int d = 0; d < 2; d++) {
      if (CHECK_EQ_INT(run_four(&t, ties[i].x, d, 0.1f), SAMARA_OK))
        CHECK_EQ_INT(((const int8_t *)t.out[0].data)[0], d ? ties[i].dequantized : ties[i].integer);
      op_end(&t);
    }
  CHECK_EQ_INT(run_four(&t, ties[0].x, 0, 0x1p65f), SAMARA_OK);
  op_end(&t);
  CHECK_EQ_INT(run_four(&t, ties[0].x, 1, 0x1p64f), SAMARA_OK);
  op_end(&t);
  CHECK_EQ_INT(run_four(&t, ties[0].x, 1, 0x1p65f), SAMARA_BAD_SHAPE);  // sums might overflow
  op_end(&t);
}

SMR_TEST_MAIN(RUN(refuses); RUN(quantized_average); RUN(dequantized_average))
