// SPDX-License-Identifier: Apache-2.0
// Opens a region compiled for AVX2, FMA and F16C; see simd/common.h for the vocabulary.
#include "simd/common.h"
#include "simd/tail.h"

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#if defined(SMR_SIMD_HOT)
SMR_HOT_REGION
#endif
#pragma GCC target("avx2,fma,f16c")
#endif

#define SMR_SIMD_SUFFIX _avx2
#define SMR_SIMD_ISA SMR_ISA_AVX2
#define SMR_SIMD_NAME "avx2"
#define SMR_SIMD_AVX2
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 8

#ifndef SMR_SIMD_AVX2_OPS
#define SMR_SIMD_AVX2_OPS
#include "simd/avx2_ops.h"
#endif
