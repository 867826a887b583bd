// SPDX-License-Identifier: Apache-2.0
// Initialisers shared by all window kernels (convolution, pooling): sizes of the planes and the
// position of the first tap.
#ifndef SMR_OPS_PLANES_H
#define SMR_OPS_PLANES_H

#include "ops/conv/window.h"

/// Sizes of the input and output planes of a window (struct smr_window), and the position of its
/// first tap.
#define SMR_PLANES(w)                                                                  \
  .batch = (size_t)(w)->batch, .in_h = (size_t)(w)->in[1], .in_w = (size_t)(w)->in[2], \
  .out_h = (size_t)(w)->out[1], .out_w = (size_t)(w)->out[2],                          \
  .pad_top = (size_t)(w)->pad_begin[1], .pad_left = (size_t)(w)->pad_begin[2]

/// The number of taps, and the steps between taps and between windows.
#define SMR_PLANES_TAPS(w)                                                \
  .kernel_h = (size_t)(w)->kernel[1], .kernel_w = (size_t)(w)->kernel[2], \
  .stride_h = (size_t)(w)->stride[1], .stride_w = (size_t)(w)->stride[2], \
  .dilation_h = (size_t)(w)->dilation[1], .dilation_w = (size_t)(w)->dilation[2]

/// Strides of the planes `name` (in, out, residual), with `pixel` elements between pixels and rows
/// and columns as in `dims`.
#define SMR_PLANES_STRIDES(name, pixel, dims)                                       \
  .name##_pixel_stride = (pixel), .name##_row_stride = (pixel) * (size_t)(dims)[2], \
  .name##_batch_stride = (pixel) * (size_t)(dims)[2] * (size_t)(dims)[1]

/// Elements between the pixels of a tensor; `t` may be NULL.
static inline size_t smr_pixel_stride(const struct smr_tensor *t) {
  return t != NULL ? (size_t)t->pixel_stride : 0;
}

#endif /* SMR_OPS_PLANES_H */
