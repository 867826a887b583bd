// SPDX-License-Identifier: Apache-2.0
// Which jobs have an exact form, and the kernels of functions in it.
#include "base/fp.h"

#include "ops/exact.h"

#include "base/isa.h"
#include "harness.h"

static samara_status expect(uint32_t flags, uint8_t dtype, samara_error *error) {
  const struct smr_op op = {.name = "some", .flags = flags};
  struct smr_tensor x = {.dtype = dtype}, y = {.dtype = SAMARA_INT32};
  struct smr_tensor *const inputs[] = {&x, NULL}, *const outputs[] = {&y};
  const struct smr_job job = {.op = &op,
                              .inputs = inputs,
                              .outputs = outputs,
                              .input_count = 2,
                              .output_count = 1,
                              .error = error};
  return smr_op_expect_exact(&job);
}

SMR_TEST(floats_need_an_exact_form) {
  samara_error error = {0};
  CHECK(expect(0, SAMARA_INT8, &error) == SAMARA_OK);
  CHECK(expect(0, SAMARA_FLOAT32, &error) == SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "some has no exact form: ");
  CHECK_CONTAINS(error.text, "SAMARA_EXACT_OFF");
  CHECK(expect(SMR_OP_EXACT, SAMARA_FLOAT32, &error) == SAMARA_OK);
  CHECK(expect(SMR_OP_EXACT, SAMARA_FLOAT16, &error) == SAMARA_OK);
  CHECK(expect(SMR_OP_EXACT, SAMARA_FLOAT64, &error) == SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "for float64");
  CHECK(expect(SMR_OP_SETTLED, SAMARA_FLOAT64, &error) == SAMARA_OK);
  CHECK(expect(SMR_OP_COPIES, SAMARA_BFLOAT16, &error) == SAMARA_OK);
}

SMR_TEST(functions_have_exact_kernels) {
  samara_error error = {0};
  const struct smr_op op = {.name = "some"};
  struct smr_parts parts = {{0}};
  struct smr_job job = {.op = &op, .error = &error, .parts = &parts};
  const struct smr_f32_exact *exact = smr_f32_exact_config(SMR_ISA_NONE);
  smr_f32_vunary_ukernel kernel = NULL;
  CHECK(smr_exact_function(&job, SMR_F32_SILU, &kernel) == SAMARA_OK);
  CHECK(kernel == exact->function[SMR_F32_EXACT_SILU]);
  CHECK(smr_parts_have(&parts, SMR_PART_f32_exact_silu));
  CHECK(!smr_parts_have(&parts, SMR_PART_f32_exact_exp));
  CHECK(smr_exact_function(&job, SMR_F32_CLAMP, &kernel) == SAMARA_OK);
  CHECK(kernel == exact->function[SMR_F32_EXACT_CLAMP]);
  CHECK(smr_exact_function(&job, SMR_F32_NEG, &kernel) == SAMARA_OK);
  CHECK(kernel == smr_f32_vunary_kernel(SMR_ISA_NONE, SMR_F32_NEG));
  CHECK(smr_exact_function(&job, SMR_F32_SIN, &kernel) == SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "some: its activation has no exact form");
}

SMR_TEST_MAIN(RUN(floats_need_an_exact_form), RUN(functions_have_exact_kernels))
