// SPDX-License-Identifier: Apache-2.0
// Tiles over a table of offsets, which every instruction set has its own of.
#if defined(SMR_SIMD_AVX512)
#include "kernels/f32_conv_direct/avx512.h"
#elif defined(SMR_SIMD_AVX2)
#include "kernels/f32_conv_direct/avx2.h"
#elif defined(SMR_SIMD_NEON)
#include "kernels/f32_conv_direct/neon.h"
#elif defined(SMR_SIMD_V128)
#include "kernels/f32_conv_direct/v128.h"
#elif defined(SMR_SIMD_SCALAR)
#include "kernels/f32_conv_direct/scalar.h"
#endif
