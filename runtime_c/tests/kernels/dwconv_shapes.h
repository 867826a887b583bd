// SPDX-License-Identifier: Apache-2.0
// Geometries for the tests of depthwise convolutions, of floats and of int8.
#ifndef SMR_TESTS_DWCONV_SHAPES_H
#define SMR_TESTS_DWCONV_SHAPES_H

#include "kernels/window_shapes.h"

struct shape {
  size_t batch, channels, in_h, in_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h,
      dilation_w, pad_top, pad_left, pad_bottom, pad_right;
  int f16, bias, residual, clamp;                    // of floats
  int w_zero, to_i32, extreme, ties, narrow, dense;  // of int8; dense: no gaps between pixels
};

/// Five rows under a square kernel, padded by half of it.
static inline struct shape dwconv_square(size_t batch, size_t channels, size_t width, size_t kernel,
                                         size_t stride) {
  return (struct shape){.batch = batch,
                        .channels = channels,
                        .in_h = 5,
                        .in_w = width,
                        .kernel_h = kernel,
                        .kernel_w = kernel,
                        .stride_h = stride,
                        .stride_w = stride,
                        .dilation_h = 1,
                        .dilation_w = 1,
                        .pad_top = kernel / 2,
                        .pad_left = kernel / 2,
                        .pad_bottom = kernel / 2,
                        .pad_right = kernel / 2};
}

/// One row under a kernel of one row: `taps` and 5 outputs.
static inline struct shape dwconv_row(size_t channels, size_t taps) {
  return (struct shape){.batch = 1,
                        .channels = channels,
                        .in_h = 1,
                        .in_w = taps + 4,
                        .kernel_h = 1,
                        .kernel_w = taps,
                        .stride_h = 1,
                        .stride_w = 1,
                        .dilation_h = 1,
                        .dilation_w = 1};
}

/// A geometry drawn at random; false where no window fits.
static inline bool dwconv_draw(struct shape *s, uint32_t *seed) {
  *s = (struct shape){.batch = 1};
  s->channels = 1 + kernel_random(seed) % 70;
  s->kernel_h = 1 + kernel_random(seed) % 8;
  s->kernel_w = 1 + kernel_random(seed) % 8;
  s->stride_h = 1 + kernel_random(seed) % 3;
  s->stride_w = 1 + kernel_random(seed) % 3;
  s->dilation_h = 1 + kernel_random(seed) % 3;
  s->dilation_w = 1 + kernel_random(seed) % 3;
  // Padding up to more than the kernel's reach: some pixels see no tap at all.
  s->pad_top = kernel_random(seed) % 9;
  s->pad_left = kernel_random(seed) % 9;
  s->pad_bottom = kernel_random(seed) % 9;
  s->pad_right = kernel_random(seed) % 9;
  s->in_h = 1 + kernel_random(seed) % 6;
  s->in_w = 1 + kernel_random(seed) % 17;
  return s->in_h + s->pad_top + s->pad_bottom >= (s->kernel_h - 1) * s->dilation_h + 1 &&
         s->in_w + s->pad_left + s->pad_right >= (s->kernel_w - 1) * s->dilation_w + 1;
}

/// Say which geometry a kernel failed at.
static inline void dwconv_report(const char *kernel, const struct shape *s) {
  fprintf(
      stderr,
      "  %s c=%zu in %zux%zu kernel %zux%zu stride %zux%zu dilation %zux%zu pad %zu %zu %zu %zu "
      "f16=%d zeros=%d int32=%d\n",
      kernel, s->channels, s->in_h, s->in_w, s->kernel_h, s->kernel_w, s->stride_h, s->stride_w,
      s->dilation_h, s->dilation_w, s->pad_top, s->pad_left, s->pad_bottom, s->pad_right, s->f16,
      s->w_zero, s->to_i32);
}

#endif
