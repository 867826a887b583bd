// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution for AVX2 with FMA.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_dwconv/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define DW_SUFFIX avx2
#define DW_REGISTERS 16
#include "kernels/f32_dwconv/body.h"
#include "simd/end.h"
#endif
