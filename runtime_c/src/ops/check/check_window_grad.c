// SPDX-License-Identifier: Apache-2.0
// Check classes of the gradients of convolutions and pools.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/conv/window.h"

#include <inttypes.h>

// Check that y, which the window computes from x, has the sizes that follow from x. `extend` is
// added to the end padding of each axis.
static samara_status check_grad_sizes(const struct smr_job *job, const struct smr_window *w,
                                      const struct smr_tensor *y, int64_t channels,
                                      const int64_t *extend) {
  const uint32_t s = w->spatial, skip = SMR_MAX_SPATIAL - s;
  int64_t dims[2 + SMR_MAX_SPATIAL] = {w->batch};
  for (uint32_t i = 0; i < s; i++)
    dims[1 + i] = smr_window_out(w, skip + i, extend != NULL ? extend[i] : 0);
  dims[1 + s] = channels;
  return smr_expect_dims(job, y, "dy", dims, 2 + s);
}

static samara_status check_grad_groups(const struct smr_job *job, int64_t inputs, int64_t outputs,
                                       int64_t *groups) {
  const int64_t g = SMR_ATTR(job, conv_grad_input, groups)->i;
  if (g < 1 || inputs % g != 0 || outputs % g != 0)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: %" PRId64 " input and %" PRId64 " output channels are not %" PRId64 " groups",
             job->op->name, inputs, outputs, g);
  *groups = g;
  return SAMARA_OK;
}

samara_status smr_check_conv_grad_input(const struct smr_job *job) {
  const struct smr_tensor *dy = job->inputs[0], *w = job->inputs[1], *dx = job->outputs[0];
  SMR_TRY(smr_expect_rank(job, w, "w", dy->rank, dy->rank));
  SMR_TRY(smr_expect_rank(job, dy, "dy", 3, 2 + SMR_MAX_SPATIAL));
  struct smr_window window;
  SMR_TRY(smr_window_read_between(job, SMR_ATTR_GROUP(job, conv_grad_input, window), dx, dy,
                                  w->dims + 1, &window));
  const int64_t *size;
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, conv_grad_input, size), window.spatial, 0, INT32_MAX,
                          &size));
  int64_t groups, dims[2 + SMR_MAX_SPATIAL] = {dy->dims[0]};
  SMR_TRY(check_grad_groups(job, dx->dims[dx->rank - 1], w->dims[0], &groups));
  for (uint32_t i = 0; i < window.spatial; i++) dims[1 + i] = size[i];
  const int64_t channels = w->dims[w->rank - 1];
  dims[1 + window.spatial] = dx->dims[dx->rank - 1] / groups == channels
                                 ? dx->dims[dx->rank - 1]
                                 : -1;  // no tensor has this dim
  SMR_TRY(smr_expect_dims(job, dx, "output", dims, dx->rank));
  if (w->layout != SMR_LAYOUT_PLAIN)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: weights are in layout %u", job->op->name,
             (unsigned)w->layout);
  return check_grad_sizes(job, &window, dy, w->dims[0], NULL);
}

samara_status smr_check_conv_grad_weight(const struct smr_job *job) {
  const struct smr_tensor *dy = job->inputs[0], *x = job->inputs[1], *dw = job->outputs[0];
  SMR_TRY(smr_expect_rank(job, x, "x", 3, 2 + SMR_MAX_SPATIAL));
  const int64_t *kernel;
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, conv_grad_weight, kernel), x->rank - 2u, 1, INT32_MAX,
                          &kernel));
  struct smr_window window;
  SMR_TRY(smr_window_read_between(job, SMR_ATTR_GROUP(job, conv_grad_weight, window), x, dy, kernel,
                                  &window));
  int64_t groups, dims[2 + SMR_MAX_SPATIAL] = {dy->dims[dy->rank - 1]};
  SMR_TRY(check_grad_groups(job, window.channels_in, window.channels_out, &groups));
  for (uint32_t i = 0; i < window.spatial; i++) dims[1 + i] = kernel[i];
  dims[1 + window.spatial] = window.channels_in / groups;
  SMR_TRY(smr_expect_dims(job, dw, "output", dims, x->rank));
  return check_grad_sizes(job, &window, dy, window.channels_out, NULL);
}

samara_status smr_check_pool_grad(const struct smr_job *job) {
  const struct smr_tensor *dy = job->inputs[0], *dx = job->outputs[0], *x = dx;
  SMR_TRY(smr_expect_rank(job, dy, "dy", 3, 2 + SMR_MAX_SPATIAL));
  const uint32_t spatial = dy->rank - 2u;
  const int64_t *size, *extend = NULL, *kernel;
  if (smr_has_form(job, SMR_FORM_EXTEND)) {
    SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, avg_pool_grad, size), spatial, 0, INT32_MAX, &size));
    SMR_TRY(
        smr_expect_ints(job, SMR_ATTR(job, avg_pool_grad, extend), spatial, 0, INT32_MAX, &extend));
    int64_t dims[2 + SMR_MAX_SPATIAL] = {dy->dims[0]};
    for (uint32_t i = 0; i < spatial; i++) dims[1 + i] = size[i];
    dims[1 + spatial] = dy->dims[dy->rank - 1];
    SMR_TRY(smr_expect_dims(job, dx, "output", dims, dy->rank));
  } else {
    x = job->inputs[1];
    SMR_TRY(smr_expect_dims(job, dx, "output", x->dims, x->rank));
  }
  SMR_TRY(
      smr_expect_ints(job, SMR_ATTR(job, max_pool_grad, kernel), spatial, 1, INT32_MAX, &kernel));
  struct smr_window window;
  SMR_TRY(smr_window_read_between(job, SMR_ATTR_GROUP(job, max_pool_grad, window), x, dy, kernel,
                                  &window));
  return check_grad_sizes(job, &window, dy, window.channels_in, extend);
}
