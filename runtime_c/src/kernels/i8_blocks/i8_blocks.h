// SPDX-License-Identifier: Apache-2.0
// Products of int8 rows with weights of 8 or 4 bits that have a scale per block: the contract.
//
// For row i and column n of a panel,
//
//   sum[b] = sum over rows r of block b of x[i][r] * (w[r][n] - zero[b][n])     int32, modulo 2^32
//   acc    = 0, then for every block b in ascending order: acc = acc + float(sum[b]) * scale[b][n]
//   out    = clamp(acc * row_scale[i] + bias[n], lo, hi)
//
// or for weights with a scale per column (`whole`: one block)
//
//   out    = clamp(float(sum) * (row_scale[i] * scale[n]) + bias[n], lo, hi)
//
// float() rounds half to even, float16 is widened exactly, and every product and sum of floats is
// rounded once (never fused). So all instruction sets give the same bits, and those of a row do not
// depend on the other rows.
//
// Weights are panels as in f32_narrow.h, and all kernels read them in place. Kernels multiply
// w + shift, which is not negative for weights of 4 bits. So sums start with the block's sum of x
// times -(shift + zero).
#ifndef SMR_KERNELS_I8_BLOCKS_H
#define SMR_KERNELS_I8_BLOCKS_H

#include "kernels/f32_narrow/f32_narrow.h"

enum {
  SMR_I8_BLOCKS_ALIGN = 32,  // elements to which rows of x are filled up with zeros
};

/// Rows of x by one panel.
struct smr_i8_blocks_call {
  struct smr_f32_narrow_panel panel;
  smr_narrow_type type;
  const int8_t *x;        ///< in [-127, 127]
  size_t x_stride;        ///< a multiple of SMR_I8_BLOCKS_ALIGN; zeros behind the panel's rows
  const int32_t *x_less;  ///< [blocks] for every row: what starts the sums, by smr_i8_blocks_less
  size_t less_stride;
  int32_t shift;  ///< of the weights' type
  const float *row_scale;
  int whole;
  const float *bias;  ///< [16], or NULL
  float lo, hi;       ///< NaN propagates
  float *out;
  size_t out_stride, columns;  ///< columns <= 16
};

/// Computes `rows` of the call.
typedef void (*smr_i8_blocks_rows)(const struct smr_i8_blocks_call *call, size_t rows);

/// The kernels of one ISA: for panels of 4 bits, and of 8 bits.
struct smr_i8_blocks_config {
  const char *names[2];        ///< for profiles: 4 bits, 8 bits
  int32_t shift[3];            ///< that kernels add to weights, by smr_narrow_type
  smr_i8_blocks_rows rows[2];  ///< NULL if the build lacks the part
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_i8_blocks_config *smr_i8_blocks_config(uint32_t isa);

/// x_less of a row: -factor times the sums of its blocks. The factor is 1 if the panel has zero
/// points, otherwise the shift of the weights.
void smr_i8_blocks_less(size_t n, size_t block, const int8_t *x, int32_t factor, int32_t *less);

#endif
