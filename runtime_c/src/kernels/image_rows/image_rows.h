// SPDX-License-Identifier: Apache-2.0
// The steps that convert an image to a tensor, over arrays of pixels: the contract.
// docs/guides/preprocessing.md defines the arithmetic.
//
// All functions but `scale` and `down_scale` process whole steps of SMR_IMAGE_STEP elements: n is
// rounded up, arrays have room for that, and elements after the first n may have any value.
#ifndef SMR_KERNELS_IMAGE_ROWS_H
#define SMR_KERNELS_IMAGE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parts.h"

/// The image kernels in this build, by purpose.
enum {
  SMR_IMAGE_HAS_THREE = SMR_HAS(image_from_rgb) || SMR_HAS(image_from_bgr),
  SMR_IMAGE_HAS_FOUR = SMR_HAS(image_from_rgba) || SMR_HAS(image_from_bgra),
  SMR_IMAGE_HAS_TURNS = SMR_HAS(image_from_nv21) || SMR_HAS(image_from_nv12),  // U, V interleaved
  SMR_IMAGE_HAS_YUV = SMR_IMAGE_HAS_TURNS || SMR_HAS(image_from_i420),
  SMR_IMAGE_HAS_FLOATS = SMR_HAS(image_to_float32) || SMR_HAS(image_to_float16),
  SMR_IMAGE_HAS_MORE = SMR_HAS(image_area) || SMR_HAS(image_antialias),  // more than two taps
};

enum {
  SMR_IMAGE_WEIGHT_BITS = 14,  // sum of the weights of one output pixel: 1 << 14
  SMR_IMAGE_STEP = 16,
  SMR_IMAGE_PERIOD = 48,  // period of the factors: a multiple of 3 channels and of a step
};

/// From Y, U, V to R, G, B: factors of Y - offset, V (red), U and V (green), U (blue), with 16
/// fractional bits.
struct smr_image_colour {
  int32_t offset, cy, rv, gu, gv, bu;
};

/// The arrays of a call do not overlap, unless the same array is passed on purpose. Functions that
/// no record or format of this build needs are NULL.
struct smr_image_rows {
  const char *name;  ///< for profiles, e.g. "image_rows__avx2"

  /// Extracts bits shifts[0], shifts[1], shifts[2] of pixels of four bytes.
  void (*split)(size_t n, const uint8_t *pixels, const uint32_t shifts[3], uint8_t *r, uint8_t *g,
                uint8_t *b);

  /// n pixels of R, G and B from Y and pairs of U and V. The low byte is U, or V if `v_first`.
  void (*colour)(size_t n, const uint8_t *y, const uint16_t *uv, bool v_first,
                 const struct smr_image_colour *colour, uint8_t *r, uint8_t *g, uint8_t *b);

  /// x[i] = brightness of a YUV pixel with luma x[i].
  void (*brightness)(size_t n, const struct smr_image_colour *colour, uint8_t *x);

  /// r[i] = brightness of an RGB pixel.
  void (*luma)(size_t n, uint8_t *r, const uint8_t *g, const uint8_t *b);

  // Sums of two taps a and b. An element of w holds the weight of a in its low 16 bits and that of
  // b above. `along` and `fold` take adjacent taps x[2i] and x[2i + 1] with separate weights;
  // `over` and `down` take two arrays with the same weights for all, w[0] .. w[STEP - 1]. A sum
  // along a row of the oriented image becomes (a w + b w + 64) >> 7; a sum of such sums down a
  // column becomes (a w + b w + 2^20) >> 21. The width of a sum suits its consumer: 32 bits for
  // `down`, pairs of 16 for `fold`.
  void (*along)(size_t n, const uint8_t *x, const int32_t *w, int32_t *h);
  /// `along` for the first three bytes of four-byte pixels at once: h[0] is for byte 0.
  void (*along_four)(size_t n, const uint8_t *pixels, const int32_t *w, int32_t *const h[3]);
  void (*over)(size_t n, const uint8_t *a, const uint8_t *b, const int32_t *w, int16_t *h);
  void (*down)(size_t n, const int32_t *a, const int32_t *b, const int32_t *w, uint8_t *y);
  void (*fold)(size_t n, const int16_t *x, const int32_t *w, uint8_t *y);

  // The same for more than two taps: sums[i] += a w + b w for each pair, then as above.
  void (*along_add)(size_t n, const uint8_t *x, const int32_t *w, int32_t *sums);
  void (*over_add)(size_t n, const uint8_t *a, const uint8_t *b, const int32_t *w, int32_t *sums);
  void (*along_end)(size_t n, int32_t *h);
  void (*over_end)(size_t n, const int32_t *sums, int16_t *h);
  void (*down_add)(size_t n, const int32_t *a, const int32_t *b, const int32_t *w, int32_t *sums);
  void (*fold_add)(size_t n, const int16_t *x, const int32_t *w, int32_t *sums);
  void (*down_end)(size_t n, const int32_t *sums, uint8_t *y);

  /// `down`, followed by y[i] = (v - mean[0]) * scale[0], for exactly n elements. mean and scale
  /// repeat their value over a step.
  void (*down_scale)(size_t n, const int32_t *a, const int32_t *b, const int32_t *w,
                     const float *mean, const float *scale, float *y);

  /// y[i] = (v[i] - mean[i % PERIOD]) * scale[i % PERIOD], for exactly n elements.
  void (*scale)(size_t n, const uint8_t *v, const float *mean, const float *scale, float *y);
};

/// The best kernels among `isa`; all give the same bits.
const struct smr_image_rows *smr_image_rows_config(uint32_t isa);

#endif
