// SPDX-License-Identifier: Apache-2.0
// Opens a region compiled for AArch64 Advanced SIMD with products of bfloat16; see
// simd/common.h for the vocabulary.
#include "simd/common.h"

#include <arm_neon.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("bf16"))), apply_to = function)
#else
#pragma GCC push_options
#if defined(SMR_SIMD_HOT)
SMR_HOT_REGION
#endif
#pragma GCC target("arch=armv8.2-a+bf16")
#endif

#define SMR_SIMD_SUFFIX _neon_bf16
#define SMR_SIMD_ISA SMR_ISA_NEON_BF16
#define SMR_SIMD_NAME "neon_bf16"
#define SMR_SIMD_NEON_BF16
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 4

#ifndef SMR_SIMD_NEONBF16_OPS
#define SMR_SIMD_NEONBF16_OPS
#include "simd/neon_ops.h"
#endif
