// SPDX-License-Identifier: Apache-2.0
// qadd, qmul and qlookup: broadcasting, values, and what files may say wrongly.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static const float scale[] = {0.5f}, huge[] = {3e38f};
static const int32_t zero_a[] = {3}, zero_b[] = {-20};

// Inputs of the dims, the output of their broadcast; parameters are given.
static void begin(struct op_test *t, const char *op, uint32_t a_rank, const int64_t *a_dims,
                  const int8_t *a, uint32_t b_rank, const int64_t *b_dims, const int8_t *b) {
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t rank = 0;
  op_begin(t, op);
  op_quant(t, op_in(t, SAMARA_QINT8, a_rank, a_dims, a), 1, scale, zero_a, -1);
  op_quant(t, op_in(t, SAMARA_QINT8, b_rank, b_dims, b), 1, scale, zero_b, -1);
  smr_broadcast_dims(dims, &rank, a_dims, a_rank);
  smr_broadcast_dims(dims, &rank, b_dims, b_rank);
  op_quant(t, op_out(t, SAMARA_QINT8, rank, dims), 1, scale, zero_a, -1);
}

static int8_t at_steps(double p, int zero) {
  const double q = rint(p) + zero;
  return (int8_t)(q < -128 ? -128 : q > 127 ? 127 : q);
}

// Of a [outer, rows, columns] and b of two dims, which are these or 1; they may change places.
static void check_binary(bool product, int64_t outer, int64_t rows, int64_t columns,
                         const int64_t *b_dims, bool swap) {
  const size_t n = (size_t)(outer * rows * columns), m = (size_t)(b_dims[0] * b_dims[1]);
  int8_t *a = malloc(n + 1), *b = malloc(m + 1), *want = malloc(n + 1);
  for (size_t i = 0; i < n; i++) a[i] = (int8_t)((int)(i * 37 % 251) - 125);
  for (size_t i = 0; i < m; i++) b[i] = (int8_t)((int)(i * 59 % 241) - 120);
  for (size_t i = 0; i < n; i++) {
    const size_t row = i / (size_t)columns % (size_t)rows, column = i % (size_t)columns;
    const size_t at =
        (b_dims[0] == 1 ? 0 : row) * (size_t)b_dims[1] + (b_dims[1] == 1 ? 0 : column);
    const int u = a[i] - (swap ? -20 : 3), v = b[at] - (swap ? 3 : -20);
    want[i] = product ? at_steps((double)((float)(u * v) * 0.25f), 4)
                      : at_steps((swap ? -3.0 * u + 5.0 * v : 5.0 * u - 3.0 * v) / 8, 4);
  }
  struct op_test t;
  const int64_t a_dims[3] = {outer, rows, columns};
  if (swap)
    begin(&t, product ? "qmul" : "qadd", 2, b_dims, b, 3, a_dims, a);
  else
    begin(&t, product ? "qmul" : "qadd", 3, a_dims, a, 2, b_dims, b);
  op_f32(&t, "scale", 1.0f);
  op_int(&t, "zero_point", 4);
  if (!product) {
    op_int(&t, "a_multiplier", 5);
    op_int(&t, "b_multiplier", -3);
    op_int(&t, "shift", 3);
  }
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, n);
  op_end(&t);
  free(a), free(b), free(want);
}

SMR_TEST(operands_broadcast) {
  for (int form = 0; form < 4; form++) {
    const bool product = form & 1, swap = form & 2;
    check_binary(product, 1, 1, 1, DIMS(1, 1), swap);
    check_binary(product, 2, 3, 33, DIMS(3, 33), swap);
    check_binary(product, 2, 3, 33, DIMS(1, 33), swap);
    check_binary(product, 2, 5, 70, DIMS(5, 1), swap);
    check_binary(product, 3, 5, 1001, DIMS(1, 1), swap);  // several tiles
    check_binary(product, 3, 5, 1001, DIMS(5, 1001), swap);
    check_binary(product, 0, 5, 7, DIMS(5, 1), swap);
  }
}

