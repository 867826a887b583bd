// SPDX-License-Identifier: Apache-2.0
// softmax_grad and log_softmax_grad along an axis: dy, y -> dx.
#include "base/fp.h"

#include "kernels/f32_softmax_grad/f32_softmax_grad.h"
#include "ops/axis.h"
#include "ops/check/check.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

struct softmax_grad_state {
  struct smr_axis axis;  // first member
  const struct smr_f32_softmax_grad *kernels;
  size_t log;
};

static samara_status softmax_grad_check(const struct smr_job *job) {
  const struct smr_tensor *dy = job->inputs[0];
  SMR_TRY(smr_expect_dtype(job, dy, "input", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_same_dtype(job, dy, job->inputs[1], "inputs"));
  SMR_TRY(smr_expect_dims(job, job->inputs[1], "y", dy->dims, dy->rank));
  return smr_expect_same_dtype(job, dy, job->outputs[0], "input and output");
}

static samara_status softmax_grad_prepare_any(struct smr_job *job, size_t log) {
  struct softmax_grad_state *s = job->state;
  s->axis = smr_axis_of(job->inputs[0], SMR_ATTR(job, softmax_grad, axis)->i);
  s->kernels = smr_f32_softmax_grad_config(job->isa);
  s->log = log;
  job->kernel = s->kernels->name;
  job->tiles = smr_axis_tiles(&s->axis);
  return SAMARA_OK;
}

static samara_status softmax_grad_prepare(struct smr_job *job) {
  return softmax_grad_prepare_any(job, 0);
}
static samara_status log_softmax_grad_prepare(struct smr_job *job) {
  return softmax_grad_prepare_any(job, 1);
}

static void softmax_grad(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct softmax_grad_state *s = job->state;
  const float *dy = (const float *)job->inputs[0]->data + span->offset;
  const float *y = (const float *)job->inputs[1]->data + span->offset;
  float *dx = (float *)job->outputs[0]->data + span->offset;
  if (s->axis.inner == 1)
    s->kernels->row[s->log](s->axis.n, dy, y, dx);
  else
    s->kernels->columns[s->log](s->axis.n, span->count, s->axis.inner, dy, y, dx);
}

static samara_status softmax_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                      void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, softmax_grad);
}

SMR_WIDENED_OP(softmax_grad, softmax_grad_check, softmax_grad_prepare, softmax_grad_run,
               sizeof(struct softmax_grad_state))
SMR_WIDENED_OP(log_softmax_grad, softmax_grad_check, log_softmax_grad_prepare, softmax_grad_run,
               sizeof(struct softmax_grad_state))
