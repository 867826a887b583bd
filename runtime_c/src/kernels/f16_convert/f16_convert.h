// SPDX-License-Identifier: Apache-2.0
// Bulk conversion between float16 and float32: the contract.
#ifndef SMR_KERNELS_F16_CONVERT_H
#define SMR_KERNELS_F16_CONVERT_H

#include <stddef.h>
#include <stdint.h>

/// dst[i] = src[i] for i < n. Exact. NaN stays NaN, quiet, its payload shifted up.
typedef void (*smr_f16_to_f32_ukernel)(size_t n, const uint16_t *src, float *dst);

/// dst[i] = src[i] rounded to nearest, ties to even; overflow gives infinity, subnormals are kept.
/// NaN stays NaN, quiet, with the payload's upper bits.
typedef void (*smr_f32_to_f16_ukernel)(size_t n, const float *src, uint16_t *dst);

/// All variants give the same bits. Source and destination must not overlap; no over-read.
smr_f16_to_f32_ukernel smr_f16_to_f32_kernel(uint32_t isa);
smr_f32_to_f16_ukernel smr_f32_to_f16_kernel(uint32_t isa);

#endif
