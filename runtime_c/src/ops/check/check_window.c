// SPDX-License-Identifier: Apache-2.0
// Check classes of convolutions and pools.
#include "base/fp.h"

#include "kernels/f32_gemm/f32_gemm.h"
#include "ops/check/check.h"
#include "ops/conv/window.h"
#include "ops/matmul/linear.h"

#include <inttypes.h>

// Output dims: [batch, `out`, channels].
static samara_status check_window_out(const struct smr_job *job, const int64_t *out,
                                      uint32_t spatial, int64_t channels) {
  int64_t dims[2 + SMR_MAX_SPATIAL];
  dims[0] = job->inputs[0]->dims[0];
  for (uint32_t i = 0; i < spatial; i++) dims[1 + i] = out[SMR_MAX_SPATIAL - spatial + i];
  dims[1 + spatial] = channels;
  return smr_expect_dims(job, job->outputs[0], "output", dims, 2 + spatial);
}

// w [O, kernel, C / groups], bias [O], residual as the output; groups divides C and O.
static samara_status check_weights(const struct smr_job *job, int64_t g,
                                   struct smr_window *window) {
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1], *y = job->outputs[0];
  const struct smr_tensor *bias = smr_optional_input(job, 2),
                          *residual = smr_optional_input(job, 3);
  SMR_TRY(smr_expect_rank(job, w, "w", x->rank, x->rank));
  SMR_TRY(smr_window_read(job, SMR_ATTR_GROUP(job, conv, window), w->dims + 1, window));
  const int64_t c = window->channels_in, o = w->dims[0];
  if (g < 1 || c % g != 0 || o % g != 0 || w->dims[w->rank - 1] != c / g)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: %" PRId64 " input and %" PRId64 " output channels in %" PRId64
             " groups do not match the %" PRId64 " input channels of a group in w",
             job->op->name, c, o, g, w->dims[w->rank - 1]);
  if (bias != NULL) SMR_TRY(smr_expect_dims(job, bias, "bias", &o, 1));
  if (residual != NULL) SMR_TRY(smr_expect_dims(job, residual, "residual", y->dims, y->rank));
  return SAMARA_OK;
}

// Output pixels: floor((in + pads - extent) / stride) + 1.
samara_status smr_check_conv(const struct smr_job *job) {
  const struct smr_tensor *w = job->inputs[1];
  struct smr_window window;
  const int64_t groups = SMR_ATTR(job, conv, groups)->i;
  int64_t out[SMR_MAX_SPATIAL];
  SMR_TRY(check_weights(job, groups, &window));
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) out[i] = smr_window_out(&window, i, 0);
  SMR_TRY(check_window_out(job, out, window.spatial, w->dims[0]));
  if (w->layout == SMR_LAYOUT_PLAIN) return SAMARA_OK;
  const int64_t taps = smr_product(w->dims + 1, window.spatial);
  const int64_t channels = w->dims[w->rank - 1], in_group = w->dims[0] / groups;
  if (w->layout == SMR_LAYOUT_DWPANEL && groups == w->dims[0] && channels == 1)
    return smr_check_panels(job, w, (groups + SMR_PANEL - 1) / SMR_PANEL, taps);
  if (w->layout == SMR_LAYOUT_PANEL)
    return smr_check_panels(job, w, groups * ((in_group + SMR_PANEL - 1) / SMR_PANEL),
                            taps * channels);
  SMR_FAIL(job->error, BAD_SHAPE, "%s: weights are in layout %u", job->op->name,
           (unsigned)w->layout);
}

// Output pixels: (in - 1) * stride + extent + output_padding - pads.
samara_status smr_check_conv_transpose(const struct smr_job *job) {
  struct smr_window window;
  int64_t out[SMR_MAX_SPATIAL] = {1, 1, 1};
  SMR_TRY(check_weights(job, SMR_ATTR(job, conv_transpose, groups)->i, &window));
  const uint32_t skip = SMR_MAX_SPATIAL - window.spatial;
  const int64_t *extra;
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, conv_transpose, output_padding), window.spatial, 0,
                          INT32_MAX, &extra));
  for (uint32_t i = skip; i < SMR_MAX_SPATIAL; i++) {
    if (window.in[i] == 0)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: spatial axis %u is empty", job->op->name,
               (unsigned)(i - skip));
    out[i] = (window.in[i] - 1) * window.stride[i] + smr_window_extent(&window, i) +
             extra[i - skip] - window.pad_begin[i] - window.pad_end[i];
  }
  return check_window_out(job, out, window.spatial, job->inputs[1]->dims[0]);
}

samara_status smr_check_pool(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  SMR_TRY(smr_expect_rank(job, x, "input", 3, 2 + SMR_MAX_SPATIAL));
  const uint32_t spatial = x->rank - 2u, skip = SMR_MAX_SPATIAL - spatial;
  const int64_t *kernel, *extend = NULL;
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, max_pool, kernel), spatial, 1, INT32_MAX, &kernel));
  struct smr_window window;
  SMR_TRY(smr_window_read(job, SMR_ATTR_GROUP(job, max_pool, window), kernel, &window));
  if (smr_has_form(job, SMR_FORM_EXTEND) && SMR_ATTR(job, avg_pool, extend)->count != 0)
    SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, avg_pool, extend), spatial, 0, INT32_MAX, &extend));
  int64_t out[SMR_MAX_SPATIAL];
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    out[i] = smr_window_out(&window, i, extend != NULL && i >= skip ? extend[i - skip] : 0);
  return check_window_out(job, out, spatial, x->dims[x->rank - 1]);
}
