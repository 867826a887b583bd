// SPDX-License-Identifier: Apache-2.0
// The kernels of an instruction set that others may extend. All leave some cases to portable C,
// which i8_dwconv.c compiles before them.
#if defined(SMR_SIMD_AVX512)
#include "kernels/i8_dwconv/avx512.h"
#elif defined(SMR_SIMD_AVX2)
#include "kernels/i8_dwconv/avx2.h"
#elif defined(SMR_SIMD_NEON)
#include "kernels/i8_dwconv/neon.h"
#elif defined(SMR_SIMD_V128)
#include "kernels/i8_dwconv/v128.h"
#endif
