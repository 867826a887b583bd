// SPDX-License-Identifier: Apache-2.0
// Reductions over every set of axes, and sum_to.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

enum { A = 3, B = 4, C = 5, E = 7, COUNT = A * B * C * E };

// Which output element input element i of [A, B, C, E] goes to.
static size_t target(size_t i, uint32_t mask) {
  const size_t at[4] = {i / (B * C * E), i / (C * E) % B, i / E % C, i % E};
  const size_t dims[4] = {A, B, C, E};
  size_t out = 0;
  for (uint32_t a = 0; a < 4; a++)
    if (!(mask >> a & 1u)) out = out * dims[a] + at[a];
  return out;
}

static uint32_t shape(uint32_t mask, int64_t *dims, int64_t *axes, uint32_t *count) {
  const int64_t all[4] = {A, B, C, E};
  uint32_t rank = 0;
  *count = 0;
  for (uint32_t a = 0; a < 4; a++) {
    if (mask >> a & 1u)
      axes[(*count)++] = a % 2 ? (int64_t)a : (int64_t)a - 4;
    else
      dims[rank++] = all[a];
  }
  return rank;
}

static void float_case(const char *op, uint32_t mask, uint8_t dtype, uint32_t isa) {
  int64_t dims[4], axes[4];
  uint32_t count;
  const uint32_t rank = shape(mask, dims, axes, &count);
  const size_t outputs = linear_count(dims, rank);
  float *x = linear_floats(COUNT, 3);
  double want[COUNT];
  const bool max = strcmp(op, "reduce_max") == 0, min = strcmp(op, "reduce_min") == 0;
  const bool prod = strcmp(op, "reduce_prod") == 0;
  for (size_t i = 0; i < outputs; i++) want[i] = max ? -INFINITY : min ? INFINITY : prod ? 1 : 0;
  for (size_t i = 0; i < COUNT; i++) {
    double *y = &want[target(i, mask)];
    const double v = (double)x[i];
    *y = max ? fmax(*y, v) : min ? fmin(*y, v) : prod ? *y * v : *y + v;
  }
  struct op_test t;
  op_begin(&t, op);
  t.job.isa &= isa;
  linear_in(&t, dtype, 4, DIMS(A, B, C, E), x);
  op_out(&t, dtype, rank, dims);
  op_ints(&t, "axes", count, axes);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < outputs; i++) {
      if (strcmp(op, "reduce_mean") == 0) want[i] /= (double)(COUNT / outputs);
      CHECK_NEAR(linear_out(&t, i), want[i], dtype == SAMARA_FLOAT16 ? 2e-2 : 1e-5);
    }
  op_end(&t);
  free(x);
}

SMR_TEST(floats) {
  static const char *const ops[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min",
                                    "reduce_prod"};
  for (int o = 0; o < 5; o++)
    for (uint32_t mask = 0; mask < 16; mask++) {
      float_case(ops[o], mask, SAMARA_FLOAT32, ~0u);
      float_case(ops[o], mask, SAMARA_FLOAT32, 0);
    }
  float_case("reduce_mean", 6, SAMARA_FLOAT16, ~0u);
}

SMR_TEST(integers) {
  for (uint32_t mask = 0; mask < 16; mask++) {
    int64_t dims[4], axes[4];
    uint32_t count;
    const uint32_t rank = shape(mask, dims, axes, &count);
    int8_t x[COUNT], want[COUNT] = {0};
    for (size_t i = 0; i < COUNT; i++) x[i] = (int8_t)(i * 37 % 251);
    for (size_t i = 0; i < COUNT; i++) {
      int8_t *y = &want[target(i, mask)];
      *y = (int8_t)(*y + x[i]);
    }
    struct op_test t;
    op_begin(&t, "reduce_sum");
    op_in(&t, SAMARA_INT8, 4, DIMS(A, B, C, E), x);
    op_out(&t, SAMARA_INT8, rank, dims);
    op_ints(&t, "axes", count, axes);
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, linear_count(dims, rank));
    op_end(&t);
  }
}

static void small_case(const char *op, uint8_t dtype, const void *x, int64_t n, const void *want) {
  struct op_test t;
  op_begin(&t, op);
  op_in(&t, dtype, 1, DIMS(n), x);
  op_out(&t, dtype, 0, NULL);
  op_ints(&t, "axes", 1, DIMS(0));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, smr_dtype_bytes(dtype));
  op_end(&t);
}

SMR_TEST(small) {
  small_case("reduce_mean", SAMARA_INT32, (const int32_t[]){-3, -4}, 2, (const int32_t[]){-3});
  small_case("reduce_mean", SAMARA_INT32, NULL, 0, (const int32_t[]){0});
  small_case("reduce_max", SAMARA_BOOL, (const uint8_t[]){0, 1, 0}, 3, (const uint8_t[]){1});
  small_case("reduce_min", SAMARA_BOOL, (const uint8_t[]){1, 1, 0}, 3, (const uint8_t[]){0});
  small_case("reduce_max", SAMARA_BOOL, NULL, 0, (const uint8_t[]){0});
  small_case("reduce_max", SAMARA_INT8, NULL, 0, (const int8_t[]){-128});
  small_case("reduce_min", SAMARA_UINT8, NULL, 0, (const uint8_t[]){255});
  small_case("reduce_prod", SAMARA_INT64, (const int64_t[]){INT64_MAX, 2}, 2,
             (const int64_t[]){-2});
  small_case("reduce_sum", SAMARA_FLOAT32, NULL, 0, (const float[]){0});
  small_case("reduce_max", SAMARA_FLOAT32, NULL, 0, (const float[]){-INFINITY});
}

