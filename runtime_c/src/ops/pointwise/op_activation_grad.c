// SPDX-License-Identifier: Apache-2.0
// activation_grad: dx from dy and the activation's operand or result, element by element.
#include "base/fp.h"

#include "kernels/f32_activation_grad/f32_activation_grad.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

struct activation_grad_state {
  smr_f32_activation_grad_ukernel kernel;
  float params[2];
};

static samara_status activation_grad_check(const struct smr_job *job) {
  const struct smr_tensor *dy = job->inputs[0];
  SMR_TRY(smr_expect_dtype(job, dy, "input", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_same_dtype(job, dy, job->inputs[1], "inputs"));
  SMR_TRY(smr_expect_dims(job, job->inputs[1], "v", dy->dims, dy->rank));
  return smr_expect_same_dtype(job, dy, job->outputs[0], "input and output");
}

static samara_status activation_grad_prepare(struct smr_job *job) {
  struct activation_grad_state *s = job->state;
  const enum smr_f32_activation_grad kind =
      (enum smr_f32_activation_grad)SMR_ATTR(job, activation_grad, kind)->i;
  s->kernel = smr_f32_activation_grad_kernel(job->isa, kind);
  s->params[0] = SMR_ATTR(job, activation_grad, alpha)->f;
  s->params[1] = SMR_ATTR(job, activation_grad, beta)->f;
  job->kernel = smr_f32_activation_grad_kernel_name(job->isa);
  job->tiles = smr_grain_tiles((size_t)smr_numel(job->outputs[0]));
  return SAMARA_OK;
}

static samara_status activation_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                         void *thread_scratch) {
  (void)thread_scratch;
  const struct activation_grad_state *s = job->state;
  const size_t from = begin * SMR_GRAIN;
  const size_t n = smr_grain_end((size_t)smr_numel(job->outputs[0]), end) - from;
  const float *dy = job->inputs[0]->data, *v = job->inputs[1]->data;
  s->kernel(n, dy + from, v + from, (float *)job->outputs[0]->data + from, s->params);
  return SAMARA_OK;
}

SMR_WIDENED_OP(activation_grad, activation_grad_check, activation_grad_prepare, activation_grad_run,
               sizeof(struct activation_grad_state))
