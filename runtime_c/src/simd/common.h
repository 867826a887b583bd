// SPDX-License-Identifier: Apache-2.0
// The contract of the vector vocabulary, and what all its implementations share.
//
// A region of code for an instruction set reads
//
//   #if SMR_ARCH_X86_64
//   #include "simd/avx2_begin.h"
//   ... functions, helper names written N(name) ...
//   #include "simd/end.h"
//   #endif
//
// A list of kernels (kernels/float.inc) opens the regions of a kernel family. Between begin and
// end, functions are compiled for that ISA, N(name) pastes the ISA's suffix, VF is the number of
// float lanes (a constant expression), SMR_SIMD_ISA is the ISA's bit, SMR_SIMD_NAME its name in
// kernel names, and SMR_SIMD_AVX2 (or another) is defined. Include other headers before begin,
// template bodies between. Helpers:
//
//   types      N(vf) floats, N(vi) int32 lanes, N(vm) mask of lanes
//   floats     zero set1(x) load(p) store(p,v)
//              load_n(p,n) store_n(p,v,n): n <= VF lanes; load_n fills the others with 0
//              add sub mul div neg abs sqrt floor ceil trunc rint (half to even)
//              SMR_LITERAL(x) is set1 of a literal
//              fma(a,b,c) a*b+c, rounded once where the ISA can (scalar: twice)
//              min(a,b) max(a,b): b if either is NaN on all ISAs but NEON, NaN there if either is;
//              so NaN in b always comes out.   clamp(x,lo,hi): NaN in x comes out
//   float16    load_f16(p) store_f16(p,v) load_f16_n store_f16_n, p is const uint16_t *
//   masks      lt le gt ge eq ne (ordered, ne unordered); mand mor mnot; any(m) all(m)
//              select(m,a,b): a where m
//   ints       izero iset1 iload istore iload_n istore_n iadd isub imul (low 32 bits) imin imax
//              iand ior ixor ishl(v,n) isra(v,n) isrl(v,n); igt ieq; iselect
//   between    to_int(v) half to even, to_int_trunc(v) (in range only), to_float(i)
//              bits(v) float to int lanes, from_bits(i) back
//              scale2(v,i) v * 2^i for -126 <= i <= 127
//   halves     (not scalar) N(hf), VF / 2 lanes: hset1 hload hstore hload_f16 hfma hmin hmax
//              hlow(v)
//   across     reduce_add reduce_max reduce_min: of all VF lanes (order fixed per ISA)
//
// Functions built on these: simd/math.h (exp, log, tanh, sigmoid, erf), simd/trig.h (sin ...
// atanh), simd/requantize.h (sums to int8).
//
// Pointers need element alignment only. Nothing beyond the n lanes is read or written.
#ifndef SMR_SIMD_COMMON_H
#define SMR_SIMD_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SMR_INLINE static inline __attribute__((always_inline, unused))

// The opposite, for rarely executed code that would be inlined repeatedly.
#define SMR_APART static __attribute__((noinline, unused))

// For loops whose trip count is constant after inlining: their arrays then stay in registers.
#if defined(__clang__)
#define SMR_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SMR_UNROLL _Pragma("GCC unroll 128")
#endif

// For loops that shall stay short even where the compiler would unroll them.
#if defined(__clang__)
#define SMR_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define SMR_ROLLED
#endif

// For functions with plain loops over arrays that do not overlap, which the compiler should
// vectorize. GCC 12 does not vectorize loops of unknown length at -O2; clang does. The order of
// float sums is kept.
#if defined(__clang__) || !defined(__GNUC__)
#define SMR_VECTORIZED
#else
#define SMR_VECTORIZED __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#endif

// For builds for size with GCC (clang's are fast enough): -Os spills accumulators and does not
// transform loops. A kernel family that defines SMR_SIMD_HOT before its regions is compiled for
// speed all the same; so is a function marked SMR_HOT. Functions start at multiples of 32 bytes,
// because of their loops. On x86 a function keeps the cost model of -Os, which copies 64 bytes by
// `rep movs`, unless its target differs from the command line's, so SMR_HOT sets another tuning.
// SMR_VECTORIZED alone, mostly for fallbacks, keeps loops small; SMR_HOT_VECTORIZED is for loops
// that every run executes.
#if defined(SMR_FOR_SIZE)
#define SMR_PRAGMA(text) _Pragma(#text)
#define SMR_OPTIMIZE(passes) SMR_PRAGMA(GCC optimize(passes))
#define SMR_HOT_PASSES \
  "O2,tree-dominator-opts,optimize-sibling-calls,tree-tail-merge,align-functions=32"
#define SMR_HOT_REGION SMR_OPTIMIZE(SMR_HOT_PASSES)
#if defined(__x86_64__)
#define SMR_HOT __attribute__((optimize(SMR_HOT_PASSES), target("tune=haswell")))
#else
#define SMR_HOT __attribute__((optimize(SMR_HOT_PASSES)))
#endif
#define SMR_HOT_VECTORIZED \
  __attribute__((optimize(SMR_HOT_PASSES, "tree-vectorize", "vect-cost-model=dynamic")))
#else
#define SMR_HOT
#define SMR_HOT_REGION
#define SMR_HOT_VECTORIZED SMR_VECTORIZED
#endif

// Hides the origin of a pointer. Accesses then use offsets relative to it, which several such
// pointers share, instead of one precomputed address each.
#define SMR_OPAQUE(pointer) __asm__("" : "+r"(pointer))

// A vector of a literal. Engines of WebAssembly make a constant vector by three instructions each
// time it is used, and it takes 18 bytes of a module; a load takes one, and 12 bytes.
#if defined(__wasm_simd128__)
#define SMR_LITERAL(x)                    \
  N(set1)(__extension__({                 \
    static const float literal_ = (x);    \
    const float *literal_at_ = &literal_; \
    __asm__("" : "+r"(literal_at_));      \
    *literal_at_;                         \
  }))
#else
#define SMR_LITERAL(x) N(set1)(x)
#endif

/// memcpy of a few bytes in hot code. For size GCC would emit `rep movs`, whose start-up takes
/// longer than most copies.
SMR_INLINE void smr_copy(void *to, const void *from, size_t bytes) {
#if defined(SMR_FOR_SIZE)
  void *(*copy)(void *, const void *, size_t) = memcpy;
  SMR_OPAQUE(copy);
  copy(to, from, bytes);
#else
  memcpy(to, from, bytes);
#endif
}

/// The same for memset, which would become `rep stos`.
SMR_INLINE void smr_fill(void *to, int8_t value, size_t bytes) {
#if defined(SMR_FOR_SIZE)
  void *(*set)(void *, int, size_t) = memset;
  SMR_OPAQUE(set);
  set(to, value, bytes);
#else
  memset(to, value, bytes);
#endif
}

SMR_INLINE void smr_clear(void *to, size_t bytes) { smr_fill(to, 0, bytes); }

#define SMR_PASTE_(a, b, c) a##b##c
#define SMR_PASTE(a, b, c) SMR_PASTE_(a, b, c)

#endif
