// SPDX-License-Identifier: Apache-2.0
// Check classes of the normalisations.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

// Outputs: the dims of x = [..., C], then [C] each.
static samara_status check_channel_outputs(const struct smr_job *job, const struct smr_tensor *x) {
  for (uint32_t i = 1; i < job->output_count; i++)
    SMR_TRY(
        smr_expect_dims(job, job->outputs[i], "an output of channels", x->dims + x->rank - 1, 1));
  return smr_expect_dims(job, job->outputs[0], "output", x->dims, x->rank);
}

static samara_status check_groups(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const int64_t groups = SMR_ATTR(job, group_norm, groups)->i, channels = x->dims[x->rank - 1];
  if (groups < 0 || (groups > 0 && channels % groups != 0))
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %" PRId64 " groups do not divide %" PRId64 " channels",
             job->op->name, groups, channels);
  return SAMARA_OK;
}

// Output dims equal those of input 0; scale and bias, where present, have the normalised dims,
// those from `axis` to the last.
samara_status smr_check_norm(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, layer_norm, axis)->i, x->rank, &axis));
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

// The same, but `groups` divides C; 0 stands for C.
samara_status smr_check_group_norm(const struct smr_job *job) {
  SMR_TRY(smr_check_channel_norm(job));
  return check_groups(job);
}

// Inputs 0 and 1 have dims [..., C]; output 0 has them, too, and outputs 1 and 2 are [C]. Inputs
// from 2 on, where present, are [C].
samara_status smr_check_batch_norm_grad(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[1];
  SMR_TRY(smr_expect_rank(job, x, "input", 2, SAMARA_MAX_RANK));
  SMR_TRY(smr_expect_dims(job, job->inputs[0], "dy", x->dims, x->rank));
  for (uint32_t i = 2; i < job->input_count; i++)
    if (job->inputs[i] != NULL)
      SMR_TRY(
          smr_expect_dims(job, job->inputs[i], "a value per channel", x->dims + x->rank - 1, 1));
  return check_channel_outputs(job, x);
}

samara_status smr_check_group_norm_grad(const struct smr_job *job) {
  SMR_TRY(smr_check_batch_norm_grad(job));
  return check_groups(job);
}

// Output 0 has the dims of input 0, [..., C]; inputs 1 and 2, where present, and the other outputs
// are [C].
samara_status smr_check_batch_norm(const struct smr_job *job) {
  SMR_TRY(smr_check_channel_norm(job));
  return check_channel_outputs(job, job->inputs[0]);
}

// Inputs 0 and 1 and output 0 have equal dims; scale, where present, and the other outputs have
// those from `axis` to the last.
samara_status smr_check_norm_grad(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[1], *scale = smr_optional_input(job, 2);
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, layer_norm_grad, axis)->i, x->rank, &axis));
  SMR_TRY(smr_expect_dims(job, job->inputs[0], "dy", x->dims, x->rank));
  if (scale != NULL) SMR_TRY(smr_expect_dims(job, scale, "scale", x->dims + axis, x->rank - axis));
  for (uint32_t i = 1; i < job->output_count; i++)
    SMR_TRY(smr_expect_dims(job, job->outputs[i], i == 1 ? "dscale" : "dbias", x->dims + axis,
                            x->rank - axis));
  return smr_expect_dims(job, job->outputs[0], "dx", x->dims, x->rank);
}

// Logits are [N, C] with C >= 1, the vectors of rows [N], and the weights, where present, [C].
static samara_status check_cross_entropy(const struct smr_job *job, uint32_t logits,
                                         uint32_t weight) {
  const struct smr_tensor *x = job->inputs[logits], *w = smr_optional_input(job, weight);
  SMR_TRY(smr_expect_rank(job, x, "logits", 2, 2));
  if (x->dims[1] < 1) SMR_FAIL(job->error, BAD_SHAPE, "%s: there are no classes", job->op->name);
  for (uint32_t i = 0; i < weight; i++)
    if (i != logits) SMR_TRY(smr_expect_dims(job, job->inputs[i], "an input of rows", x->dims, 1));
  return w != NULL ? smr_expect_dims(job, w, "weight", x->dims + 1, 1) : SAMARA_OK;
}

samara_status smr_check_cross_entropy(const struct smr_job *job) {
  SMR_TRY(check_cross_entropy(job, 0, 2));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_expect_dims(job, job->outputs[i], "output", job->inputs[0]->dims, 1));
  return SAMARA_OK;
}

// The same for the gradient, whose output has the dims of the logits.
samara_status smr_check_cross_entropy_grad(const struct smr_job *job) {
  SMR_TRY(check_cross_entropy(job, 1, 4));
  return smr_expect_dims(job, job->outputs[0], "output", job->inputs[1]->dims, 2);
}
