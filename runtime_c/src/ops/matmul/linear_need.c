// SPDX-License-Identifier: Apache-2.0
// Which parts products need.
#include "base/fp.h"

#include "ops/matmul/linear.h"
#include "ops/partition.h"

// From here on rows are cut into tiles of four at least, on every ISA.
enum { LINEAR_SHORT_ROWS = 8 };

samara_status smr_linear_need(struct smr_job *job, const struct smr_f32_gemm_args *args,
                              bool columns_vary) {
  const bool vary = job->dims_vary || columns_vary;
  const size_t vectors = args->source.rows > 1 ? args->source.rows : 1;
  const bool vector = args->indirect == NULL && (vary || args->m <= vectors);
  const bool tiles = args->indirect != NULL || vary || args->m > vectors;
  if (args->source.expand != NULL) SMR_NEED(job, f32_gemm_source);
  if (tiles && args->indirect != NULL) SMR_NEED(job, f32_gemm_indirect);
  if (args->w_type == SMR_GEMM_F16) {
    if (vector) SMR_NEED(job, f32_gemv_f16w);
    if (tiles) SMR_NEED(job, f32_gemm_f16w);
    return SAMARA_OK;
  }
  if (vector) SMR_NEED(job, f32_gemv);
  if (!tiles) return SAMARA_OK;
  SMR_NEED(job, f32_gemm);
  if (vary || args->m < LINEAR_SHORT_ROWS) SMR_NEED(job, f32_gemm_short);
  const size_t last = (args->n + SMR_PANEL - 1) % SMR_PANEL + 1;
  if (columns_vary || last <= SMR_PANEL / 2) SMR_NEED(job, f32_gemm_half);
  if (args->indirect == NULL &&
      (columns_vary || (args->n <= SMR_PANEL && args->n == last && last > SMR_PANEL / 2)))
    SMR_NEED(job, f32_gemm_tall);
  return SAMARA_OK;
}

samara_status smr_linear_plan(struct smr_job *job, const struct smr_f32_gemm_args *args,
                              struct smr_f32_gemm_plan *plan) {
  SMR_TRY(smr_linear_need(job, args, job->dims_vary && job->inputs[1]->constant < 0));
  smr_f32_gemm_plan_make(smr_linear_config_of(job, args->w_type), args, plan);
  if (!args->source.rows) smr_f32_gemm_plan_share(plan, smr_partition(job));
  return SAMARA_OK;
}

samara_status smr_linear_need_any(struct smr_job *job) {
  const struct smr_f32_gemm_args any = {.m = 1};
  return smr_linear_need(job, &any, true);
}
