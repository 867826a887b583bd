// SPDX-License-Identifier: Apache-2.0
// Sources of weights and biases of products, scratch, the epilogue.
#include "base/fp.h"

#include "ops/matmul/linear.h"

#include "ops/matmul/linear_data.h"

struct source_case {
  int64_t n;
  bool w_constant, bias_constant, bias_padded;
  int derived;
  bool scratch;
};

// A matmul [2, 3] x [3, n] with bias: which copies it asks for.
static void sources(const struct source_case *c) {
  struct op_test t;
  op_begin(&t, "matmul");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(3, c->n), NULL)->constant = c->w_constant ? 1 : -1;
  struct smr_tensor *bias = op_in(&t, SAMARA_FLOAT32, 1, DIMS(c->n), NULL);
  bias->constant = c->bias_constant ? 2 : -1;
  if (c->bias_padded) bias->padded = 1;
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, c->n));
  if (CHECK_EQ_INT(op_test_plan(&t), SAMARA_OK)) {
    int derived = 0;
    while (derived < SMR_MAX_DERIVED && t.job.derived[derived].input >= 0) derived++;
    CHECK_EQ_INT(derived, c->derived);
    CHECK_EQ_INT(t.job.scratch_bytes > 0, c->scratch);
    if (c->w_constant) CHECK_EQ_INT(t.job.derived[0].size_bytes, (size_t)(c->n + 15) / 16 * 192);
  }
  op_end(&t);
}

SMR_TEST(where_operands_come_from) {
  static const struct source_case cases[] = {
      {20, true, true, false, 2, false},   // both repacked once
      {20, true, true, true, 1, false},    // the file padded the bias
      {32, true, false, false, 1, false},  // whole panels need no padding
      {20, true, false, false, 1, true},  {20, false, true, false, 1, true},
      {20, false, false, false, 0, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) sources(&cases[i]);
}

SMR_TEST(scratch) {
  struct op_test t;
  op_begin(&t, "matmul");
  size_t offset = 99;
  CHECK_EQ_INT(smr_scratch_take(&t.job, 3, 4, &offset), SAMARA_OK);
  CHECK_EQ_INT(offset, 0);
  CHECK_EQ_INT(smr_scratch_take(&t.job, 65, 1, &offset), SAMARA_OK);
  CHECK_EQ_INT(offset, 64);
  CHECK_EQ_INT(t.job.scratch_bytes, 192);
  CHECK_EQ_INT(smr_thread_scratch_take(&t.job, 1, 1, &offset), SAMARA_OK);
  CHECK_EQ_INT(t.job.thread_scratch_bytes, 64);
  CHECK_EQ_INT(smr_scratch_take(&t.job, SIZE_MAX, 1, &offset), SAMARA_LIMIT);
  CHECK_EQ_INT(smr_scratch_take(&t.job, SIZE_MAX / 2, 4, &offset), SAMARA_LIMIT);
  CHECK_EQ_INT(smr_scratch_take(&t.job, PTRDIFF_MAX - 64, 1, &offset), SAMARA_LIMIT);
  CHECK_EQ_INT(t.job.scratch_bytes, 192);
  op_end(&t);
}

// A bias may be float16 if the weights are. Values exact in float16 give the same sums.
SMR_TEST(float16_bias) {
  float *x = linear_floats(5 * 40, 1), *w = linear_floats(40 * 20, 2), *bias = linear_floats(20, 3);
  for (int constant = 0; constant < 2; constant++) {
    struct op_test t[2];
    for (int narrow = 0; narrow < 2; narrow++) {
      op_begin(&t[narrow], "matmul");
      linear_in(&t[narrow], SAMARA_FLOAT32, 2, DIMS(5, 40), x);
      linear_in(&t[narrow], SAMARA_FLOAT16, 2, DIMS(40, 20), w)->constant = constant ? 1 : -1;
      linear_in(&t[narrow], narrow ? SAMARA_FLOAT16 : SAMARA_FLOAT32, 1, DIMS(20), bias)->constant =
          constant ? 2 : -1;
      op_out(&t[narrow], SAMARA_FLOAT32, 2, DIMS(5, 20));
      CHECK_EQ_INT(op_run(&t[narrow]), SAMARA_OK);
    }
    op_expect_bytes(&t[1], 0, t[0].out[0].data, t[0].out[0].size_bytes);
    op_end(&t[0]), op_end(&t[1]);
  }
  free(x), free(w), free(bias);
}

// A product [5, 40] x [40, 20] and a convolution of these dtypes take this kernel.
static void takes(uint8_t x, uint8_t w, bool strict, uint32_t isa, const char *kernel) {
  struct op_test t;
  op_begin(&t, "matmul");
  t.job.isa = isa;
  t.job.strict = strict;
  op_in(&t, x, 2, DIMS(5, 40), NULL);
  op_in(&t, w, 2, DIMS(40, 20), NULL);
  op_out(&t, x, 2, DIMS(5, 20));
  if (CHECK_EQ_INT(op_test_plan(&t), SAMARA_OK)) CHECK_STR(t.job.kernel, kernel);
  op_end(&t);
  op_begin(&t, "conv");
  op_ints(&t, "strides", 2, DIMS(1, 1));
  op_ints(&t, "dilations", 2, DIMS(1, 1));
  op_ints(&t, "pads", 4, DIMS(0, 0, 0, 0));
  t.job.isa = isa;
  t.job.strict = strict;
  op_in(&t, x, 4, DIMS(1, 9, 9, 32), NULL);
  op_in(&t, w, 4, DIMS(20, 3, 3, 32), NULL);
  op_out(&t, x, 4, DIMS(1, 7, 7, 20));
  if (CHECK_EQ_INT(op_test_plan(&t), SAMARA_OK)) CHECK_STR(t.job.kernel, kernel);
  op_end(&t);
}

// Float16 arithmetic: weights alone are float16, the caller allows it and the CPU has it.
SMR_TEST(who_multiplies_in_float16) {
  const uint32_t neon = SMR_ISA_NEON, half = SMR_ISA_NEON | SMR_ISA_NEON_FP16;
  if (!SMR_ARCH_AARCH64) SKIP("another architecture");
  takes(SAMARA_FLOAT32, SAMARA_FLOAT16, false, half, "f32_gemm_8x64_f16w__neon_fp16");
  takes(SAMARA_FLOAT32, SAMARA_FLOAT16, false, neon, "f32_gemm_8x16_f16w__neon");
  takes(SAMARA_FLOAT32, SAMARA_FLOAT16, true, half, "f32_gemm_8x16_f16w__neon");
  takes(SAMARA_FLOAT16, SAMARA_FLOAT16, false, half, "f32_gemm_8x16_f16w__neon");
  takes(SAMARA_FLOAT32, SAMARA_FLOAT32, false, half, "f32_gemm_8x16__neon");
}

SMR_TEST_MAIN(RUN(where_operands_come_from); RUN(scratch); RUN(float16_bias);
              RUN(who_multiplies_in_float16))
