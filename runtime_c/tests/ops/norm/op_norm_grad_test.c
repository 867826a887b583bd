// SPDX-License-Identifier: Apache-2.0
// layer_norm_grad and rms_norm_grad against the definition, in phases cut anywhere.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }
#define EPS 0.01

// dx of a row, and its share in dscale.
static void define_row(const float *dy, const float *x, const float *scale, size_t n, bool centred,
                       double *dx, double *dscale) {
  double mean = 0, var = 0, plain = 0, product = 0;
  for (size_t i = 0; centred && i < n; i++) mean += (double)x[i] / (double)n;
  for (size_t i = 0; i < n; i++) var += pow((double)x[i] - mean, 2) / (double)n;
  const double r = 1 / sqrt(var + EPS);
  for (size_t i = 0; i < n; i++) {
    const double h = (double)dy[i] * (scale ? (double)scale[i] : 1);
    plain += centred ? h / (double)n : 0;
    product += h * ((double)x[i] - mean) * r / (double)n;
  }
  for (size_t i = 0; i < n; i++) {
    const double h = (double)dy[i] * (scale ? (double)scale[i] : 1);
    const double unit = ((double)x[i] - mean) * r;
    dx[i] = r * (h - plain - unit * product);
    dscale[i] += (double)dy[i] * unit;
  }
}

static void expect(const struct op_test *t, const float *dy, const float *x, const float *scale,
                   size_t rows, size_t n, bool centred) {
  double *dx = calloc(n, sizeof *dx), *dscale = calloc(n, sizeof *dscale);
  const bool half = t->out[0].dtype == SAMARA_FLOAT16;
  for (size_t r = 0; r < rows; r++) {
    define_row(dy + r * n, x + r * n, scale, n, centred, dx, dscale);
    for (size_t i = 0; i < n; i++)
      if (!CHECK_NEAR(linear_out(t, r * n + i), dx[i], half ? 2e-2 : 1e-5)) break;
  }
  for (size_t i = 0; i < n && !half; i++) {
    double dbias = 0;
    for (size_t r = 0; r < rows; r++) dbias += (double)dy[r * n + i];
    CHECK_NEAR(((const float *)t->out[1].data)[i], dscale[i], 1e-5 * (1 + fabs(dscale[i])));
    if (centred) CHECK_NEAR(((const float *)t->out[2].data)[i], dbias, 1e-5 * (1 + fabs(dbias)));
  }
  free(dx), free(dscale);
}

static void run_case(const char *op, size_t rows, size_t n, bool scaled, uint8_t dtype,
                     uint32_t isa) {
  float *dy = linear_floats(rows * n, 1), *x = linear_floats(rows * n, 2);
  float *scale = linear_floats(n, 3);
  const bool centred = strcmp(op, "layer_norm_grad") == 0;
  const int64_t *dims = DIMS((int64_t)rows, (int64_t)n, 1);
  struct op_test t;
  op_begin(&t, op);
  t.job.isa &= isa;
  op_int(&t, "axis", 1);
  op_f32(&t, "eps", (float)EPS);
  linear_in(&t, dtype, 3, dims, dy);
  linear_in(&t, dtype, 3, dims, x);
  if (scaled) linear_in(&t, dtype, 2, dims + 1, scale);
  op_out(&t, dtype, 3, dims);
  for (int i = 0; i < 1 + centred; i++) op_out(&t, dtype, 2, dims + 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    expect(&t, dy, x, scaled ? scale : NULL, rows, n, centred);
  op_end(&t);
  free(dy), free(x), free(scale);
}

SMR_TEST(rows) {
  static const char *const ops[] = {"layer_norm_grad", "rms_norm_grad"};
  static const size_t sizes[][2] = {{1, 1}, {5, 7}, {70, 33}, {600, 5}, {40, 1000}};
  for (int op = 0; op < 2; op++) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
      for (int scaled = 0; scaled < 2; scaled++) {
        run_case(ops[op], sizes[i][0], sizes[i][1], scaled, SAMARA_FLOAT32, ~0u);
        run_case(ops[op], sizes[i][0], sizes[i][1], scaled, SAMARA_FLOAT32, 0);
      }
    run_case(ops[op], 20, 40, true, SAMARA_FLOAT16, ~0u);
  }
}

// No rows: the sums are 0; rows of nothing: nothing.
SMR_TEST(empty) {
  static const float zeros[3] = {0};
  for (int64_t rows = 0; rows < 2; rows++) {
    const int64_t n = rows ? 0 : 3;
    struct op_test t;
    op_begin(&t, "layer_norm_grad");
    for (int i = 0; i < 2; i++) op_in(&t, SAMARA_FLOAT32, 2, DIMS(rows, n), NULL);
    op_out(&t, SAMARA_FLOAT32, 2, DIMS(rows, n));
    for (int i = 0; i < 2; i++) op_out(&t, SAMARA_FLOAT32, 1, DIMS(n));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
      op_expect_f32(&t, 1, zeros, (size_t)n, 0);
      op_expect_f32(&t, 2, zeros, (size_t)n, 0);
    }
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(rows); RUN(empty))
