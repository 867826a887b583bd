// SPDX-License-Identifier: Apache-2.0
// Selects the bfloat16 tiles of the instruction set.
#if defined(SMR_SIMD_AVX512BF16)
#include "kernels/bf16_gemm/avx512bf16.h"
#elif defined(SMR_SIMD_NEON_BF16)
#include "kernels/bf16_gemm/neon_bf16.h"
#elif defined(SMR_SIMD_SCALAR)
#include "kernels/bf16_gemm/scalar.h"
#endif
