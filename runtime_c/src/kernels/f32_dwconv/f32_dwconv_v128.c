// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_dwconv/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define DW_SUFFIX v128
#define DW_REGISTERS 32
#include "kernels/f32_dwconv/body.h"
#include "simd/end.h"
#endif
