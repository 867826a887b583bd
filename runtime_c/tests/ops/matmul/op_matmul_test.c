// SPDX-License-Identifier: Apache-2.0
// matmul against the definition: every way weights arrive, transposes, batches, integers.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

struct matmul_case {
  uint32_t x_rank, w_rank, y_rank;
  int64_t x[4], w[4], y[4];
  bool transpose_x, transpose_w;
};

// Product of the matrices that output `index` is made of, in double.
static double product(const struct matmul_case *c, const float *x, const float *w, size_t index) {
  const int64_t m = c->y[c->y_rank - 2], n = c->y[c->y_rank - 1];
  const int64_t k = c->x[c->x_rank - (c->transpose_x ? 2u : 1u)];
  size_t rest = index / (size_t)(m * n), x_at = 0, w_at = 0, x_step = 1, w_step = 1;
  for (uint32_t i = 3; i <= c->y_rank; i++) {
    const size_t at = rest % (size_t)c->y[c->y_rank - i];
    rest /= (size_t)c->y[c->y_rank - i];
    if (i <= c->x_rank) {
      const size_t dim = (size_t)c->x[c->x_rank - i];
      x_at += dim == 1 ? 0 : at * x_step;
      x_step *= dim;
    }
    if (i <= c->w_rank) {
      const size_t dim = (size_t)c->w[c->w_rank - i];
      w_at += dim == 1 ? 0 : at * w_step;
      w_step *= dim;
    }
  }
  const int64_t row = (int64_t)(index / (size_t)n) % m, column = (int64_t)(index % (size_t)n);
  double sum = 0;
  for (int64_t i = 0; i < k; i++)
    sum += (double)x[(int64_t)x_at * m * k + (c->transpose_x ? i * m + row : row * k + i)] *
           (double)w[(int64_t)w_at * k * n + (c->transpose_w ? column * k + i : i * n + column)];
  return sum;
}

enum { BIAS = 1, RESIDUAL = 2, RELU = 4, TANH = 8 };

static void run_case(const struct matmul_case *c, enum linear_form form, uint8_t dtype,
                     uint8_t w_dtype, int extra, uint32_t isa) {
  const size_t x_n = linear_count(c->x, c->x_rank), w_n = linear_count(c->w, c->w_rank);
  const size_t y_n = linear_count(c->y, c->y_rank), n = (size_t)c->y[c->y_rank - 1];
  const size_t k = (size_t)c->x[c->x_rank - (c->transpose_x ? 2u : 1u)];
  float *x = linear_floats(x_n, 1), *w = linear_floats(w_n, 2), *bias = linear_floats(n, 3);
  float *residual = linear_floats(y_n, 4);
  struct op_test t;
  op_begin(&t, "matmul");
  t.job.isa &= isa;
  linear_in(&t, dtype, c->x_rank, c->x, x);
  linear_in(&t, w_dtype, c->w_rank, c->w, w)->constant = form == LINEAR_PLAIN ? 1 : -1;
  if (extra & BIAS)
    linear_in(&t, w_dtype, 1, DIMS((int64_t)n), bias)->constant = form == LINEAR_RUNTIME ? -1 : 2;
  else
    op_absent(&t);
  if (extra & RESIDUAL) linear_in(&t, dtype, c->y_rank, c->y, residual);
  op_out(&t, dtype, c->y_rank, c->y);
  op_int(&t, "transpose_x", c->transpose_x);
  op_int(&t, "transpose_w", c->transpose_w);
  if (extra & RELU) op_f32(&t, "lo", 0);
  if (extra & TANH) op_enum(&t, "post", "tanh");
  if (form == LINEAR_PACKED)
    linear_pack(&t, SMR_LAYOUT_PANEL, k && n ? w_n / (k * n) : 1, k, n, c->transpose_w ? 1 : n,
                c->transpose_w ? k : 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    for (size_t i = 0; i < y_n; i++) {
      double want = product(c, x, w, i);
      if (extra & BIAS) want += (double)bias[i % n];
      if (extra & RESIDUAL) want += (double)residual[i];
      if (extra & RELU) want = want < 0 ? 0 : want;
      if (extra & TANH) want = tanh(want);
      const double tolerance = (dtype == SAMARA_FLOAT16 ? 1e-3 : 4e-7) * ((double)k + 2);
      CHECK_NEAR(linear_out(&t, i), want, tolerance);
    }
  } else {
    fprintf(stderr, "%s\n", t.error.text);
  }
  op_end(&t);
  free(x), free(w), free(bias), free(residual);
}

