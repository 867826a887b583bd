// SPDX-License-Identifier: Apache-2.0
// Refusals of integer products, and the sources of their weights and sums.
#include "base/fp.h"

#include "ops/matmul/qlinear.h"

#include "ops/matmul/qlinear_data.h"

#include <float.h>

static const int64_t x_dims[2] = {3, 6}, w_dims[2] = {6, 20}, y_dims[2] = {3, 20};

static void begin(struct op_test *t, const struct q_columns *q, enum q_form form, int extra) {
  op_begin(t, "qmatmul");
  q_tensors(t, q, form, extra, 2, x_dims, NULL, 2, w_dims, NULL, 1, 2, y_dims);
}

static void refused(struct op_test *t, const char *text) { op_finish(t, SAMARA_BAD_SHAPE, text); }

SMR_TEST(dtypes) {
  const struct q_columns q = q_columns(0);
  struct op_test t;
  begin(&t, &q, Q_PLAIN, Q_BIAS);
  t.in[0].dtype = SAMARA_INT8;
  refused(&t, "x cannot have dtype int8");
  begin(&t, &q, Q_PLAIN, Q_BIAS);
  t.in[1].dtype = SAMARA_UINT8;
  refused(&t, "w cannot have dtype uint8");
  begin(&t, &q, Q_PLAIN, Q_BIAS);
  t.in[2].dtype = SAMARA_FLOAT32;
  refused(&t, "bias cannot have dtype float32");
  begin(&t, &q, Q_PLAIN, 0);
  t.out[0].dtype = SAMARA_INT8;
  refused(&t, "output cannot have dtype int8");
  begin(&t, &q, Q_PLAIN, 0);
  op_int(&t, "to", SAMARA_INT32);
  refused(&t, "not that of `to`");
}

SMR_TEST(parameters) {
  struct q_columns q = q_columns(Q_PER_AXIS);
  struct op_test t;
  begin(&t, &q, Q_PLAIN, 0);
  t.in[0].quant = NULL;
  refused(&t, "x has 0 quantization parameters");
  begin(&t, &q, Q_PLAIN, 0);
  op_quant(&t, &t.in[0], 3, q.scales, q.zeros, 0);
  refused(&t, "x is quantized along axis 0");
  begin(&t, &q, Q_PLAIN, 0);
  op_quant(&t, &t.in[1], 6, q.scales, q.zeros, 0);
  refused(&t, "w is quantized along axis 0, expected one scale or axis 1");
  begin(&t, &q, Q_PLAIN, Q_PER_AXIS);
  t.quants[1].count = 19;
  refused(&t, "w has 19 quantization parameters");
  q.zeros[19] = 128;
  begin(&t, &q, Q_PLAIN, Q_PER_AXIS);
  refused(&t, "zero point 128");
  q = q_columns(Q_PER_AXIS);
  q.scales[7] = FLT_MAX;
  q.x_scale[0] = 2;
  begin(&t, &q, Q_PLAIN, Q_PER_AXIS);
  refused(&t, "have no float32 multiplier");
}

SMR_TEST(outputs) {
  const struct q_columns q = q_columns(0);
  static const struct {
    const char *attr;
    int64_t value;
    const char *text;
  } rows[] = {{"zero_point", 128, "zero point 128"},
              {"zero_point", -129, "zero point -129"},
              {"lo", -129, "clamp from -129"},
              {"hi", 128, "to 128"},
              {"hi", -40, "lo <= hi"}};
  struct op_test t;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    begin(&t, &q, Q_PLAIN, 0);
    op_int(&t, "lo", -39);
    op_int(&t, rows[i].attr, rows[i].value);
    refused(&t, rows[i].text);
  }
  const float scales[] = {0, -1, NAN, INFINITY, 1e-40f};
  for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
    begin(&t, &q, Q_PLAIN, 0);
    op_f32(&t, "scale", scales[i]);
    refused(&t, "the output has scale");
  }
}

SMR_TEST(sums_fit) {
  struct q_columns q = q_columns(0);
  // 133 * 128 is the largest product.
  q.bias[3] = INT32_MAX - 6 * 133 * 128;
  struct op_test t;
  begin(&t, &q, Q_PLAIN, Q_BIAS);
  op_finish(&t, SAMARA_OK, NULL);
  q.bias[3] = -q.bias[3] - 1;
  begin(&t, &q, Q_PLAIN, Q_BIAS);
  refused(&t, "sums of 6 products of up to 17024 and a bias of 2147381504 may leave int32");
  // With a computed bias, or sums as output, they wrap modulo 2^32.
  begin(&t, &q, Q_RUNTIME, Q_BIAS);
  op_finish(&t, SAMARA_OK, NULL);
  begin(&t, &q, Q_PLAIN, Q_BIAS | Q_SUMS);
  op_finish(&t, SAMARA_OK, NULL);
  q.bias[3] = INT32_MIN;
  begin(&t, &q, Q_PLAIN, Q_BIAS);
  refused(&t, "a bias of 2147483648");
}

SMR_TEST(derived) {
  const struct q_columns q = q_columns(0);
  struct op_test t;
  begin(&t, &q, Q_RUNTIME, 0);
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  CHECK_EQ_INT(t.job.derived[0].input, -1);
  op_end(&t);
  // Two panels of two groups of four rows, and the sums of 32 columns.
  begin(&t, &q, Q_PLAIN, 0);
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  CHECK_EQ_INT(t.job.derived[0].size_bytes, 2 * 128 + 32 * 4);
  op_end(&t);
  begin(&t, &q, Q_PACKED, 0);
  q_pack(&t, false, 1, 6, 20, 20, 1);
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  CHECK_EQ_INT(t.job.derived[0].size_bytes, 32 * 4);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(dtypes); RUN(parameters); RUN(outputs); RUN(sums_fit); RUN(derived))
