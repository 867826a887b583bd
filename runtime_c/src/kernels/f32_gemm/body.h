// SPDX-License-Identifier: Apache-2.0
// Selects the register tiles of the instruction set.
#if defined(SMR_SIMD_AVX512)
#include "kernels/f32_gemm/avx512.h"
#elif defined(SMR_SIMD_AVX2)
#include "kernels/f32_gemm/avx2.h"
#elif defined(SMR_SIMD_NEON)
#include "kernels/f32_gemm/neon.h"
#elif defined(SMR_SIMD_V128)
#include "kernels/f32_gemm/v128.h"
#elif defined(SMR_SIMD_SCALAR)
#include "kernels/f32_gemm/scalar.h"
#elif defined(SMR_SIMD_NEON_FP16)
#include "kernels/f32_gemm/neon_fp16.h"
#endif
