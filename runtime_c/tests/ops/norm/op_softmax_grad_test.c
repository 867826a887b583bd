// SPDX-License-Identifier: Apache-2.0
// softmax_grad and log_softmax_grad along rows and columns.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

// [outer, n, inner] along the middle.
static void run_case(const char *op, int64_t outer, int64_t n, int64_t inner, uint8_t dtype,
                     uint32_t isa) {
  const size_t count = (size_t)(outer * n * inner), step = (size_t)inner, rows = (size_t)n;
  const bool log_of = strcmp(op, "log_softmax_grad") == 0;
  float *dy = linear_floats(count, 1), *y = linear_floats(count, 2);
  struct op_test t;
  op_begin(&t, op);
  t.job.isa &= isa;
  op_int(&t, "axis", -2);
  linear_in(&t, dtype, 3, DIMS(outer, n, inner), dy);
  linear_in(&t, dtype, 3, DIMS(outer, n, inner), y);
  op_out(&t, dtype, 3, DIMS(outer, n, inner));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t group = 0; group < (size_t)(outer * inner); group++) {
      const size_t first = group / step * rows * step + group % step;
      double sum = 0;
      for (size_t i = 0; i < rows; i++)
        sum += (double)dy[first + i * step] * (log_of ? 1 : (double)y[first + i * step]);
      for (size_t i = 0; i < rows; i++) {
        const double g = (double)dy[first + i * step], v = (double)y[first + i * step];
        const double want = log_of ? g - exp(v) * sum : v * (g - sum);
        const double limit = dtype == SAMARA_FLOAT16 ? 1e-3 : 1e-6;
        CHECK_NEAR(linear_out(&t, first + i * step), want, limit * (1 + fabs(sum) * 3));
      }
    }
  op_end(&t);
  free(dy), free(y);
}

SMR_TEST(every_form) {
  static const char *const ops[] = {"softmax_grad", "log_softmax_grad"};
  for (int op = 0; op < 2; op++)
    for (int k = 0; k < 2; k++) {
      const uint32_t isa = k ? ~0u : 0;
      run_case(ops[op], 1, 1, 1, SAMARA_FLOAT32, isa);
      run_case(ops[op], 700, 33, 1, SAMARA_FLOAT32, isa);
      run_case(ops[op], 3, 5000, 1, SAMARA_FLOAT32, isa);
      run_case(ops[op], 3, 40, 300, SAMARA_FLOAT32, isa);
      run_case(ops[op], 2, 0, 3, SAMARA_FLOAT32, isa);
      run_case(ops[op], 2, 9, 3, SAMARA_FLOAT16, isa);
    }
}

SMR_TEST(refusals) {
  struct op_test t;
  op_begin(&t, "softmax_grad");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 4), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 3));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "y has dims [2, 4]");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(every_form); RUN(refusals))