SMR_TEST(results_are_clamped) {
  static const int8_t a[] = {-128, -10, 3, 40, 127}, b[] = {-20};
  static const int8_t want[] = {-5, -5, 0, 37, 90};
  struct op_test t;
  begin(&t, "qadd", 1, DIMS(5), a, 0, NULL, b);
  op_int(&t, "a_multiplier", 1 << 20);
  op_int(&t, "b_multiplier", 1 << 20);
  op_int(&t, "shift", 20);
  op_int(&t, "lo", -5);
  op_int(&t, "hi", 90);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, sizeof want);
  op_end(&t);
}

SMR_TEST(lookup) {
  int8_t table[256], x[300], want[300];
  for (int i = 0; i < 256; i++) table[i] = (int8_t)(i * 7 % 256 - 128);
  for (int i = 0; i < 300; i++) x[i] = (int8_t)(i * 11 % 256 - 128);
  for (int i = 0; i < 300; i++) want[i] = table[x[i] + 128];
  struct op_test t;
  op_begin(&t, "qlookup");
  op_quant(&t, op_in(&t, SAMARA_QINT8, 2, DIMS(3, 100), x), 1, scale, zero_a, -1);
  op_in(&t, SAMARA_INT8, 1, DIMS(256), table);
  op_quant(&t, op_out(&t, SAMARA_QINT8, 2, DIMS(3, 100)), 1, scale, zero_b, -1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, sizeof want);
  op_end(&t);
}

static void refused_int(const char *op, const char *attr, int64_t value, const char *text) {
  struct op_test t;
  begin(&t, op, 1, DIMS(4), NULL, 1, DIMS(4), NULL);
  op_int(&t, attr, value);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, text);
  op_end(&t);
}

SMR_TEST(attributes_out_of_range_are_refused) {
  refused_int("qadd", "a_multiplier", (1 << 20) + 1, "more than 20 bits");
  refused_int("qadd", "b_multiplier", INT64_MIN, "more than 20 bits");
  refused_int("qadd", "shift", 127, "shift 127");
  refused_int("qadd", "shift", INT64_MIN, "expected -100 to 126");
  refused_int("qmul", "zero_point", 128, "zero point 128");
  refused_int("qmul", "lo", 128, "clamp from 128 to 127");
  refused_int("qadd", "hi", INT64_MAX, "clamp from");
}

SMR_TEST(wrong_tensors_are_refused) {
  static const float scales[] = {1, 2, 3, 4};
  static const int32_t zeros[] = {0, 0, 0, 0};
  struct op_test t;
  begin(&t, "qmul", 1, DIMS(4), NULL, 1, DIMS(4), NULL);
  t.in[0].quant = NULL;
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "a has 0 quantization parameters");
  op_end(&t);

  begin(&t, "qadd", 1, DIMS(4), NULL, 1, DIMS(4), NULL);
  op_quant(&t, &t.in[1], 4, scales, zeros, 0);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "b is quantized along axis 0");
  op_end(&t);

  begin(&t, "qmul", 1, DIMS(4), NULL, 1, DIMS(4), NULL);
  op_quant(&t, &t.in[0], 1, huge, zeros, -1);
  op_quant(&t, &t.in[1], 1, huge, zeros, -1);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "no float32 multiplier");
  op_end(&t);

  op_begin(&t, "qlookup");
  op_quant(&t, op_in(&t, SAMARA_QINT8, 1, DIMS(4), NULL), 1, scale, zero_a, -1);
  op_in(&t, SAMARA_INT8, 1, DIMS(255), NULL);
  op_quant(&t, op_out(&t, SAMARA_QINT8, 1, DIMS(4)), 1, scale, zero_b, -1);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "table has dims [255]");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(operands_broadcast); RUN(results_are_clamped); RUN(lookup);
              RUN(attributes_out_of_range_are_refused); RUN(wrong_tensors_are_refused))
