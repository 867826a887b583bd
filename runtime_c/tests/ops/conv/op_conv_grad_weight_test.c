// SPDX-License-Identifier: Apache-2.0
// conv_grad_weight against the definition, in both float types and on the portable kernels.
#include "base/fp.h"

#include "ops/conv/conv_grad_data.h"

static void run_case(const struct conv_grad_case *c, uint8_t dtype, uint32_t isa) {
  const struct conv_grad_dims d = conv_grad_dims(c);
  const uint32_t rank = c->spatial + 2;
  const size_t n = linear_count(d.w, rank);
  float *dy = linear_floats(linear_count(d.y, rank), 5);
  float *x = linear_floats(linear_count(d.x, rank), 6);
  double *want = calloc(n + 1, sizeof *want);
  conv_grad_define(c, &d, dy, x, NULL, NULL, want);
  struct op_test t;
  op_begin(&t, "conv_grad_weight");
  t.job.isa &= isa;
  linear_in(&t, dtype, rank, d.y, dy);
  linear_in(&t, dtype, rank, d.x, x);
  op_out(&t, dtype, rank, d.w);
  conv_grad_attrs(&t, c);
  op_ints(&t, "kernel", c->spatial, c->k);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const double terms = (double)(c->n * d.out_pixels);
    const double tolerance = (dtype == SAMARA_FLOAT16 ? 1e-3 : 4e-7) * (terms + 3);
    for (size_t i = 0; i < n; i++)
      if (!CHECK_NEAR(linear_out(&t, i), want[i], tolerance)) break;
  } else {
    fprintf(stderr, "%s\n", t.error.text);
  }
  op_end(&t);
  free(dy), free(x), free(want);
}

SMR_TEST(against_the_definition) {
  for (size_t i = 0; i < CONV_GRAD_CASES; i++) {
    run_case(&conv_grad_cases[i], SAMARA_FLOAT32, ~0u);
    run_case(&conv_grad_cases[i], SAMARA_FLOAT32, SMR_ISA_NONE);
    run_case(&conv_grad_cases[i], SAMARA_FLOAT16, ~0u);
  }
}

// Large enough that the sum is cut into parts, in each of the three kinds, and that columns are
// copied; op_run compares the bits of every way to split the tiles.
SMR_TEST(in_parts) {
  static const struct conv_grad_case large[] = {
      {2, 6, 16, 16, 1, {32, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {2, 6, 3, 40, 1, {32, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {2, 8, 70, 70, 70, {32, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {2, 9, 272, 33, 1, {10, 9}, {3, 1}, {1, 1}, {1, 1}, {1, 0, 1, 0}},
      {3, 3, 8, 9, 1, {9, 12, 13}, {3, 2, 3}, {2, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 0, 1}},
  };
  for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
    run_case(&large[i], SAMARA_FLOAT32, ~0u);
}

SMR_TEST_MAIN(RUN(against_the_definition); RUN(in_parts))
