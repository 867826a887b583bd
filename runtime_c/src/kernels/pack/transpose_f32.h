// SPDX-License-Identifier: Apache-2.0
// Transposes a strided float32 matrix: the contract.
#ifndef SMR_KERNELS_TRANSPOSE_F32_H
#define SMR_KERNELS_TRANSPOSE_F32_H

#include <stddef.h>
#include <stdint.h>

/// dst[c * dst_stride + r] = src[r * src_stride + c] for r < rows, c < columns; strides are in
/// elements. Nothing else is written. The matrices must not overlap. `isa` holds SMR_ISA_* bits.
void smr_transpose_f32(size_t rows, size_t columns, const float *src, size_t src_stride, float *dst,
                       size_t dst_stride, uint32_t isa);

#endif
