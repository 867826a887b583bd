// SPDX-License-Identifier: Apache-2.0
// conv_grad_input: the gradient of a convolution's input, from the gradient of its output.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/conv/conv_transpose.h"
#include "ops/table/funcs.h"

// Weights are those of the convolution, [O, kernel, C / groups]. Here the sum runs over O.
static samara_status grad_input_begin(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  const int64_t groups = SMR_ATTR(job, conv_grad_input, groups)->i;
  SMR_TRY(smr_conv_transpose_begin(job, SMR_ATTR_GROUP(job, conv_grad_input, window), NULL, groups,
                                   w->dims[0] / groups, w->dims[w->rank - 1]));
  s->n_stride = 1;
  s->tap_stride = s->phases.n;
  s->k_stride = s->phases.n * (size_t)smr_window_taps(&s->phases.window);
  s->group_stride = s->phases.channels * s->k_stride;
  return SAMARA_OK;
}

static const struct smr_algorithms grad_input_algorithms = {
    .begin = grad_input_begin,
    .count = SMR_CONV_TRANSPOSE_ROWS,
    .rows = smr_conv_transpose_rows,
};

const struct smr_op_funcs smr_op_conv_grad_input_funcs = {
    .check = smr_linear_check_floats,
    .prepare = smr_prepare_algorithm,
    .pack = smr_conv_transpose_pack,
    .algorithms = &grad_input_algorithms,
    .state_bytes = sizeof(struct smr_conv_transpose),
};
