// SPDX-License-Identifier: Apache-2.0
// Indirection: which input pixel each tap of an output pixel meets.
#ifndef SMR_OPS_CONV_INDIRECTION_H
#define SMR_OPS_CONV_INDIRECTION_H

#include "ops/conv/window.h"

#include <stddef.h>

/// For output pixels [first, first + count) in the order (n, depth, height, width), and taps in the
/// same order: out[pixel][tap] points at the input pixel, or is `zero` where that is padding.
/// `x` is [N, in, C] with `pixel_stride` elements between pixels.
void smr_conv_indirection(const struct smr_window *w, const float *x, size_t pixel_stride,
                          const float *zero, size_t first, size_t count, const float **out);
void smr_conv_indirection_i8(const struct smr_window *w, const int8_t *x, size_t pixel_stride,
                             const int8_t *zero, size_t first, size_t count, const int8_t **out);

#endif
