// SPDX-License-Identifier: Apache-2.0
// det: small matrices, permutations, panels, what is singular or not a number.
#include "base/fp.h"

#include "ops/op_harness.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static float det_of(int64_t n, const float *x) {
  struct op_test t;
  float got = NAN;
  op_begin(&t, "det");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(n, n), x);
  op_out(&t, SAMARA_FLOAT32, 0, DIMS(0));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) got = *(const float *)t.out[0].data;
  op_end(&t);
  return got;
}

SMR_TEST(small) {
  CHECK(det_of(1, (const float[]){-3}) == -3);
  CHECK_NEAR(det_of(2, (const float[]){1, 2, 3, 4}), -2, 1e-6);
  CHECK(det_of(2, (const float[]){0, 1, 1, 0}) == -1);
  CHECK(det_of(2, (const float[]){1, 2, 2, 4}) == 0);
  CHECK(det_of(3, (const float[]){0, 0, 0, 1, 2, 3, 4, 5, 6}) == 0);
  CHECK(isnan(det_of(2, (const float[]){NAN, 1, 1, 1})));
  CHECK(isnan(det_of(3, (const float[]){1, 0, 0, 0, 0, 0, 0, NAN, 0})));
}

// L U with known diagonals, its rows turned round: the size takes panels, and parts of tiles.
static void product(int64_t n) {
  float *x = calloc((size_t)(n * n), sizeof *x);
  if (x == NULL) abort();
  double want = (n - 1) % 2 ? -1 : 1;  // of a cycle of n rows
  for (int64_t i = 0; i < n; i++) {
    const double pivot = i % 3 == 0 ? 2.0 : i % 3 == 1 ? 0.5 : 1.0;
    want *= pivot;
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t k = 0; k <= i && k <= j; k++) {
        const double l = k == i ? 1 : 0.3 * cos((double)(i * 7 + k));
        const double diagonal = k % 3 == 0 ? 2.0 : k % 3 == 1 ? 0.5 : 1.0;
        const double u = k == j ? diagonal : 0.2 * sin((double)(k * 5 + j)) / (double)(1 + j - k);
        sum += l * u;
      }
      x[(i + 1) % n * n + j] = (float)sum;
    }
  }
  CHECK_NEAR(det_of(n, x) / (float)want, 1, 1e-3);
  free(x);
}

SMR_TEST(panels) {
  static const int64_t sizes[] = {2, 3, 5, 8, 31, 32, 33, 64, 65, 97};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) product(sizes[i]);
}

SMR_TEST(batches) {
  struct op_test t;
  op_begin(&t, "det");
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(3, 2, 2), (const float[]){1, 0, 0, 1, 2, 0, 0, 2, 0, 1, 1, 0});
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(3));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){1, 4, -1}, 3, 0);
  op_end(&t);
  op_begin(&t, "det");
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(2, 0, 0), NULL);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(2));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){1, 1}, 2, 0);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(small); RUN(panels); RUN(batches))
