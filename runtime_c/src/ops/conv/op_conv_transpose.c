// SPDX-License-Identifier: Apache-2.0
// conv_transpose: transposed convolutions with a fused epilogue.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/conv/conv_transpose.h"
#include "ops/table/funcs.h"

static samara_status transposed_begin(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  const int64_t groups = SMR_ATTR(job, conv_transpose, groups)->i;
  SMR_TRY(smr_conv_transpose_begin(job, SMR_ATTR_GROUP(job, conv_transpose, window),
                                   SMR_ATTR_GROUP(job, conv_transpose, epilogue), groups,
                                   w->dims[w->rank - 1], w->dims[0] / groups));
  s->derives = true;
  s->k_stride = 1;
  s->tap_stride = s->phases.channels;
  s->n_stride = s->phases.channels * (size_t)smr_window_taps(&s->phases.window);
  s->group_stride = s->phases.n * s->n_stride;
  return SAMARA_OK;
}

static samara_status transposed_check(const struct smr_job *job) {
  return smr_linear_check_weights(job, 0);
}

static const struct smr_algorithms transposed_algorithms = {
    .begin = transposed_begin,
    .count = SMR_CONV_TRANSPOSE_ROWS,
    .rows = smr_conv_transpose_rows,
};

const struct smr_op_funcs smr_op_conv_transpose_funcs = {
    .check = transposed_check,
    .prepare = smr_prepare_algorithm,
    .pack = smr_conv_transpose_pack,
    .algorithms = &transposed_algorithms,
    .state_bytes = sizeof(struct smr_conv_transpose),
};
