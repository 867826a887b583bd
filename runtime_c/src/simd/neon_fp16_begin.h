// SPDX-License-Identifier: Apache-2.0
// Opens a region compiled for AArch64 Advanced SIMD with float16 arithmetic; see simd/common.h for
// the vocabulary.
#include "simd/common.h"

#include <arm_neon.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("fullfp16"))), apply_to = function)
#else
#pragma GCC push_options
#if defined(SMR_SIMD_HOT)
SMR_HOT_REGION
#endif
#pragma GCC target("arch=armv8.2-a+fp16")
#endif

#define SMR_SIMD_SUFFIX _neon_fp16
#define SMR_SIMD_ISA SMR_ISA_NEON_FP16
#define SMR_SIMD_NAME "neon_fp16"
#define SMR_SIMD_NEON_FP16
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 4

#ifndef SMR_SIMD_NEONFP16_OPS
#define SMR_SIMD_NEONFP16_OPS
#include "simd/neon_ops.h"
#endif
