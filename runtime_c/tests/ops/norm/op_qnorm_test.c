// SPDX-License-Identifier: Apache-2.0
// qsoftmax, qlayer_norm and qrms_norm: axes, tiles, and what files may say wrongly.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static const float scale[] = {0.05f}, soft_scale[] = {1.0f / 256};
static const int32_t zero[] = {3}, soft_zero[] = {-128};

static void begin_softmax(struct op_test *t, uint32_t rank, const int64_t *dims, const int8_t *x) {
  uint32_t table[256];
  for (int d = 0; d < 256; d++) table[d] = (uint32_t)rint(exp(-d * 0.05) * 16777216.0);
  op_begin(t, "qsoftmax");
  op_quant(t, op_in(t, SAMARA_QINT8, rank, dims, x), 1, scale, zero, -1);
  op_in(t, SAMARA_UINT32, 1, DIMS(256), table);
  op_quant(t, op_out(t, SAMARA_QINT8, rank, dims), 1, soft_scale, soft_zero, -1);
}

// Probabilities along the middle of three axes, against doubles.
static void check_softmax(size_t outer, size_t n, size_t inner) {
  const size_t count = outer * n * inner;
  int8_t *x = malloc(count + 1);
  for (size_t i = 0; i < count; i++) x[i] = (int8_t)((int)(i * 97 % 211) - 100);
  struct op_test t;
  begin_softmax(&t, 3, DIMS((int64_t)outer, (int64_t)n, (int64_t)inner), x);
  op_int(&t, "axis", -2);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const int8_t *y = t.out[0].data;
    for (size_t g = 0; g < outer * inner; g++) {
      const size_t first = g / inner * n * inner + g % inner;
      double sum = 0;
      for (size_t i = 0; i < n; i++) sum += exp(0.05 * x[first + i * inner]);
      for (size_t i = 0; i < n; i++) {
        const double p = exp(0.05 * x[first + i * inner]) / sum;
        CHECK_NEAR((y[first + i * inner] + 128) / 256.0, p, p > 0.99 ? 1.5 / 256 : 0.501 / 256);
      }
    }
  }
  op_end(&t);
  free(x);
}

SMR_TEST(softmax_goes_along_its_axis) {
  check_softmax(3, 7, 1);
  check_softmax(40, 600, 1);  // several tiles
  check_softmax(2, 9, 300);
  check_softmax(2, 1, 5);
  check_softmax(0, 4, 3);
  check_softmax(3, 0, 3);
}

SMR_TEST(softmax_refuses_other_outputs_and_tables) {
  struct op_test t;
  begin_softmax(&t, 1, DIMS(4), NULL);
  op_quant(&t, &t.out[0], 1, scale, soft_zero, -1);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "expected 1/256 and -128");
  op_end(&t);

  begin_softmax(&t, 1, DIMS(4), NULL);
  t.in[1].dtype = SAMARA_INT32;
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "table cannot have dtype int32");
  op_end(&t);

  begin_softmax(&t, 1, DIMS(4), NULL);
  t.in[1].dims[0] = 255;
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "table has dims [255]");
  op_end(&t);
}

// Rows of `n` elements, the last two axes; scale and bias are in steps of the output.
static void begin_norm(struct op_test *t, const char *op, int64_t rows, int64_t n, const int8_t *x,
                       const float *by, const float *bias) {
  op_begin(t, op);
  op_quant(t, op_in(t, SAMARA_QINT8, 3, DIMS(rows, n / 2, 2), x), 1, scale, zero, -1);
  op_in(t, SAMARA_FLOAT32, 2, DIMS(n / 2, 2), by);
  if (bias != NULL) op_in(t, SAMARA_FLOAT32, 2, DIMS(n / 2, 2), bias);
  op_quant(t, op_out(t, SAMARA_QINT8, 3, DIMS(rows, n / 2, 2)), 1, scale, zero, -1);
  op_int(t, "axis", 1);
  op_f32(t, "eps", 0.5f);
  op_int(t, "zero_point", -7);
  op_int(t, "lo", -90);
}

static void check_norm(const char *op, size_t rows, size_t n, bool with_bias) {
  const bool centred = strcmp(op, "qlayer_norm") == 0;
  const double root = centred ? 1.0 : sqrt((double)n);
  int8_t *x = malloc(rows * n + 1);
  float *by = malloc(n * sizeof *by), *bias = malloc(n * sizeof *bias);
  for (size_t i = 0; i < rows * n; i++) x[i] = (int8_t)((int)(i * 97 % 211) - 100);
  for (size_t i = 0; i < n; i++) {
    by[i] = (float)((double)((int)(i % 9) - 3) * 10.1 * root);
    bias[i] = (float)(i % 5) * 2.3f;
  }
  struct op_test t;
  begin_norm(&t, op, (int64_t)rows, (int64_t)n, x, by, with_bias ? bias : NULL);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t r = 0; r < rows; r++) {
      const int8_t *row = x + r * n, *y = (const int8_t *)t.out[0].data + r * n;
      double mean = 0, square = 0;
      for (size_t i = 0; centred && i < n; i++) mean += row[i] / (double)n;
      if (!centred) mean = 3;  // the zero point
      for (size_t i = 0; i < n; i++) square += (row[i] - mean) * (row[i] - mean) / (double)n;
      for (size_t i = 0; i < n; i++) {
        const double unit = (row[i] - mean) / sqrt(square + 0.5);
        const double q = unit * (double)by[i] / root + (with_bias ? (double)bias[i] : 0.0) - 7;
        CHECK_NEAR(y[i], q < -90 ? -90 : q > 127 ? 127 : q, 0.501);
      }
    }
  op_end(&t);
  free(x), free(by), free(bias);
}

SMR_TEST(norms_go_over_the_last_axes) {
  check_norm("qlayer_norm", 3, 66, true);
  check_norm("qlayer_norm", 50, 768, false);  // several tiles
  check_norm("qlayer_norm", 2, 9000, true);
  check_norm("qlayer_norm", 0, 4, true);
  check_norm("qrms_norm", 3, 66, false);
  check_norm("qrms_norm", 50, 768, false);
}

SMR_TEST(norms_refuse_what_would_overflow) {
  struct op_test t;
  static const float none[4] = {0};
  for (int k = 0; k < 3; k++) {
    static const float eps[] = {0.0f, -1.0f, NAN};
    begin_norm(&t, "qlayer_norm", 2, 4, NULL, none, none);
    op_f32(&t, "eps", eps[k]);
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
    CHECK_CONTAINS(t.error.text, "expected a positive number");
    op_end(&t);
  }
  begin_norm(&t, "qrms_norm", 0, (1 << 22) + 2, NULL, NULL, NULL);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "rows of 4194306 elements");
  op_end(&t);

  begin_norm(&t, "qlayer_norm", 2, 4, NULL, none, none);
  t.in[2].dtype = SAMARA_INT32;
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "bias cannot have dtype int32");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(softmax_goes_along_its_axis); RUN(softmax_refuses_other_outputs_and_tables);
              RUN(norms_go_over_the_last_axes); RUN(norms_refuse_what_would_overflow))
