// SPDX-License-Identifier: Apache-2.0
// Selects the tiles over a table of offsets of the instruction set.
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
