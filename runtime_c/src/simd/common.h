// SPDX-License-Identifier: Apache-2.0
// What every vector vocabulary shares, and the vocabulary's contract.
//
// A region of code for an instruction set reads
//
//   #if SMR_ARCH_X86_64
//   #include "simd/avx2_begin.h"
//   ... functions, helper names written N(name) ...
//   #include "simd/end.h"
//   #endif
//
// Families of kernels have theirs opened by a list (kernels/float.inc).
// Between begin and end functions are compiled for that ISA, N(name) pastes the ISA's suffix, VF is
// the number of float lanes (a constant expression), SMR_SIMD_ISA is its bit, SMR_SIMD_NAME its
// name in kernels' names, and SMR_SIMD_AVX2 (or another) is defined. Other headers are included
// before begin, template bodies between. Helpers:
//
//   types      N(vf) floats, N(vi) int32 lanes, N(vm) mask of lanes
//   floats     zero set1(x) load(p) store(p,v)
//              load_n(p,n) store_n(p,v,n): n <= VF lanes; load_n fills the others with 0
//              add sub mul div neg abs sqrt floor ceil trunc rint (half to even)
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

// The opposite, for code that runs seldom and would be inlined again and again.
#define SMR_APART static __attribute__((noinline, unused))

// Before a loop whose trip count is a constant once inlined: its arrays then live in registers.
#if defined(__clang__)
#define SMR_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SMR_UNROLL _Pragma("GCC unroll 128")
#endif

// Before a function whose plain loops, over arrays that do not overlap, the compiler is to turn
// into vectors. GCC 12 leaves loops of unknown length alone at -O2, clang does not. Sums of floats
// keep their order all the same.
#if defined(__clang__) || !defined(__GNUC__)
#define SMR_VECTORIZED
#else
#define SMR_VECTORIZED __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#endif

// Builds for size (GCC; clang's are fast enough): -Os spills accumulators and leaves loops as they
// are written. A family that defines SMR_SIMD_HOT before it opens its regions is compiled for
// speed all the same, as is a single function behind SMR_HOT. Functions begin at 32 bytes, for the
// sake of their loops. On x86 a function keeps the costs of -Os, by which copying 64 bytes is a
// `rep movs`, until its target differs from the command line's: SMR_HOT names another tuning.
// SMR_VECTORIZED alone, before fallbacks mostly, leaves loops small there; SMR_HOT_VECTORIZED is
// for those that every run meets.
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

// Hides where a pointer came from: what follows is addressed relative to it, by offsets that
// several such pointers share, instead of by one precomputed address each.
#define SMR_OPAQUE(pointer) __asm__("" : "+r"(pointer))

/// memcpy of a few bytes where it is called often. For size GCC writes `rep movs` in its place,
/// which takes longer to start than most copies take.
SMR_INLINE void smr_copy(void *to, const void *from, size_t bytes) {
#if defined(SMR_FOR_SIZE)
  void *(*copy)(void *, const void *, size_t) = memcpy;
  SMR_OPAQUE(copy);
  copy(to, from, bytes);
#else
  memcpy(to, from, bytes);
#endif
}

/// The same for memset, which becomes `rep stos`.
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
