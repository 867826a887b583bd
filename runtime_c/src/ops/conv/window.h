// SPDX-License-Identifier: Apache-2.0
// The geometry of operators that move a window over [N, spatial, C]: convolutions and pools.
#ifndef SMR_OPS_WINDOW_H
#define SMR_OPS_WINDOW_H

#include "ops/op.h"
#include "ops/table/attrs.h"

enum { SMR_MAX_SPATIAL = 3 };

/// Depth, height, width. With fewer than three spatial dims the leading ones are neutral (extent 1,
/// stride 1, no padding). All values fit int32.
struct smr_window {
  uint32_t spatial;  // number of spatial dims of the operator
  int64_t in[SMR_MAX_SPATIAL], out[SMR_MAX_SPATIAL], kernel[SMR_MAX_SPATIAL];
  int64_t stride[SMR_MAX_SPATIAL], dilation[SMR_MAX_SPATIAL];
  int64_t pad_begin[SMR_MAX_SPATIAL], pad_end[SMR_MAX_SPATIAL];
  int64_t batch, channels_in, channels_out;
};

/// Read `attrs` (strides, dilations and pads) of a node whose input 0 and output 0 have 1 to 3
/// spatial dims; the window's are `kernel[0..spatial)`. Fails if a list has the wrong length or a
/// value is out of range (extents below 2^31; stride, dilation and kernel at least 1; pads at least
/// 0). Out dims are copied from the output; the check classes compare them with smr_window_out.
samara_status smr_window_read(const struct smr_job *job, const struct smr_attrs_window *attrs,
                              const int64_t *kernel, struct smr_window *out);
/// The same for a window that moves over `x` and gives `y`.
samara_status smr_window_read_between(const struct smr_job *job,
                                      const struct smr_attrs_window *attrs,
                                      const struct smr_tensor *x, const struct smr_tensor *y,
                                      const int64_t *kernel, struct smr_window *out);

/// Extent of a window along an axis: (kernel - 1) * dilation + 1.
int64_t smr_window_extent(const struct smr_window *w, uint32_t axis);

/// Output pixels along an axis with `extra` more end padding; can be negative.
int64_t smr_window_out(const struct smr_window *w, uint32_t axis, int64_t extra);

/// Pixels of the output, and taps of the window.
int64_t smr_window_pixels(const struct smr_window *w);
int64_t smr_window_taps(const struct smr_window *w);

#endif
