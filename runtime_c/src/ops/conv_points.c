// SPDX-License-Identifier: Apache-2.0
// Fills indirection buffers.
#include "base/fp.h"

#include "ops/conv_points.h"

// The taps of one row of the kernel: input row `row`, or NULL in the padding.
static const float **conv_points_row(const struct smr_window *w, const float *row,
                                     size_t pixel_stride, const float *zero, int64_t x0,
                                     const float **out) {
  const int64_t step = w->dilation[2], width = w->in[2];
  for (int64_t k = 0; k < w->kernel[2]; k++) {
    const int64_t x = x0 + k * step;
    *out++ = row != NULL && x >= 0 && x < width ? row + (size_t)x * pixel_stride : zero;
  }
  return out;
}

void smr_conv_points(const struct smr_window *w, const float *x, size_t pixel_stride,
                     const float *zero, size_t first, size_t count, const float **out) {
  // Position of the first pixel: n, z, y, x.
  size_t at[4], rest = first;
  for (size_t i = 3; i > 0; i--) {
    at[i] = rest % (size_t)w->out[i - 1];
    rest /= (size_t)w->out[i - 1];
  }
  at[0] = rest;
  const size_t row_stride = (size_t)w->in[2] * pixel_stride;
  for (size_t pixel = 0; pixel < count; pixel++) {
    const int64_t z0 = (int64_t)at[1] * w->stride[0] - w->pad_begin[0];
    const int64_t y0 = (int64_t)at[2] * w->stride[1] - w->pad_begin[1];
    const int64_t x0 = (int64_t)at[3] * w->stride[2] - w->pad_begin[2];
    for (int64_t kz = 0; kz < w->kernel[0]; kz++) {
      const int64_t z = z0 + kz * w->dilation[0];
      for (int64_t ky = 0; ky < w->kernel[1]; ky++) {
        const int64_t y = y0 + ky * w->dilation[1];
        const bool inside = z >= 0 && z < w->in[0] && y >= 0 && y < w->in[1];
        const size_t line =
            inside ? (at[0] * (size_t)w->in[0] + (size_t)z) * (size_t)w->in[1] + (size_t)y : 0;
        out =
            conv_points_row(w, inside ? x + line * row_stride : NULL, pixel_stride, zero, x0, out);
      }
    }
    size_t i = 3;
    while (i > 0 && ++at[i] == (size_t)w->out[i - 1]) at[i--] = 0;
    if (i == 0) at[0]++;
  }
}
