// SPDX-License-Identifier: Apache-2.0
// Which parts the dims of a product need. base/parts_test.c tests builds without them.
#include "base/fp.h"

#include "harness.h"
#include "ops/matmul/linear.h"

static const float *const some_pointers[1] = {NULL};

static struct smr_parts needs_of(const struct smr_f32_gemm_args *args, bool dims_vary,
                                 bool columns_vary) {
  struct smr_parts parts = {{0}};
  struct smr_job job = {.parts = &parts, .dims_vary = dims_vary};
  CHECK_EQ_INT(smr_linear_need(&job, args, columns_vary), SAMARA_OK);
  return parts;
}

static bool has(const struct smr_parts *parts, size_t part) {
  return smr_parts_have(parts, part) != 0;
}

SMR_TEST(rows_and_columns) {
  struct smr_parts p = needs_of(&(struct smr_f32_gemm_args){.m = 1, .n = 24}, false, false);
  CHECK(has(&p, SMR_PART_f32_gemv) && !has(&p, SMR_PART_f32_gemm));
  p = needs_of(&(struct smr_f32_gemm_args){.m = 7, .n = 24}, false, false);
  CHECK(has(&p, SMR_PART_f32_gemm_short) && has(&p, SMR_PART_f32_gemm_half));
  CHECK(!has(&p, SMR_PART_f32_gemv) && !has(&p, SMR_PART_f32_gemm_tall));
  p = needs_of(&(struct smr_f32_gemm_args){.m = 8, .n = 16}, false, false);
  CHECK(has(&p, SMR_PART_f32_gemm_tall) && !has(&p, SMR_PART_f32_gemm_short));
  p = needs_of(&(struct smr_f32_gemm_args){.m = 8, .n = 16, .indirect = some_pointers}, false,
               false);
  CHECK(has(&p, SMR_PART_f32_gemm_indirect) && !has(&p, SMR_PART_f32_gemm_tall));
}

SMR_TEST(what_varies) {
  struct smr_parts p = needs_of(&(struct smr_f32_gemm_args){.m = 64, .n = 32}, true, false);
  CHECK(has(&p, SMR_PART_f32_gemv) && has(&p, SMR_PART_f32_gemm_short));
  CHECK(!has(&p, SMR_PART_f32_gemm_half));
  p = needs_of(&(struct smr_f32_gemm_args){.m = 64, .n = 32}, true, true);
  CHECK(has(&p, SMR_PART_f32_gemm_half) && has(&p, SMR_PART_f32_gemm_tall));
}

SMR_TEST(float16_weights) {
  struct smr_parts p =
      needs_of(&(struct smr_f32_gemm_args){.m = 64, .n = 24, .w_type = SMR_GEMM_F16}, false, false);
  CHECK(has(&p, SMR_PART_f32_gemm_f16w) && !has(&p, SMR_PART_f32_gemm));
}

SMR_TEST_MAIN(RUN(rows_and_columns); RUN(what_varies); RUN(float16_weights))
