// SPDX-License-Identifier: Apache-2.0
// Opens a region for WebAssembly's vectors with dot products of bytes (SMR_ISA_WASM_UDOT and
// SMR_ISA_WASM_SDOT). See simd/common.h for the vocabulary.
//
//   dot(acc, w, x)   acc + the sums of four products of the signed w and x. x is unsigned with
//                    SMR_ISA_WASM_UDOT and signed with SMR_ISA_WASM_SDOT
#include "simd/common.h"
#include "simd/half.h"
#include "simd/tail.h"

#define SMR_SIMD_PLAIN
#define SMR_SIMD_SUFFIX _v128_dot
#define SMR_SIMD_ISA SMR_ISA_WASM_UDOT
#define SMR_SIMD_NAME "v128_dot"
#define SMR_SIMD_V128_DOT
#define SMR_SIMD_WASM
#define SMR_SIMD_RELAXED
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 4

#ifndef SMR_SIMD_V128_DOT_OPS
#define SMR_SIMD_V128_DOT_OPS
#include "simd/v128_ops.h"

typedef int8_t N(v16i8) __attribute__((vector_size(16)));

SMR_INLINE N(vi) N(dot)(N(vi) acc, N(v16i8) w, N(v16i8) x) {
  return (N(vi))__builtin_wasm_relaxed_dot_i8x16_i7x16_add_s_i32x4(w, x, acc);
}
#endif
