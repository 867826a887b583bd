// SPDX-License-Identifier: Apache-2.0
// matmul_blocks against the definition, with weights that are constants and such that are not.
#include "base/fp.h"

#include "kernels/kernel_data.h"
#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

struct blocks_case {
  uint8_t dtype;
  int64_t m, n, k, block;
};

static int32_t number(const struct blocks_case *c, size_t i) {
  const int32_t v = (int32_t)(i * 2654435761u >> 7 & 255u);
  return c->dtype == SAMARA_INT8 ? v - 128 : c->dtype == SAMARA_INT4 ? v % 16 - 8 : v % 16;
}

static void check_case(const struct blocks_case *c, bool constant, uint32_t isa) {
  const size_t m = (size_t)c->m, n = (size_t)c->n, k = (size_t)c->k;
  const size_t blocks = (k + (size_t)c->block - 1) / (size_t)c->block;
  uint32_t seed = 5;
  float *x = kernel_floats(m * k, &seed), *scales = kernel_floats(n * blocks, &seed);
  float *bias = kernel_floats(n, &seed);
  uint8_t *w = calloc(n * k + 1, 1), *zeros = calloc(n * blocks + 1, 1);
  for (size_t i = 0; i < n * k; i++) {
    const uint32_t q = (uint32_t)number(c, i);
    if (c->dtype == SAMARA_INT8)
      w[i] = (uint8_t)q;
    else
      w[i / 2] = (uint8_t)(w[i / 2] | (q & 15u) << i % 2 * 4);
  }
  for (size_t i = 0; i < n * blocks; i++) zeros[i] = (uint8_t)(i % 5);
  struct op_test t;
  op_begin(&t, "matmul_blocks");
  t.job.isa &= isa;
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(c->m, c->k), x);
  op_in(&t, c->dtype, 2, DIMS(c->n, c->k), w)->constant = constant ? 1 : -1;
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(c->n, (int64_t)blocks), scales)->constant = constant ? 2 : -1;
  op_in(&t, SAMARA_UINT8, 2, DIMS(c->n, (int64_t)blocks), zeros)->constant = constant ? 3 : -1;
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(c->n), bias)->constant = constant ? 4 : -1;
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(c->m, c->n));
  op_int(&t, "block", c->block);
  op_f32(&t, "lo", -20);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    for (size_t i = 0; i < m * n; i++) {
      double want = (double)bias[i % n], size = 1;
      for (size_t r = 0; r < k; r++) {
        const size_t at = i % n * blocks + r / (size_t)c->block;
        const double value = ((double)number(c, i % n * k + r) - zeros[at]) * (double)scales[at];
        want += (double)x[i / n * k + r] * value;
        size += fabs((double)x[i / n * k + r] * value);
      }
      CHECK_NEAR(((float *)t.out[0].data)[i], want < -20 ? -20 : want, size * 1e-6);
    }
  }
  op_end(&t);
  kernel_free(x, 4);
  kernel_free(scales, 4);
  kernel_free(bias, 4);
  free(w);
  free(zeros);
}

SMR_TEST(products) {
  static const struct blocks_case cases[] = {
      {SAMARA_INT4, 1, 33, 70, 16},   {SAMARA_INT4, 9, 17, 128, 32}, {SAMARA_UINT4, 3, 16, 41, 16},
      {SAMARA_UINT4, 5, 100, 64, 64}, {SAMARA_INT8, 1, 5, 50, 16},   {SAMARA_INT8, 20, 49, 33, 32},
      {SAMARA_INT4, 2, 3, 1, 16},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int constant = 0; constant < 2; constant++) {
      check_case(&cases[i], constant, SMR_ISA_NONE);
      check_case(&cases[i], constant, UINT32_MAX);
    }
  }
}

SMR_TEST_MAIN(RUN(products))
