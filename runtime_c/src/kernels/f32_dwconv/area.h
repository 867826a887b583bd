// SPDX-License-Identifier: Apache-2.0
// What the driver of depthwise convolution passes to its kernels.
#ifndef SMR_KERNELS_F32_DWCONV_AREA_H
#define SMR_KERNELS_F32_DWCONV_AREA_H

#include "kernels/f32_dwconv/f32_dwconv.h"

/// A rectangle of output pixels that all use the same rectangle of taps and read nothing outside
/// the image. Strides are in elements.
struct smr_f32_dwconv_area {
  size_t rows, pixels, channels;
  size_t taps_h, taps_w;      ///< the rectangle of taps
  const float *in;            ///< the first pixel's first tap
  size_t in_row, in_step;     ///< from row to row, from pixel to pixel of output
  size_t in_tap_row, in_tap;  ///< from row of taps to row of taps, from tap to tap
  const void *w;              ///< the rectangle's first tap in the first panel
  smr_gemm_type w_type;
  size_t w_taps;  ///< taps in a row of the whole kernel
  size_t panel_stride_bytes;
  const float *bias;  ///< NULL, or padded to 16
  float *out;
  size_t out_row, out_step;
  const float *residual;  ///< NULL, or added before the clamp
  size_t residual_row, residual_step;
  float lo, hi;
};

typedef void (*smr_f32_dwconv_area_ukernel)(const struct smr_f32_dwconv_area *area);

/// Pixels [begin, end) over an indirection buffer.
typedef void (*smr_f32_dwconv_indirect_ukernel)(const struct smr_f32_dwconv_indirect_args *args,
                                                size_t begin, size_t end);

typedef void (*smr_f32_dwconv_quads_ukernel)(const struct smr_f32_dwconv_quads *quads);

#endif
