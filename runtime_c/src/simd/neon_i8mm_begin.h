// SPDX-License-Identifier: Apache-2.0
// Opens a region compiled for AArch64 Advanced SIMD with dot products and int8 matrix multiply; see
// simd/common.h for the vocabulary.
#include "simd/common.h"

#include <arm_neon.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod,i8mm"))), apply_to = function)
#else
#pragma GCC push_options
#if defined(SMR_SIMD_HOT)
SMR_HOT_REGION
#endif
#pragma GCC target("arch=armv8.2-a+dotprod+i8mm")
#endif

#define SMR_SIMD_SUFFIX _neon_i8mm
#define SMR_SIMD_ISA SMR_ISA_NEON_I8MM
#define SMR_SIMD_NAME "neon_i8mm"
#define SMR_SIMD_NEON_I8MM
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 4

#ifndef SMR_SIMD_NEONI8MM_OPS
#define SMR_SIMD_NEONI8MM_OPS
#include "simd/neon_ops.h"
#endif
