// SPDX-License-Identifier: Apache-2.0
// Functions of one float, elementwise: the contract.
#ifndef SMR_KERNELS_F32_VUNARY_H
#define SMR_KERNELS_F32_VUNARY_H

#include <stddef.h>
#include <stdint.h>

/// y[i] = f(x[i]) for i < n. `y` may be `x`; otherwise they do not overlap. No alignment beyond
/// that of a float, nothing outside the n elements is touched. `params` holds two floats, always
/// readable. Each element's bits depend on its own value and the ISA only, not on n or its
/// position.
typedef void (*smr_f32_vunary_ukernel)(size_t n, const float *x, float *y, const float *params);

/// The functions, SMR_F32_<NAME>. With a and b for params:
///   LEAKY_RELU x >= 0 ? x : a x      ELU x >= 0 ? x : a (e^x - 1)   HARD_SIGMOID clamp(a x + b, 0,
///   1) CLAMP between a and b            GELU x Phi(x), by erf           GELU_TANH its usual
///   approximation ROUND half to even               SIGN of NaN is NaN, of 0 is 0
/// NaN in gives NaN out for all of them.
#define SMR_F32_VUNARY_MAP(X)                                                                     \
  X(NEG, neg)                                                                                     \
  X(ABS, abs) X(SIGN, sign) X(CEIL, ceil) X(FLOOR, floor) X(ROUND, round) X(EXP, exp) X(LOG, log) \
      X(SQRT, sqrt) X(RSQRT, rsqrt) X(RECIPROCAL, reciprocal) X(TANH, tanh) X(ERF, erf)           \
          X(SIGMOID, sigmoid) X(RELU, relu) X(LEAKY_RELU, leaky_relu) X(ELU, elu)                 \
              X(SOFTPLUS, softplus) X(GELU, gelu) X(GELU_TANH, gelu_tanh)                         \
                  X(HARD_SIGMOID, hard_sigmoid) X(HARD_SWISH, hard_swish) X(SILU, silu)           \
                      X(CLAMP, clamp)
/// Those that the C library computes, one element at a time.
#define SMR_F32_VUNARY_LIBM_MAP(X)                                                              \
  X(SIN, sin)                                                                                   \
  X(COS, cos) X(TAN, tan) X(ASIN, asin) X(ACOS, acos) X(ATAN, atan) X(SINH, sinh) X(COSH, cosh) \
      X(ASINH, asinh) X(ACOSH, acosh) X(ATANH, atanh)

enum smr_f32_vunary {
#define SMR_F32_VUNARY_ENUM(NAME, name) SMR_F32_##NAME,
  SMR_F32_VUNARY_MAP(SMR_F32_VUNARY_ENUM) SMR_F32_VUNARY_VECTOR_COUNT,
  SMR_F32_VUNARY_BEFORE_LIBM = SMR_F32_VUNARY_VECTOR_COUNT - 1,
  SMR_F32_VUNARY_LIBM_MAP(SMR_F32_VUNARY_ENUM) SMR_F32_VUNARY_COUNT
#undef SMR_F32_VUNARY_ENUM
};

/// The best kernel for `function` among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
smr_f32_vunary_ukernel smr_f32_vunary_kernel(uint32_t isa, enum smr_f32_vunary function);
/// Its name for profiles, e.g. "f32_vunary__avx2".
const char *smr_f32_vunary_kernel_name(uint32_t isa, enum smr_f32_vunary function);

#endif
