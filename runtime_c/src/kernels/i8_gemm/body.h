// SPDX-License-Identifier: Apache-2.0
// Selects the register tiles of the instruction set.
#if defined(SMR_SIMD_AMXINT8)
#include "kernels/i8_gemm/amxint8.h"
#elif defined(SMR_SIMD_AVX512VNNI)
#include "kernels/i8_gemm/avx512vnni.h"
#elif defined(SMR_SIMD_AVX512)
#include "kernels/i8_gemm/avx512.h"
#elif defined(SMR_SIMD_AVX2)
#include "kernels/i8_gemm/avx2.h"
#elif defined(SMR_SIMD_NEON_I8MM)
#include "kernels/i8_gemm/neon_i8mm.h"
#elif defined(SMR_SIMD_NEON_DOT)
#include "kernels/i8_gemm/neon_dot.h"
#elif defined(SMR_SIMD_NEON)
#include "kernels/i8_gemm/neon.h"
#elif defined(SMR_SIMD_V128_DOT)
#include "kernels/i8_gemm/v128_dot.h"
#elif defined(SMR_SIMD_V128)
#include "kernels/i8_gemm/v128.h"
#elif defined(SMR_SIMD_SCALAR)
#include "kernels/i8_gemm/scalar.h"
#endif
