// SPDX-License-Identifier: Apache-2.0
// Check classes of the normalisations.
#include "base/fp.h"

#include "ops/check.h"

// Output dims equal those of input 0; scale and bias, where present, have the normalised dims,
// those from `axis` to the last.
samara_status smr_check_norm(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, smr_op_attr_int(job, "axis"), x->rank, &axis));
  for (uint32_t i = 1; i < job->input_count; i++)
    if (job->inputs[i] != NULL)
      SMR_TRY(smr_expect_dims(job, job->inputs[i], i == 1 ? "scale" : "bias", x->dims + axis,
                              x->rank - axis));
  return smr_expect_dims(job, job->outputs[0], "output", x->dims, x->rank);
}

// Output dims equal those of input 0, [N, ..., C]; scale and bias are [C].
samara_status smr_check_channel_norm(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  SMR_TRY(smr_expect_rank(job, x, "input", 2, SAMARA_MAX_RANK));
  for (uint32_t i = 1; i < job->input_count; i++)
    if (job->inputs[i] != NULL)
      SMR_TRY(smr_expect_dims(job, job->inputs[i], i == 1 ? "scale" : "bias", x->dims + x->rank - 1,
                              1));
  return smr_expect_dims(job, job->outputs[0], "output", x->dims, x->rank);
}
