// SPDX-License-Identifier: Apache-2.0
// conv_grad_input against the definition: all paths, float types and ways weights arrive.
#include "base/fp.h"

#include "ops/conv/conv_grad_data.h"

static void run_case(const struct conv_grad_case *c, bool constant, uint8_t dtype, uint32_t isa) {
  const struct conv_grad_dims d = conv_grad_dims(c);
  const uint32_t rank = c->spatial + 2;
  const size_t n = linear_count(d.x, rank);
  float *dy = linear_floats(linear_count(d.y, rank), 3);
  float *w = linear_floats(linear_count(d.w, rank), 4);
  double *want = calloc(n + 1, sizeof *want);
  conv_grad_define(c, &d, dy, NULL, w, want, NULL);
  struct op_test t;
  op_begin(&t, "conv_grad_input");
  t.job.isa &= isa;
  linear_in(&t, dtype, rank, d.y, dy);
  linear_in(&t, dtype, rank, d.w, w)->constant = constant ? 1 : -1;
  op_out(&t, dtype, rank, d.x);
  conv_grad_attrs(&t, c);
  op_ints(&t, "size", c->spatial, c->in);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const double depth = (double)(d.taps * c->o / c->groups);
    const double tolerance = (dtype == SAMARA_FLOAT16 ? 1e-3 : 4e-7) * (depth + 3);
    for (size_t i = 0; i < n; i++)
      if (!CHECK_NEAR(linear_out(&t, i), want[i], tolerance)) break;
  } else {
    fprintf(stderr, "%s\n", t.error.text);
  }
  op_end(&t);
  free(dy), free(w), free(want);
}

SMR_TEST(against_the_definition) {
  for (size_t i = 0; i < CONV_GRAD_CASES; i++) {
    run_case(&conv_grad_cases[i], false, SAMARA_FLOAT32, ~0u);
    run_case(&conv_grad_cases[i], true, SAMARA_FLOAT32, ~0u);
    run_case(&conv_grad_cases[i], false, SAMARA_FLOAT32, SMR_ISA_NONE);
    run_case(&conv_grad_cases[i], false, SAMARA_FLOAT16, ~0u);
  }
}

SMR_TEST_MAIN(RUN(against_the_definition))
