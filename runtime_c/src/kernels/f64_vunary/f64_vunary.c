// SPDX-License-Identifier: Apache-2.0
// Functions of one double: those of the C library, and formulas over them.
#include "base/fp.h"

#include "kernels/f64_vunary/f64_vunary.h"

#include "kernels/f64_formula.h"

// One kernel: `value` in terms of x and of the params a and b.
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

#define SMR_F32_FUNCTION(NAME, name, LENGTH, value, value_f64) F64_VUNARY(name, value_f64)
#include "kernels/f32_vunary/functions.inc"
#undef SMR_F32_FUNCTION
#undef F64_VUNARY

static const smr_f64_vunary_ukernel f64_vunary_kernels[SMR_F32_VUNARY_COUNT] = {
#define SMR_F32_FUNCTION(NAME, name, LENGTH, value, value_f64) [SMR_F32_##NAME] = f64_vunary_##name,
#include "kernels/f32_vunary/functions.inc"
#undef SMR_F32_FUNCTION
};

smr_f64_vunary_ukernel smr_f64_vunary_kernel(enum smr_f32_vunary function) {
  return f64_vunary_kernels[function];
}
