// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and hardmax along every axis.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

// x [outer, n, inner], in double.
static double expected(const char *op, const float *x, size_t outer, size_t n, size_t inner,
                       size_t i, size_t j, size_t k) {
  (void)outer;
  const float *group = x + i * n * inner + k;
  double best = -INFINITY, sum = 0;
  size_t first = 0;
  for (size_t r = 0; r < n; r++)
    if ((double)group[r * inner] > best) best = (double)group[r * inner], first = r;
  for (size_t r = 0; r < n; r++) sum += exp((double)group[r * inner] - best);
  if (strcmp(op, "hardmax") == 0) return j == first;
  const double shifted = (double)group[j * inner] - best;
  return strcmp(op, "softmax") == 0 ? exp(shifted) / sum : shifted - log(sum);
}

static void run_case(const char *op, int64_t outer, int64_t n, int64_t inner, uint32_t isa) {
  const size_t count = (size_t)(outer * n * inner);
  float *x = malloc(count * sizeof *x);
  for (size_t i = 0; i < count; i++) x[i] = (float)((i * 7919) % 1001) / 50.0f - 10.0f;
  struct op_test t;
  op_begin(&t, op);
  t.job.isa &= isa;
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(outer, n, inner), x);
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(outer, n, inner));
  op_int(&t, "axis", -2);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const float *y = (const float *)t.out[0].data;
    for (size_t i = 0; i < count; i++) {
      const size_t k = i % (size_t)inner, j = i / (size_t)inner % (size_t)n;
      const double want =
          expected(op, x, (size_t)outer, (size_t)n, (size_t)inner, i / (size_t)(inner * n), j, k);
      if (!CHECK_NEAR(y[i], want, 3e-6 * fmax(fabs(want), 0.1))) break;
    }
  }
  op_end(&t);
  free(x);
}

SMR_TEST(axes) {
  static const char *const ops[] = {"softmax", "log_softmax", "hardmax"};
  static const int64_t sizes[][3] = {{1, 1, 1},  {3, 7, 1},   {2, 33, 1},   {3, 8, 5},   {1, 9, 17},
                                     {40, 3, 1}, {2, 5, 300}, {1, 2000, 1}, {3, 200, 20}};
  for (int o = 0; o < 3; o++)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      run_case(ops[o], sizes[i][0], sizes[i][1], sizes[i][2], ~0u);
      run_case(ops[o], sizes[i][0], sizes[i][1], sizes[i][2], 0);
    }
}

SMR_TEST(large_values) {
  struct op_test t;
  op_begin(&t, "softmax");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), (const float[]){3e38f, 100, -3e38f, -INFINITY, 0, 0});
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 3));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){1, 0, 0, 0, 0.5f, 0.5f}, 6, 0);
  op_end(&t);
}

SMR_TEST(nan_spoils_its_group) {
  for (int inner = 0; inner < 2; inner++) {
    struct op_test t;
    op_begin(&t, "softmax");
    op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 2), (const float[]){NAN, 1, 2, 2});
    op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 2));
    op_int(&t, "axis", inner);
    const float want[2][4] = {{NAN, 0.26894143f, NAN, 0.7310586f}, {NAN, NAN, 0.5f, 0.5f}};
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, want[inner], 4, 1e-7);
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(axes); RUN(large_values); RUN(nan_spoils_its_group))
