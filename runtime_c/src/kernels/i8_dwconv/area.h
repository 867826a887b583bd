// SPDX-License-Identifier: Apache-2.0
// What the driver of int8 depthwise convolution passes to its kernels.
#ifndef SMR_KERNELS_I8_DWCONV_AREA_H
#define SMR_KERNELS_I8_DWCONV_AREA_H

#include "kernels/i8_dwconv/i8_dwconv.h"

/// A rectangle of output pixels that use all taps of an area, all in memory. Strides are in
/// elements.
struct smr_i8_dwconv_piece {
  size_t rows, pixels;
  const int8_t *in;           ///< the first pixel's first tap
  size_t in_row, in_step;     ///< from row to row, from pixel to pixel of output
  size_t in_tap_row, in_tap;  ///< from row of taps to row of taps, from tap to tap
  size_t out;                 ///< the first pixel, relative to the area's `out`
  size_t out_row, out_step;
};

/// Rectangles that use the same taps.
struct smr_i8_dwconv_area {
  const struct smr_i8_dwconv_piece *pieces;
  size_t count;
  size_t first, channels;  ///< channels [first, channels) are computed; first is a multiple of 16
  size_t taps_h, taps_w;   ///< both 0 if no tap is inside
  int32_t x_zero;
  const int8_t *w;  ///< the first tap in the first panel
  size_t w_taps;    ///< taps in a row of the whole kernel
  size_t panel_stride_bytes;
  const int32_t *w_zero;  ///< NULL, or padded to 16
  void *out;
  struct smr_i8_dwconv_end end;
};

typedef void (*smr_i8_dwconv_area_ukernel)(const struct smr_i8_dwconv_area *area);

/// Pixels [begin, end) over an indirection buffer.
typedef void (*smr_i8_dwconv_indirect_ukernel)(const struct smr_i8_dwconv_indirect_args *args,
                                               size_t begin, size_t end);

#endif
