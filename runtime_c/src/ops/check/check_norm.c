// SPDX-License-Identifier: Apache-2.0
// Check classes of the normalisations.
#include "base/fp.h"

#include "ops/check/check.h"

// Names, for messages, of the inputs after x and of the outputs after the first (NULL: none).
struct norm_names {
  const char *scale, *bias, *first, *second;
};

// Inputs after x and outputs after the first have the dims of x from `axis` on; input 0 and output
// 0 have all dims of x.
static samara_status check_normalised(const struct smr_job *job, uint32_t x_input, uint32_t axis,
                                      const struct norm_names names) {
  const struct smr_tensor *x = job->inputs[x_input];
  const int64_t *tail = x->dims + axis;
  const uint32_t rank = x->rank - axis;
  if (x_input == 1) SMR_TRY(smr_expect_dims(job, job->inputs[0], "dy", x->dims, x->rank));
  for (uint32_t i = x_input + 1; i < job->input_count; i++)
    if (job->inputs[i] != NULL)
      SMR_TRY(smr_expect_dims(job, job->inputs[i], i == x_input + 1 ? names.scale : names.bias,
                              tail, rank));
  for (uint32_t i = 1; names.first != NULL && i < job->output_count; i++)
    SMR_TRY(smr_expect_dims(job, job->outputs[i], i == 1 ? names.first : names.second, tail, rank));
  return smr_expect_dims(job, job->outputs[0], x_input == 1 ? "dx" : "output", x->dims, x->rank);
}

samara_status smr_check_norm(const struct smr_job *job) {
  const bool grad = smr_has_form(job, SMR_FORM_GRAD);
  const int64_t given = SMR_ATTR(job, layer_norm, axis)->i;
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, given, job->inputs[grad]->rank, &axis));
  const struct norm_names names = {"scale", "bias", grad ? "dscale" : NULL, "dbias"};
  return check_normalised(job, grad, axis, names);
}

samara_status smr_check_channels(const struct smr_job *job) {
  const bool grad = smr_has_form(job, SMR_FORM_GRAD);
  const struct smr_tensor *x = job->inputs[grad];
  SMR_TRY(smr_expect_rank(job, x, "input", 2, SAMARA_MAX_RANK));
  static const char value[] = "a value per channel", gradient[] = "a gradient per channel";
  const struct norm_names plain = {"scale", "bias", value, value};
  const struct norm_names names = {value, value, gradient, gradient};
  return check_normalised(job, grad, x->rank - 1u, grad ? names : plain);
}