SMR_TEST(nan_wins) {
  static const char *const ops[] = {"reduce_max", "reduce_min"};
  for (int o = 0; o < 2; o++)
    for (int at = 0; at < 50; at++)
      for (int columns = 0; columns < 2; columns++) {
        float x[50];
        for (int i = 0; i < 50; i++) x[i] = i == at ? NAN : (float)(i % 7);
        struct op_test t;
        op_begin(&t, ops[o]);
        op_in(&t, SAMARA_FLOAT32, 2, columns ? DIMS(25, 2) : DIMS(2, 25), x);
        op_out(&t, SAMARA_FLOAT32, 1, DIMS(2));
        op_ints(&t, "axes", 1, columns ? DIMS(0) : DIMS(1));
        if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
          const float *y = (const float *)t.out[0].data;
          const int group = columns ? at % 2 : at / 25;
          CHECK(isnan(y[group]));
          CHECK(!isnan(y[1 - group]));
        }
        op_end(&t);
      }
}

// Rounding errors of a naive sum of these would reach 1e-3.
SMR_TEST(long_sums_stay_near) {
  enum { N = 1 << 18 };
  float *x = malloc(4 * N * sizeof *x);
  for (int i = 0; i < 4 * N; i++) x[i] = 0.1f;
  for (int columns = 0; columns < 2; columns++) {
    struct op_test t;
    op_begin(&t, "reduce_sum");
    op_in(&t, SAMARA_FLOAT32, 2, columns ? DIMS(N, 4) : DIMS(4, N), x);
    op_out(&t, SAMARA_FLOAT32, 1, DIMS(4));
    op_ints(&t, "axes", 1, columns ? DIMS(0) : DIMS(1));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
      for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(linear_out(&t, i), (double)0.1f * (double)N, 4e-7 * (double)N);
    op_end(&t);
  }
  free(x);
}

// Few outputs of many elements are cut into pieces, which here end within rows: [N, 2, 3, 16] over
// axes 0 and 2, or [3, 2, N] over axes 0 and 2. op_run compares the bits of other splits.
SMR_TEST(pieces) {
  static const char *const ops[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"};
  enum { N = 4003, LONG = 30011 };
  const int64_t columns[4] = {N, 2, 3, 16}, rows[4] = {3, 2, LONG, 1};
  for (int form = 0; form < 4; form++) {
    const int64_t *dims = form % 2 ? rows : columns;
    const size_t n = linear_count(dims, 4), inner = (size_t)dims[3], outputs = 2 * inner;
    float *x = linear_floats(n, 7);
    for (int o = 0; o < 4; o++) {
      double want[32];
      for (size_t j = 0; j < outputs; j++) want[j] = o == 2 ? -INFINITY : o == 3 ? INFINITY : 0;
      for (size_t i = 0; i < n; i++) {
        const size_t middle = (size_t)(dims[2] * dims[3]);
        double *y = &want[i / middle % 2 * inner + i % inner];
        *y = o == 2 ? fmax(*y, (double)x[i]) : o == 3 ? fmin(*y, (double)x[i]) : *y + (double)x[i];
      }
      struct op_test t;
      op_begin(&t, ops[o]);
      if (form >= 2) t.job.isa = 0;
      op_in(&t, SAMARA_FLOAT32, 4, dims, x);
      op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, (int64_t)inner));
      op_ints(&t, "axes", 2, DIMS(0, 2));
      if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
        CHECK(t.tiles > 4);
        CHECK_EQ_INT(t.job.barriers[0], t.tiles - 1);
        for (size_t j = 0; j < outputs; j++) {
          const double scale = o == 1 ? (double)outputs / (double)n : 1;
          CHECK_NEAR(linear_out(&t, j), want[j] * scale, o < 2 ? 2e-3 * scale : 0);
        }
      }
      op_end(&t);
    }
    free(x);
  }
}

SMR_TEST(sum_to) {
  float *x = linear_floats(24, 5);
  static const int64_t shapes[][3] = {{2, 3, 4}, {1, 3, 4}, {2, 1, 4}, {2, 3, 1},
                                      {1, 1, 4}, {2, 1, 1}, {1, 1, 1}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
    for (uint32_t rank = 0; rank <= 3; rank++) {
      const int64_t *dims = shapes[i] + 3 - rank;
      double want[24] = {0};
      for (int64_t j = 0; j < 24; j++) {
        const int64_t at[3] = {j / 12, j / 4 % 3, j % 4};
        int64_t to = 0;
        for (uint32_t a = 0; a < rank; a++)
          to = to * dims[a] + (dims[a] == 1 ? 0 : at[3 - rank + a]);
        want[to] += (double)x[j];
      }
      struct op_test t;
      op_begin(&t, "sum_to");
      op_in(&t, SAMARA_FLOAT32, 3, DIMS(2, 3, 4), x);
      op_out(&t, SAMARA_FLOAT32, rank, dims);
      op_ints(&t, "shape", rank, dims);
      if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
        for (size_t j = 0; j < linear_count(dims, rank); j++)
          CHECK_NEAR(linear_out(&t, j), want[j], 2e-6);
      op_end(&t);
    }
  free(x);
}

SMR_TEST_MAIN(RUN(floats); RUN(integers); RUN(small); RUN(nan_wins); RUN(long_sums_stay_near);
              RUN(pieces); RUN(sum_to))
