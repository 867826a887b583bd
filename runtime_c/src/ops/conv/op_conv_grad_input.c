// SPDX-License-Identifier: Apache-2.0
// conv_grad_input: what a convolution's input gets from the gradient of its output.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/conv/conv_transpose.h"
#include "ops/table/funcs.h"

// A convolution's weights [O, kernel, C / groups]: outputs are what is summed over here.
static samara_status grad_input_prepare(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  const size_t groups = (size_t)SMR_ATTR(job, conv_grad_input, groups)->i;
  *s = (struct smr_conv_transpose){
      .groups = groups, .channels = (size_t)w->dims[0] / groups, .n = (size_t)w->dims[w->rank - 1]};
  SMR_TRY(
      smr_window_read(job, SMR_ATTR_GROUP(job, conv_grad_input, window), w->dims + 1, &s->window));
  s->n_stride = 1;
  s->tap_stride = s->n;
  s->k_stride = s->n * (size_t)smr_window_taps(&s->window);
  s->group_stride = s->channels * s->k_stride;
  return smr_conv_transpose_prepare(job, NULL, s);
}

const struct smr_op_funcs smr_op_conv_grad_input_funcs = {
    .check = smr_linear_check_floats,
    .prepare = grad_input_prepare,
    .pack = smr_linear_pack,
    .run = smr_conv_transpose_run,
    .state_bytes = sizeof(struct smr_conv_transpose)};
