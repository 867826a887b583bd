// SPDX-License-Identifier: Apache-2.0
// Opens a region compiled for AArch64 Advanced SIMD with dot products; see simd/common.h for the
// vocabulary.
#include "simd/common.h"

#include <arm_neon.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC push_options
#if defined(SMR_SIMD_HOT)
SMR_HOT_REGION
#endif
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif

#define SMR_SIMD_SUFFIX _neon_dot
#define SMR_SIMD_ISA SMR_ISA_NEON_DOT
#define SMR_SIMD_NAME "neon_dot"
#define SMR_SIMD_NEON_DOT
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 4

#ifndef SMR_SIMD_NEONDOT_OPS
#define SMR_SIMD_NEONDOT_OPS
#include "simd/neon_ops.h"
#endif
