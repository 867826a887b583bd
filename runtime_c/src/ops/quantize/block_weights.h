// SPDX-License-Identifier: Apache-2.0
// Weights with a scale, and optionally a zero point, per block of a row.
#ifndef SMR_OPS_BLOCK_WEIGHTS_H
#define SMR_OPS_BLOCK_WEIGHTS_H

#include "ops/op.h"

enum {
  SMR_BLOCKS_LEAST = 16,
  SMR_BLOCKS_MOST = 1 << 30,
  SMR_BLOCKS_BIAS = 4,  // input of matmul_blocks
};

/// Fail unless w [rows, columns] has 4 or 8 bits, scales [rows, blocks] match attribute `block`,
/// and zero points, if present, are integers. The row of the op table states that zero points have
/// the dims of scales.
samara_status smr_blocks_check(const struct smr_job *job, const struct smr_tensor *w,
                               const struct smr_tensor *scales, const struct smr_tensor *zeros);

/// After smr_blocks_check: fail unless w and scales are row-major, or in panels that they fill.
samara_status smr_blocks_check_layouts(const struct smr_job *job, const struct smr_tensor *w,
                                       const struct smr_tensor *scales);

/// Element `i` of a dense tensor of 4 or 8 bits.
static inline int32_t smr_blocks_at(const struct smr_tensor *t, size_t i) {
  if (t->dtype == SAMARA_INT8) return ((const int8_t *)t->data)[i];
  if (t->dtype == SAMARA_UINT8) return ((const uint8_t *)t->data)[i];
  const uint8_t byte = ((const uint8_t *)t->data)[i / 2];
  const int32_t field = i % 2 ? byte >> 4 : byte & 15;
  return t->dtype == SAMARA_INT4 && field > 7 ? field - 16 : field;
}

#endif
