// SPDX-License-Identifier: Apache-2.0
// Opens a region for the 128-bit vector types of compilers, on architectures where their operations
// become one instruction each and are known at compile time: WebAssembly with SIMD, RISC-V with V.
// See simd/common.h for the vocabulary.
#include "simd/common.h"
#include "simd/half.h"
#include "simd/requantize.h"
#include "simd/tail.h"

#include <math.h>

#define SMR_SIMD_PLAIN
#define SMR_SIMD_SUFFIX _v128
#define SMR_SIMD_ISA SMR_ISA_V128
#define SMR_SIMD_NAME "v128"
#define SMR_SIMD_V128
#if SMR_ARCH_WASM_SIMD
#define SMR_SIMD_WASM
#if defined(__wasm_relaxed_simd__)
#define SMR_SIMD_RELAXED
#endif
#endif
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 4

#ifndef SMR_SIMD_V128_OPS
#define SMR_SIMD_V128_OPS
#include "simd/v128_ops.h"
#endif
