// SPDX-License-Identifier: Apache-2.0
// conv_transpose: convolutions that spread each input pixel, with a fused epilogue.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/conv/conv_transpose.h"
#include "ops/table/funcs.h"

static samara_status transposed_prepare(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  const size_t groups = (size_t)SMR_ATTR(job, conv_transpose, groups)->i;
  *s = (struct smr_conv_transpose){.groups = groups,
                                   .channels = (size_t)w->dims[w->rank - 1],
                                   .n = (size_t)w->dims[0] / groups,
                                   .derives = true};
  SMR_TRY(
      smr_window_read(job, SMR_ATTR_GROUP(job, conv_transpose, window), w->dims + 1, &s->window));
  s->k_stride = 1;
  s->tap_stride = s->channels;
  s->n_stride = s->channels * (size_t)smr_window_taps(&s->window);
  s->group_stride = s->n * s->n_stride;
  return smr_conv_transpose_prepare(job, SMR_ATTR_GROUP(job, conv_transpose, epilogue), s);
}

static samara_status transposed_check(const struct smr_job *job) {
  return smr_linear_check_weights(job, 0);
}

const struct smr_op_funcs smr_op_conv_transpose_funcs = {
    .check = transposed_check,
    .prepare = transposed_prepare,
    .pack = smr_linear_pack,
    .run = smr_conv_transpose_run,
    .state_bytes = sizeof(struct smr_conv_transpose)};
