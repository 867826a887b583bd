// SPDX-License-Identifier: Apache-2.0
// Indirection: the input pixel that each tap of an output pixel reads.
#ifndef SMR_OPS_CONV_INDIRECTION_H
#define SMR_OPS_CONV_INDIRECTION_H

#include "ops/conv/conv_phases.h"
#include "ops/conv/window.h"

#include <stddef.h>

/// For output pixels [first, first + count) in the order (n, depth, height, width), and taps in the
/// same order: out[pixel][tap] points to the input pixel, or is `zero` in the padding. `x` is [N,
/// in, C] with `pixel_stride` elements between pixels.
void smr_conv_indirection(const struct smr_window *w, const float *x, size_t pixel_stride,
                          const float *zero, size_t first, size_t count, const float **out);
void smr_conv_indirection_i8(const struct smr_window *w, const int8_t *x, size_t pixel_stride,
                             const int8_t *zero, size_t first, size_t count, const int8_t **out);

/// For the output pixels out[2], out[2] + stride ... of one row of a phase and the taps of its box:
/// pointers[pixel][tap]. `image` is [in, C] of x.
void smr_conv_phase_indirection(const struct smr_conv_phases *phases,
                                const struct smr_conv_phases_box *box, const float *image,
                                size_t pixel_stride, const float *zero, const int64_t *out,
                                size_t pixels, const float **pointers);
void smr_conv_phase_indirection_i8(const struct smr_conv_phases *phases,
                                   const struct smr_conv_phases_box *box, const int8_t *image,
                                   size_t pixel_stride, const int8_t *zero, const int64_t *out,
                                   size_t pixels, const int8_t **pointers);

#endif
