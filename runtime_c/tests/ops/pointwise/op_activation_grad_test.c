// SPDX-License-Identifier: Apache-2.0
// activation_grad: attributes reach the kernel, several tiles, float16, in place.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

enum { RELU = 0, LEAKY_RELU = 1, HARD_SIGMOID = 9, CLAMP = 11 };  // of attribute `kind`

static double activation_grad_want(int kind, double dy, double v) {
  switch (kind) {
    case RELU:
      return v <= 0 ? 0 : dy;
    case LEAKY_RELU:
      return v > 0 ? dy : dy * 0.25;
    case HARD_SIGMOID:
      return v > 0 && v < 1 ? dy * 0.25 : 0;
    default:
      return v >= 0.25 && v <= 0.5 ? dy : 0;
  }
}

static void run_case(int kind, int64_t rows, uint8_t dtype, uint32_t isa, bool in_place) {
  const size_t n = (size_t)rows * 7;
  float *dy = linear_floats(n, 1), *v = linear_floats(n, 2);
  struct op_test t;
  op_begin(&t, "activation_grad");
  t.job.isa &= isa;
  t.in_place = in_place;
  op_int(&t, "kind", kind);
  op_f32(&t, "alpha", 0.25f);
  op_f32(&t, "beta", 0.5f);
  linear_in(&t, dtype, 2, DIMS(rows, 7), dy);
  linear_in(&t, dtype, 2, DIMS(rows, 7), v);
  op_out(&t, dtype, 2, DIMS(rows, 7));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < n; i++)
      CHECK_NEAR(linear_out(&t, i), activation_grad_want(kind, (double)dy[i], (double)v[i]), 0);
  op_end(&t);
  free(dy), free(v);
}

SMR_TEST(every_form) {
  static const int kinds[] = {RELU, LEAKY_RELU, HARD_SIGMOID, CLAMP};
  for (int k = 0; k < 4; k++)
    for (int portable = 0; portable < 2; portable++) {
      const uint32_t isa = portable ? 0 : ~0u;
      run_case(kinds[k], 0, SAMARA_FLOAT32, isa, false);
      run_case(kinds[k], 5, SAMARA_FLOAT32, isa, false);
      run_case(kinds[k], 4000, SAMARA_FLOAT32, isa, false);
      run_case(kinds[k], 4000, SAMARA_FLOAT32, isa, true);
      run_case(kinds[k], 9, SAMARA_FLOAT16, isa, false);
    }
}

SMR_TEST(refusals) {
  struct op_test t;
  op_begin(&t, "activation_grad");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 4), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 3));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "[2, 4]");
  op_end(&t);
  op_begin(&t, "activation_grad");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(3), NULL);
  op_in(&t, SAMARA_FLOAT16, 1, DIMS(3), NULL);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(3));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(every_form); RUN(refusals))
