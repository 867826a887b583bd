// SPDX-License-Identifier: Apache-2.0
// Elementwise float functions that the C library computes.
#include "base/fp.h"

#include "kernels/f32_vunary/kernels.h"

#include <math.h>

#define SMR_F32_FUNCTION(NAME, name)                                                            \
  static void f32_vunary_libm_##name(size_t n, const float *x, float *y, const float *params) { \
    (void)params;                                                                               \
    for (size_t i = 0; i < n; i++) y[i] = name##f(x[i]);                                        \
  }
#include "kernels/f32_vunary/functions_libm.inc"
#undef SMR_F32_FUNCTION

const smr_f32_vunary_ukernel
    smr_f32_vunary_ukernels__libm[SMR_F32_VUNARY_COUNT - SMR_F32_VUNARY_VECTOR_COUNT] = {
#define SMR_F32_FUNCTION(NAME, name) f32_vunary_libm_##name,
#include "kernels/f32_vunary/functions_libm.inc"
#undef SMR_F32_FUNCTION
};
