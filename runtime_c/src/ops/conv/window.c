// SPDX-License-Identifier: Apache-2.0
// Reads the geometry of convolutions and pools.
#include "base/fp.h"

#include "ops/conv/window.h"

#include "ops/check/check.h"

#include <inttypes.h>

static samara_status window_extents(const struct smr_job *job, const char *what,
                                    const int64_t *dims, uint32_t spatial, int64_t least,
                                    int64_t *out) {
  for (uint32_t i = 0; i < spatial; i++) {
    if (dims[i] < least || dims[i] > INT32_MAX)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: %s[%u] is %" PRId64 ", expected %" PRId64 " to %d",
               job->op->name, what, (unsigned)i, dims[i], least, INT32_MAX);
    out[SMR_MAX_SPATIAL - spatial + i] = dims[i];
  }
  return SAMARA_OK;
}

samara_status smr_window_read(const struct smr_job *job, const struct smr_attrs_window *attrs,
                              const int64_t *kernel, struct smr_window *out) {
  return smr_window_read_between(job, attrs, job->inputs[0], job->outputs[0], kernel, out);
}

samara_status smr_window_read_between(const struct smr_job *job,
                                      const struct smr_attrs_window *attrs,
                                      const struct smr_tensor *x, const struct smr_tensor *y,
                                      const int64_t *kernel, struct smr_window *out) {
  SMR_TRY(smr_expect_rank(job, x, "input", 3, 2 + SMR_MAX_SPATIAL));
  SMR_TRY(smr_expect_rank(job, y, "output", x->rank, x->rank));
  const uint32_t s = x->rank - 2u, skip = SMR_MAX_SPATIAL - s;
  const int64_t *strides, *dilations, *pads;
  SMR_TRY(smr_expect_ints(job, &attrs->strides, s, 1, INT32_MAX, &strides));
  SMR_TRY(smr_expect_ints(job, &attrs->dilations, s, 1, INT32_MAX, &dilations));
  SMR_TRY(smr_expect_ints(job, &attrs->pads, 2 * s, 0, INT32_MAX, &pads));
  struct smr_window w = {.spatial = s,
                         .batch = x->dims[0],
                         .channels_in = x->dims[x->rank - 1],
                         .channels_out = y->dims[y->rank - 1]};
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    w.in[i] = w.out[i] = w.kernel[i] = w.stride[i] = w.dilation[i] = 1;
    if (i < skip) continue;
    w.stride[i] = strides[i - skip];
    w.dilation[i] = dilations[i - skip];
    w.pad_begin[i] = pads[i - skip];
    w.pad_end[i] = pads[s + i - skip];
  }
  SMR_TRY(window_extents(job, "kernel", kernel, s, 1, w.kernel));
  SMR_TRY(window_extents(job, "input extent", x->dims + 1, s, 0, w.in));
  SMR_TRY(window_extents(job, "output extent", y->dims + 1, s, 0, w.out));
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    if (smr_window_extent(&w, i) > INT32_MAX)
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: a kernel of %" PRId64 " dilated by %" PRId64 " is too large", job->op->name,
               w.kernel[i], w.dilation[i]);
  *out = w;
  return SAMARA_OK;
}

int64_t smr_window_extent(const struct smr_window *w, uint32_t axis) {
  return (w->kernel[axis] - 1) * w->dilation[axis] + 1;
}

int64_t smr_window_out(const struct smr_window *w, uint32_t axis, int64_t extra) {
  const int64_t padded = w->in[axis] + w->pad_begin[axis] + w->pad_end[axis] + extra;
  const int64_t slack = padded - smr_window_extent(w, axis);
  // Round down, also for negative values: -1 with stride 1 gives no output pixel.
  const int64_t stride = w->stride[axis];
  return (slack >= 0 ? slack / stride : -((-slack + stride - 1) / stride)) + 1;
}

int64_t smr_window_pixels(const struct smr_window *w) { return smr_product(w->out, 3); }

int64_t smr_window_taps(const struct smr_window *w) { return smr_product(w->kernel, 3); }
