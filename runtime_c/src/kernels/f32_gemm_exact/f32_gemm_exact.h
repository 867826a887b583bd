// SPDX-License-Identifier: Apache-2.0
// The float matrix product of f32_gemm.h with the same bits on every instruction set.
//
//   out[i][j] = clamp((dot(k, A(i), W(:, j)) + bias[j]) + residual[i][j], lo, hi)
//
// with the dot of kernels/f32_exact: sixteen partial sums over the terms, a product and its sum
// rounded separately. clamp(v) is lo if v < lo, hi if v > hi, else v. Direct products only, by
// panels of float32 or float16.
#ifndef SMR_KERNELS_F32_GEMM_EXACT_H
#define SMR_KERNELS_F32_GEMM_EXACT_H

#include "kernels/f32_gemm/f32_gemm.h"

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL. All give the
/// same bits.
const struct smr_f32_gemm_config *smr_f32_gemm_exact_config(uint32_t isa);

#endif
