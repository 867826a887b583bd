// SPDX-License-Identifier: Apache-2.0
// qmatmul against the definition: every way weights arrive, transposes, batches.
#include "base/fp.h"

#include "ops/matmul/qlinear_data.h"

struct qmatmul_case {
  uint32_t x_rank, w_rank, y_rank;
  int64_t x[4], w[4], y[4];
  bool transpose_x, transpose_w;
};

// The sum of products that output `index` is made of.
static int64_t product(const struct qmatmul_case *c, const struct q_columns *q, int extra,
                       const int8_t *x, const int8_t *w, size_t index) {
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
  const int64_t w_zero = q->zeros[extra & Q_PER_AXIS ? column : 0];
  int64_t sum = 0;
  for (int64_t i = 0; i < k; i++)
    sum += (x[(int64_t)x_at * m * k + (c->transpose_x ? i * m + row : row * k + i)] - Q_X_ZERO) *
           (w[(int64_t)w_at * k * n + (c->transpose_w ? column * k + i : i * n + column)] - w_zero);
  return sum;
}

static void run_case(const struct qmatmul_case *c, enum q_form form, int extra, uint32_t isa) {
  const size_t x_n = q_count(c->x, c->x_rank), w_n = q_count(c->w, c->w_rank);
  const size_t y_n = q_count(c->y, c->y_rank), n = (size_t)c->y[c->y_rank - 1];
  const size_t k = (size_t)c->x[c->x_rank - (c->transpose_x ? 2u : 1u)];
  if (form == Q_PACKED && w_n == 0) return;
  int8_t *x = q_bytes(x_n, 1), *w = q_bytes(w_n, 2);
  const struct q_columns q = q_columns(extra);
  struct op_test t;
  op_begin(&t, "qmatmul");
  t.job.isa &= isa;
  q_tensors(&t, &q, form, extra, c->x_rank, c->x, x, c->w_rank, c->w, w,
            (int32_t)c->w_rank - (c->transpose_w ? 2 : 1), c->y_rank, c->y);
  op_int(&t, "transpose_x", c->transpose_x);
  op_int(&t, "transpose_w", c->transpose_w);
  if (form == Q_PACKED)
    q_pack(&t, false, w_n / (k * n), k, n, c->transpose_w ? 1 : n, c->transpose_w ? k : 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    for (size_t i = 0; i < y_n; i++)
      if (!q_check(&t, &q, extra, i, i % n, product(c, &q, extra, x, w, i))) break;
  } else {
    fprintf(stderr, "%s\n", t.error.text);
  }
  op_end(&t);
  free(x), free(w);
}

static const struct qmatmul_case cases[] = {
    {2, 2, 2, {1, 7}, {7, 33}, {1, 33}, false, false},
    {2, 2, 2, {5, 64}, {64, 16}, {5, 16}, false, false},
    {2, 2, 2, {37, 20}, {20, 50}, {37, 50}, false, false},
    {2, 2, 2, {20, 137}, {50, 20}, {137, 50}, true, true},
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
  static const int extras[] = {0, Q_BIAS | Q_PER_AXIS, Q_BIAS | Q_PER_AXIS | Q_W_ZERO | Q_CLAMP,
                               Q_SUMS | Q_W_ZERO};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int form = 0; form < Q_FORMS; form++)
      for (size_t e = 0; e < sizeof extras / sizeof extras[0]; e++) {
        run_case(&cases[i], (enum q_form)form, extras[e], ~0u);
        run_case(&cases[i], (enum q_form)form, extras[e], 0);
      }
}

SMR_TEST_MAIN(RUN(against_the_definition))
