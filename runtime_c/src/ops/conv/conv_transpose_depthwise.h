// SPDX-License-Identifier: Apache-2.0
// Transposed convolution of one channel per group: every phase of the output is a small depthwise
// convolution.
//
// Windows of 3x3 with strides of 2 have four phases, which meet the same four pixels: there a tile
// makes quads of outputs, one pixel of each phase, so that its input is read once and its output
// written row by row. Outputs that meet padding are left to the phases.
#ifndef SMR_OPS_CONV_TRANSPOSE_DEPTHWISE_H
#define SMR_OPS_CONV_TRANSPOSE_DEPTHWISE_H

#include "ops/conv/conv_transpose.h"

/// Sets tiles, kernel and conv->quads; the weights are placed.
samara_status smr_conv_transpose_depthwise_prepare(struct smr_job *job,
                                                   struct smr_conv_transpose *conv);

/// Tiles [begin, end).
samara_status smr_conv_transpose_depthwise_run(const struct smr_job *job,
                                               const struct smr_conv_transpose *conv, size_t begin,
                                               size_t end);

#endif
