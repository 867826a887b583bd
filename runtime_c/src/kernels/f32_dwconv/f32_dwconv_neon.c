// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution for AArch64.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_dwconv/kernels.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define DW_SUFFIX neon
#define DW_REGISTERS 32
#include "kernels/f32_dwconv/body.h"
#include "simd/end.h"
#endif
