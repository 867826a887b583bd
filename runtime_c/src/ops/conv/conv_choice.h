// SPDX-License-Identifier: Apache-2.0
// Which algorithm computes a convolution of floats.
#ifndef SMR_OPS_CONV_CHOICE_H
#define SMR_OPS_CONV_CHOICE_H

#include "kernels/f32_winograd/f32_winograd.h"
#include "ops/conv/window.h"
#include "ops/op.h"

enum smr_conv_path {
  SMR_CONV_DEPTHWISE,     // one input and one output channel per group, 1 or 2 spatial dims
  SMR_CONV_DEPTHWISE_3D,  // the same through pointers
  SMR_CONV_POINT,         // 1x1, every pixel its own: a plain product
  SMR_CONV_CONTIGUOUS,    // 1-D without padding or dilation: windows are overlapping rows of x
  SMR_CONV_DIRECT,        // few input channels: x is read through a table of offsets
  SMR_CONV_INDIRECT,      // a product over pointers to pixels, block by block
  SMR_CONV_WINOGRAD_F23,  // 3x3 windows by transforms, tiles of 2x2 outputs
  SMR_CONV_WINOGRAD_F43,  // of 4x4
};

/// Whether it is one of the transforms, and which.
static inline bool smr_conv_is_winograd(enum smr_conv_path path) {
  return path == SMR_CONV_WINOGRAD_F23 || path == SMR_CONV_WINOGRAD_F43;
}
static inline enum smr_winograd_form smr_conv_form(enum smr_conv_path path) {
  return path == SMR_CONV_WINOGRAD_F23 ? SMR_WINOGRAD_F23 : SMR_WINOGRAD_F43;
}

/// Whether the window has padding.
bool smr_conv_is_padded(const struct smr_window *w);

/// Whether the product on `path` may be computed in bfloat16 (smr_linear_may_round) and gains by
/// it; not where another time's dims may lead to another path.
bool smr_conv_may_round(const struct smr_job *job, enum smr_conv_path path);

/// Choose by the work of each (ops/choice.h), as if the window were padded or not; `transforms`:
/// among Winograd's transforms, too, where they fit.
enum smr_conv_path smr_conv_choose(struct smr_job *job, const struct smr_window *w, bool padded,
                                   bool transforms);

#endif /* SMR_OPS_CONV_CHOICE_H */