static const struct matmul_case cases[] = {
    {2, 2, 2, {1, 7}, {7, 33}, {1, 33}, false, false},
    {2, 2, 2, {5, 64}, {64, 16}, {5, 16}, false, false},
    {2, 2, 2, {37, 20}, {20, 50}, {37, 50}, false, false},
    {2, 2, 2, {20, 37}, {50, 20}, {37, 50}, true, true},
    {3, 2, 3, {3, 5, 9}, {9, 17}, {3, 5, 17}, false, false},
    {3, 2, 3, {3, 9, 5}, {9, 17}, {3, 5, 17}, true, false},
    {3, 3, 3, {3, 5, 9}, {3, 9, 17}, {3, 5, 17}, false, false},
    {4, 3, 4, {2, 1, 5, 9}, {3, 17, 9}, {2, 3, 5, 17}, false, true},
    {2, 3, 3, {5, 9}, {3, 9, 17}, {3, 5, 17}, false, false},
    {2, 3, 3, {9, 5}, {3, 9, 17}, {3, 5, 17}, true, false},
    {2, 2, 2, {4, 0}, {0, 5}, {4, 5}, false, false},
    {2, 2, 2, {0, 3}, {3, 5}, {0, 5}, false, false},
    {3, 3, 3, {0, 2, 3}, {0, 3, 5}, {0, 2, 5}, false, false},
};

SMR_TEST(against_the_definition) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct matmul_case *c = &cases[i];
    for (int form = 0; form < LINEAR_FORMS; form++) {
      const enum linear_form f = (enum linear_form)form;
      run_case(c, f, SAMARA_FLOAT32, SAMARA_FLOAT32, BIAS | (form ? RESIDUAL | RELU : 0), ~0u);
      run_case(c, f, SAMARA_FLOAT32, SAMARA_FLOAT16, BIAS | TANH, ~0u);
      run_case(c, f, SAMARA_FLOAT16, SAMARA_FLOAT16, BIAS | RESIDUAL | RELU | TANH, ~0u);
      run_case(c, f, SAMARA_FLOAT32, SAMARA_FLOAT32, 0, 0);
    }
  }
}

SMR_TEST(integers_wrap) {
  const int32_t x[6] = {1, -2, 3, INT32_MAX, 5, -6}, w[6] = {1, 2, 3, 4, 5, 6}, b[2] = {10, 20};
  const int32_t r[4] = {1, 2, 3, 4};
  struct op_test t;
  op_begin(&t, "matmul");
  op_in(&t, SAMARA_INT32, 2, DIMS(2, 3), x);
  op_in(&t, SAMARA_INT32, 2, DIMS(3, 2), w);
  op_in(&t, SAMARA_INT32, 1, DIMS(2), b);
  op_in(&t, SAMARA_INT32, 2, DIMS(2, 2), r);
  op_out(&t, SAMARA_INT32, 2, DIMS(2, 2));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const int32_t *y = (const int32_t *)t.out[0].data;
    CHECK_EQ_INT(y[0], 1 - 6 + 15 + 10 + 1);
    CHECK_EQ_INT(y[1], 2 - 8 + 18 + 20 + 2);
    CHECK_EQ_INT(y[2], INT32_MAX + (15 - 30 + 10 + 3));
    CHECK_EQ_INT(y[3], -2 + (20 - 36 + 20 + 4));  // 2 * (2^31 - 1) is -2
  }
  op_end(&t);
}

SMR_TEST(integer_batches) {
  int64_t x[12], w[12];
  for (int i = 0; i < 12; i++) x[i] = i - 5, w[i] = 2 * i - 7;
  struct op_test t;
  op_begin(&t, "matmul");
  op_in(&t, SAMARA_INT64, 3, DIMS(2, 3, 2), x);  // transposed: [2, 2, 3]
  op_in(&t, SAMARA_INT64, 3, DIMS(2, 2, 3), w);  // transposed: [2, 3, 2]
  op_out(&t, SAMARA_INT64, 3, DIMS(2, 2, 2));
  op_int(&t, "transpose_x", 1);
  op_int(&t, "transpose_w", 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const int64_t *y = (const int64_t *)t.out[0].data;
    for (int i = 0; i < 8; i++) {
      int64_t sum = 0;
      for (int k = 0; k < 3; k++)
        sum += x[i / 4 * 6 + k * 2 + i / 2 % 2] * w[i / 4 * 6 + i % 2 * 3 + k];
      CHECK_EQ_INT(y[i], sum);
    }
  }
  op_end(&t);
}

SMR_TEST_MAIN(RUN(against_the_definition); RUN(integers_wrap); RUN(integer_batches))
