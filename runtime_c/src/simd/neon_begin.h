// SPDX-License-Identifier: Apache-2.0
// Opens a region compiled for AArch64 Advanced SIMD; see simd/common.h for the vocabulary.
#include "simd/common.h"
#include "simd/tail.h"

#include <arm_neon.h>

// Advanced SIMD is part of the base architecture, so the region needs no target attribute.
#if defined(SMR_SIMD_HOT) && defined(SMR_FOR_SIZE)
#pragma GCC push_options
SMR_HOT_REGION
#else
#define SMR_SIMD_PLAIN
#endif

#define SMR_SIMD_SUFFIX _neon
#define SMR_SIMD_ISA SMR_ISA_NEON
#define SMR_SIMD_NAME "neon"
#define SMR_SIMD_NEON
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 4

#ifndef SMR_SIMD_NEON_OPS
#define SMR_SIMD_NEON_OPS
#include "simd/neon_ops.h"
#endif
