// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and hardmax along an axis.
#include "base/fp.h"

#include "kernels/f32_softmax/f32_softmax.h"
#include "ops/axis.h"
#include "ops/check.h"
#include "ops/funcs.h"
#include "ops/widen.h"

struct softmax_state {
  struct smr_axis axis;
  const struct smr_f32_softmax *kernels;
  size_t log;
};

static samara_status softmax_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_FLOAT));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and output");
}

static samara_status softmax_prepare_any(struct smr_job *job, size_t log) {
  struct softmax_state *s = job->state;
  s->axis = smr_axis_of(job->inputs[0], smr_op_attr_int(job, "axis"));
  s->kernels = smr_f32_softmax_config(job->isa);
  s->log = log;
  job->kernel = s->kernels->name;
  job->tiles = smr_axis_tiles(&s->axis);
  return SAMARA_OK;
}

static samara_status softmax_prepare(struct smr_job *job) { return softmax_prepare_any(job, 0); }
static samara_status log_softmax_prepare(struct smr_job *job) {
  return softmax_prepare_any(job, 1);
}

static samara_status softmax_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *thread_scratch) {
  (void)thread_scratch;
  const struct softmax_state *s = job->state;
  const float *x = job->inputs[0]->data;
  float *y = job->outputs[0]->data;
  struct smr_axis_span span;
  for (struct smr_axis_walk walk = smr_axis_start(&s->axis, begin, end);
       smr_axis_next(&s->axis, &walk, &span);) {
    if (s->axis.inner == 1)
      s->kernels->row[s->log](s->axis.n, x + span.offset, y + span.offset);
    else
      s->kernels->columns[s->log](s->axis.n, span.count, s->axis.inner, x + span.offset,
                                  y + span.offset);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(softmax, softmax_check, softmax_prepare, softmax_run, sizeof(struct softmax_state))
SMR_WIDENED_OP(log_softmax, softmax_check, log_softmax_prepare, softmax_run,
               sizeof(struct softmax_state))

static samara_status hardmax_prepare(struct smr_job *job) {
  SMR_TRY(softmax_prepare_any(job, 0));
  job->kernel = "hardmax";
  return SAMARA_OK;
}

static samara_status hardmax_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *thread_scratch) {
  (void)thread_scratch;
  const struct softmax_state *s = job->state;
  const size_t stride = s->axis.inner;
  struct smr_axis_span span;
  for (struct smr_axis_walk walk = smr_axis_start(&s->axis, begin, end);
       smr_axis_next(&s->axis, &walk, &span);) {
    for (size_t j = 0; j < span.count; j++) {
      const float *x = (const float *)job->inputs[0]->data + span.offset + j;
      float *y = (float *)job->outputs[0]->data + span.offset + j;
      size_t best = 0;
      for (size_t i = 1; i < s->axis.n; i++) {
        const float a = x[best * stride], b = x[i * stride];
        if (b > a || (b != b && a == a)) best = i;
      }
      for (size_t i = 0; i < s->axis.n; i++) y[i * stride] = i == best ? 1.0f : 0.0f;
    }
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(hardmax, softmax_check, hardmax_prepare, hardmax_run, sizeof(struct softmax_state))
