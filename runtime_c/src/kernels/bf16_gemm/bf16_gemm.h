// SPDX-License-Identifier: Apache-2.0
// Products of float32 matrices in bfloat16: kernels for the driver of kernels/f32_gemm.
//
// The sums are those of f32_gemm.h, with every element of A and W rounded to bfloat16, to nearest,
// ties to even. A product of two is exact in float32. Products are added in float32, starting from
// the bias. Order and rounding differ between instruction sets (some add pairs first, Arm rounds
// sums to odd), so results differ in bits between instruction sets, but not between tiles, splits
// or threads on one. A sum of K = taps * k terms is within
//
//   (K + 1) 2^-23 sum |a w| + K 2^-126
//
// of the sum of the rounded elements, which is within (2^-7 + 2^-16) sum |a w| of the exact one.
// Values below 2^-126 may count as zero. NaN stays NaN; what rounds beyond the largest bfloat16
// (3.39e38) becomes infinite.
//
// Weights: panels `[ceil(n / 16)][taps][ceil(k / 2)][16][2]` of bfloat16, zero beyond n and k. Only
// SMR_GEMM_BF16 is set in a config. Rows of A are rounded on the stack, a few at a time.
#ifndef SMR_KERNELS_BF16_GEMM_H
#define SMR_KERNELS_BF16_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/f32_gemm/f32_gemm.h"

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_gemm_config *smr_bf16_gemm_config(uint32_t isa);

/// Whether `isa` has instructions for it; the portable kernel only serves as a reference.
bool smr_bf16_gemm_pays(uint32_t isa);

/// Bytes between the panels of one group: `taps` taps of `k` rows.
size_t smr_bf16_gemm_panel_bytes(size_t taps, size_t k);

/// Rounds `rows` rows of a panel [rows][16] to pairs [ceil(rows / 2)][16][2].
void smr_bf16_gemm_pack(size_t rows, const float *panel, uint16_t *out);

#endif
