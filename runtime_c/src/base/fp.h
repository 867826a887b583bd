// SPDX-License-Identifier: Apache-2.0
// Fixes the floating-point rules of every C file, which must include this header first.
//
// Integer models give the same bits everywhere, and float kernels agree within documented limits.
// Both require a compiler that does not contract a * b + c, reassociate, or keep excess precision.
// GCC contracts even intrinsics and ignores the STDC pragma, but honours its own optimize pragma;
// clang contracts scalar expressions and honours the STDC one. Kernels that want a fused
// multiply-add call it by name.
#ifndef SMR_BASE_FP_H
#define SMR_BASE_FP_H

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "samara: do not build with -ffast-math or its parts, the numbers would not be defined"
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "samara: do not build with -ffinite-math-only, kernels propagate NaN and infinity"
#endif
#if defined(__NO_SIGNED_ZEROS__)
#error "samara: do not build with -fno-signed-zeros, kernels distinguish -0 from +0"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error \
    "samara: float expressions must be evaluated in float (on i386 build with -mfpmath=sse -msse2)"
#endif

// Whether GCC compiles for size. Recorded here, because the compiler's own macro is lost once one
// of its headers has pushed and popped options.
#if defined(__OPTIMIZE_SIZE__) && defined(__GNUC__) && !defined(__clang__)
#define SMR_FOR_SIZE
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

// -Oz trades more speed for size than -Os in code that is not hot: it passes constants through the
// stack.
#if defined(SMR_FOR_SIZE) && __GNUC__ >= 12
#pragma GCC optimize("Oz")
#endif

// For size, GCC does better without three of its passes, which duplicate code that -Os could share.
// Code compiled for speed keeps them (simd/common.h); so does bare metal, where calls instead of
// jumps would take stack.
#if defined(SMR_FOR_SIZE) && !defined(SMR_BARE_METAL)
#pragma GCC optimize("no-tree-dominator-opts", "no-optimize-sibling-calls", "no-tree-tail-merge")
#endif

#endif
