// SPDX-License-Identifier: Apache-2.0
// top_k: order, ties, NaN, axes, dtypes.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void top_k_case(uint8_t dtype, int64_t n, const void *x, int64_t k, int largest,
                       const void *values, const int64_t *indices) {
  struct op_test t;
  op_begin(&t, "top_k");
  op_in(&t, dtype, 1, DIMS(n), x);
  op_out(&t, dtype, 1, DIMS(k));
  op_out(&t, SAMARA_INT64, 1, DIMS(k));
  op_int(&t, "k", k);
  op_int(&t, "largest", largest);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    op_expect_bytes(&t, 0, values, t.out[0].size_bytes);
    op_expect_bytes(&t, 1, indices, t.out[1].size_bytes);
  }
  op_end(&t);
}

SMR_TEST(order) {
  const float x[6] = {2, -1, 7, 2, 0.0f, -0.0f};
  top_k_case(SAMARA_FLOAT32, 6, x, 3, 1, (const float[]){7, 2, 2}, DIMS(2, 0, 3));
  top_k_case(SAMARA_FLOAT32, 6, x, 3, 0, (const float[]){-1, 0.0f, -0.0f}, DIMS(1, 4, 5));
  top_k_case(SAMARA_FLOAT32, 6, x, 6, 1, (const float[]){7, 2, 2, 0.0f, -0.0f, -1},
             DIMS(2, 0, 3, 4, 5, 1));
  top_k_case(SAMARA_FLOAT32, 6, x, 0, 1, NULL, NULL);
  const uint8_t u[3] = {200, 3, 100};
  top_k_case(SAMARA_UINT8, 3, u, 2, 1, (const uint8_t[]){200, 100}, DIMS(0, 2));
  const int8_t i[3] = {-56, 3, 100};
  top_k_case(SAMARA_INT8, 3, i, 2, 0, (const int8_t[]){-56, 3}, DIMS(0, 1));
  const int64_t wide[3] = {INT64_MIN, INT64_MAX, 0};
  top_k_case(SAMARA_INT64, 3, wide, 2, 1, DIMS(INT64_MAX, 0), DIMS(1, 2));
  const uint16_t h[3] = {smr_f32_to_f16(-2), smr_f32_to_f16(0.5f), smr_f32_to_f16(-0.5f)};
  top_k_case(SAMARA_FLOAT16, 3, h, 2, 1, (const uint16_t[]){h[1], h[2]}, DIMS(1, 2));
}

SMR_TEST(nan_is_the_largest) {
  const float x[4] = {1, NAN, INFINITY, NAN};
  struct op_test t;
  for (int largest = 0; largest < 2; largest++) {
    op_begin(&t, "top_k");
    op_in(&t, SAMARA_FLOAT32, 1, DIMS(4), x);
    op_out(&t, SAMARA_FLOAT32, 1, DIMS(3));
    op_out(&t, SAMARA_INT64, 1, DIMS(3));
    op_int(&t, "k", 3);
    op_int(&t, "largest", largest);
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
      op_expect_bytes(&t, 1, largest ? DIMS(1, 3, 2) : DIMS(0, 2, 1), 24);
    op_end(&t);
  }
}

SMR_TEST(inner_axis) {
  const int32_t x[12] = {3, 9, 1, 8, 2, 7, 5, 5, 6, 4, 0, 5};  // [2, 3, 2]
  const int32_t values[8] = {3, 9, 2, 8, 6, 5, 5, 5};
  const int64_t indices[8] = {0, 0, 2, 1, 1, 0, 0, 2};
  struct op_test t;
  op_begin(&t, "top_k");
  op_in(&t, SAMARA_INT32, 3, DIMS(2, 3, 2), x);
  op_out(&t, SAMARA_INT32, 3, DIMS(2, 2, 2));
  op_out(&t, SAMARA_INT64, 3, DIMS(2, 2, 2));
  op_int(&t, "k", 2);
  op_int(&t, "axis", 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    op_expect_bytes(&t, 0, values, sizeof values);
    op_expect_bytes(&t, 1, indices, sizeof indices);
  }
  op_end(&t);
}

// Whether a comes before b in the result; NaN is the largest, equal ones keep their order.
static int top_k_better(const float *x, size_t a, size_t b, int largest) {
  const float p = largest ? x[a] : x[b], q = largest ? x[b] : x[a];
  if (isnan(p) != isnan(q)) return isnan(p);
  return !isnan(p) && p != q ? p > q : a < b;
}

SMR_TEST(long_rows) {
  enum { N = 700, K = 9 };
  float x[N];
  for (int how = 0; how < 8; how++) {
    const int largest = how & 1;
    uint32_t seed = 17u + (uint32_t)how;
    for (size_t i = 0; i < N; i++) {
      seed = seed * 1664525u + 1013904223u;
      x[i] = (how & 2) && seed >> 16 == 77  ? NAN
             : (how & 4) && i < (size_t)how ? NAN
                                            : (float)(seed >> 20) - 2000.0f;
    }
    float values[K];
    int64_t indices[K];
    uint8_t taken[N] = {0};
    for (size_t k = 0; k < K; k++) {
      size_t best = N;
      for (size_t i = 0; i < N; i++)
        if (!taken[i] && (best == N || top_k_better(x, i, best, largest))) best = i;
      taken[best] = 1;
      values[k] = x[best];
      indices[k] = (int64_t)best;
    }
    top_k_case(SAMARA_FLOAT32, N, x, K, largest, values, indices);
  }
}

SMR_TEST_MAIN(RUN(order); RUN(nan_is_the_largest); RUN(inner_axis); RUN(long_rows))
