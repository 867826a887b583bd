// SPDX-License-Identifier: Apache-2.0
// conv_grad_weight: the gradient of a convolution's weights, from the gradient of its output.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/conv/weight_grad.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

static samara_status grad_weight_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "dy", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[1], "dy and x"));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "dy and output");
}

static samara_status grad_weight_prepare(struct smr_job *job) {
  struct smr_weight_grad *s = job->state;
  const size_t groups = (size_t)SMR_ATTR(job, conv_grad_weight, groups)->i;
  *s = (struct smr_weight_grad){.groups = groups};
  SMR_TRY(smr_window_read_between(job, SMR_ATTR_GROUP(job, conv_grad_weight, window),
                                  job->inputs[1], job->inputs[0],
                                  SMR_ATTR(job, conv_grad_weight, kernel)->ints, &s->window));
  s->a_channels = (size_t)s->window.channels_out / groups;
  s->b_channels = (size_t)s->window.channels_in / groups;
  return smr_weight_grad_prepare(job, s);
}

static samara_status grad_weight_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  return smr_weight_grad_run(job, job->state, job->inputs[0]->data, job->inputs[1]->data,
                             job->outputs[0]->data, begin, end, thread_scratch);
}

SMR_WIDENED_OP(conv_grad_weight, grad_weight_check, grad_weight_prepare, grad_weight_run,
               sizeof(struct smr_weight_grad))
