// SPDX-License-Identifier: Apache-2.0
// Functions of one double: the C library's, and what is made of them.
#include "base/fp.h"

#include "kernels/f64_vunary/f64_vunary.h"

#include <math.h>

// One kernel: `value` in terms of x, and of the params a and b.
#define F64_VUNARY(name, value)                                                            \
  static void f64_vunary_##name(size_t n, const void *x_, void *y_, const float *params) { \
    const double *px = (const double *)x_;                                                 \
    double *py = (double *)y_;                                                             \
    const double a = params[0], b = params[1];                                             \
    (void)a;                                                                               \
    (void)b;                                                                               \
    for (size_t i = 0; i < n; i++) {                                                       \
      const double x = px[i];                                                              \
      py[i] = (value);                                                                     \
    }                                                                                      \
  }

// NaN stays.
static inline double f64_vunary_between(double x, double low, double high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

static double f64_vunary_logistic(double x) { return 1 / (1 + exp(-x)); }

static double f64_vunary_tanh_gelu(double x) {
  const double root_2_over_pi = 0.79788456080286535588;
  return 0.5 * x * (1 + tanh(root_2_over_pi * (x + 0.044715 * x * x * x)));
}

F64_VUNARY(neg, -x)
F64_VUNARY(abs, fabs(x))
F64_VUNARY(sign, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x)
F64_VUNARY(ceil, ceil(x))
F64_VUNARY(floor, floor(x))
F64_VUNARY(round, nearbyint(x))
F64_VUNARY(exp, exp(x))
F64_VUNARY(log, log(x))
F64_VUNARY(sqrt, sqrt(x))
F64_VUNARY(rsqrt, 1 / sqrt(x))
F64_VUNARY(reciprocal, 1 / x)
F64_VUNARY(tanh, tanh(x))
F64_VUNARY(erf, erf(x))
F64_VUNARY(sigmoid, f64_vunary_logistic(x))
F64_VUNARY(relu, x < 0 ? 0 : x)
F64_VUNARY(leaky_relu, x >= 0 ? x : a * x)
F64_VUNARY(elu, x > 0 ? x : a * expm1(x))
F64_VUNARY(softplus, log1p(exp(-fabs(x))) + (x < 0 ? 0 : x))
F64_VUNARY(gelu, 0.5 * x * (1 + erf(x * 0.70710678118654752440)))
F64_VUNARY(gelu_tanh, f64_vunary_tanh_gelu(x))
F64_VUNARY(hard_sigmoid, f64_vunary_between(a *x + b, 0, 1))
F64_VUNARY(hard_swish, x *f64_vunary_between(x / 6 + 0.5, 0, 1))
F64_VUNARY(silu, x *f64_vunary_logistic(x))
F64_VUNARY(clamp, f64_vunary_between(x, a, b))
F64_VUNARY(sin, sin(x))
F64_VUNARY(cos, cos(x))
F64_VUNARY(tan, tan(x))
F64_VUNARY(asin, asin(x))
F64_VUNARY(acos, acos(x))
F64_VUNARY(atan, atan(x))
F64_VUNARY(sinh, sinh(x))
F64_VUNARY(cosh, cosh(x))
F64_VUNARY(asinh, asinh(x))
F64_VUNARY(acosh, acosh(x))
F64_VUNARY(atanh, atanh(x))
#undef F64_VUNARY

static const smr_f64_vunary_ukernel f64_vunary_kernels[SMR_F32_VUNARY_COUNT] = {
#define SMR_F32_FUNCTION(NAME, name) [SMR_F32_##NAME] = f64_vunary_##name,
#include "kernels/f32_vunary/functions.inc"
#undef SMR_F32_FUNCTION
};

smr_f64_vunary_ukernel smr_f64_vunary_kernel(enum smr_f32_vunary function) {
  return f64_vunary_kernels[function];
}
