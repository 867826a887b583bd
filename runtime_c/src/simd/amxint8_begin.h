// SPDX-License-Identifier: Apache-2.0
// Opens a region compiled for AMX tiles of int8 on top of AVX-512 VNNI; see simd/common.h for the
// vocabulary.
#include "simd/common.h"

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((                                                                                \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC push_options
#if defined(SMR_SIMD_HOT)
SMR_HOT_REGION
#endif
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8,avx2,fma,f16c,prefer-vector-width=512")
#endif

#define SMR_SIMD_SUFFIX _amxint8
#define SMR_SIMD_ISA SMR_ISA_AMX_INT8
#define SMR_SIMD_NAME "amxint8"
#define SMR_SIMD_AMXINT8
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 16

#ifndef SMR_SIMD_AMXINT8_OPS
#define SMR_SIMD_AMXINT8_OPS
// Without optimisation GCC's intrinsics are macros, whose casts trigger its own warnings.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "simd/avx512_ops.h"
#pragma GCC diagnostic pop
#endif
