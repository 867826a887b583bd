// SPDX-License-Identifier: Apache-2.0
// Transposed convolution to few channels: vectors run along pixels. The transposed weights of all
// taps are multiplied by rows of input pixels, and the products of a tap, a run of pixels, are
// added to the output pixels that they meet, planes of one channel each, which are then woven
// together.
//
// With three channels the other ways would fill little of a vector. Outputs are cut into bands of
// rows; a band looks at every input row that reaches into it and adds only to itself, in the order
// of input rows, so bands are independent and each element is a sum in one order.
#ifndef SMR_OPS_CONV_TRANSPOSE_FOLD_H
#define SMR_OPS_CONV_TRANSPOSE_FOLD_H

#include "ops/conv/conv_transpose.h"

/// Whether this way is open and pays: float32, one group, few channels out, weights whose taps lie
/// one after another, no dilation along rows.
bool smr_conv_transpose_folds(const struct smr_job *job, const struct smr_conv_transpose *conv);

samara_status smr_conv_transpose_fold_prepare(struct smr_job *job, struct smr_conv_transpose *conv);

/// Transpose the weights, alone before the tiles.
void smr_conv_transpose_fold_prologue(const struct smr_job *job,
                                      const struct smr_conv_transpose *conv);

samara_status smr_conv_transpose_fold_run(const struct smr_job *job,
                                          const struct smr_conv_transpose *conv, size_t begin,
                                          size_t end, void *thread_scratch);

#endif
