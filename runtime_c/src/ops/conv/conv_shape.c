// SPDX-License-Identifier: Apache-2.0
// What all convolutions share.
#include "base/fp.h"

#include "ops/conv/conv_shape.h"

#include "ops/check/check.h"

samara_status smr_conv_shape_read(struct smr_job *job, const struct smr_attrs_window *attrs,
                                  int64_t groups) {
  struct smr_conv_shape *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  *s = (struct smr_conv_shape){.groups = (size_t)groups};
  SMR_TRY(smr_window_read(job, attrs, w->dims + 1, &s->window));
  s->taps = (size_t)smr_window_taps(&s->window);
  s->channels = (size_t)w->dims[w->rank - 1];
  s->n = (size_t)(w->dims[0] / groups);
  s->pixels = (size_t)(s->window.batch * smr_window_pixels(&s->window));
  s->depthwise = w->layout == SMR_LAYOUT_DWPANEL ||
                 (w->layout == SMR_LAYOUT_PLAIN && groups == s->window.channels_in &&
                  groups == s->window.channels_out && groups > 1);
  return SAMARA_OK;
}

bool smr_conv_is_padded(const struct smr_conv_shape *s) {
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    if (s->window.pad_begin[i] != 0 || s->window.pad_end[i] != 0) return true;
  return false;
}

bool smr_conv_is_strided(const struct smr_conv_shape *s) {
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    if (s->window.stride[i] != 1) return true;
  return false;
}

bool smr_conv_is_dilated(const struct smr_conv_shape *s) {
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    if (s->window.dilation[i] != 1 && s->window.kernel[i] != 1) return true;
  return false;
}

bool smr_conv_fits_depthwise(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return s->depthwise && s->window.spatial < 3;
}

bool smr_conv_fits_depthwise_3d(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return s->depthwise && s->window.spatial == 3;
}

bool smr_conv_fits_point(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return s->taps == 1 && !s->depthwise && !smr_conv_is_strided(s) && !smr_conv_is_padded(s);
}

smr_work smr_conv_tap_work(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  const int64_t numel = smr_numel(job->outputs[0]);
  return smr_work_of(numel ? numel : 1) * smr_work_of((int64_t)s->taps);
}

smr_work smr_conv_work(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return smr_conv_tap_work(job) * smr_work_of((int64_t)s->channels);
}

bool smr_conv_is_empty(struct smr_job *job) {
  if (smr_numel(job->outputs[0]) != 0) return false;
  job->kernel = "nothing";
  job->tiles = 0;
  return true;
}

// The packed order depends on the number of groups. 0 if that is too large for a key.
static uint32_t conv_key(const struct smr_conv_shape *s) {
  if (s->depthwise) return SMR_LINEAR_KEY_DEPTHWISE;
  return s->groups < SMR_LINEAR_KEY_LIMIT ? SMR_LINEAR_KEY_CONV | (uint32_t)s->groups : 0;
}

void smr_conv_linear(const struct smr_conv_shape *s, struct smr_linear *linear) {
  const size_t depth = s->taps * s->channels;
  *linear = (struct smr_linear){
      .groups = s->depthwise ? 1 : s->groups,
      .taps = 1,
      .k = depth,
      .n = s->depthwise ? (size_t)s->window.channels_out : s->n,
      .group_stride = s->n * depth,
      .k_stride = 1,
      .n_stride = depth,
      .weight_key = conv_key(s),
  };
}

void smr_conv_qlinear(const struct smr_conv_shape *s, struct smr_qlinear *linear) {
  const size_t depth = s->taps * s->channels;
  *linear = (struct smr_qlinear){
      .depthwise = s->depthwise,
      .groups = s->depthwise ? 1 : s->groups,
      .taps = s->depthwise ? s->taps : 1,
      .tap_stride = 1,
      .k = s->depthwise ? 1 : depth,
      .n = s->depthwise ? (size_t)s->window.channels_out : s->n,
      .group_stride = s->n * depth,
      .k_stride = 1,
      .n_stride = depth,
      .weight_key = conv_key(s),
  };
}
