// SPDX-License-Identifier: Apache-2.0
// Elementwise float functions that the C library computes.
#include "base/fp.h"

#include "kernels/f32_vunary/kernels.h"

#include <math.h>

#define VUNARY_LIBM(NAME, name)                                                                 \
  static void f32_vunary_libm_##name(size_t n, const float *x, float *y, const float *params) { \
    (void)params;                                                                               \
    for (size_t i = 0; i < n; i++) y[i] = name##f(x[i]);                                        \
  }
SMR_F32_VUNARY_LIBM_MAP(VUNARY_LIBM)
#undef VUNARY_LIBM

#define VUNARY_LIBM(NAME, name) \
  [SMR_F32_##NAME - SMR_F32_VUNARY_VECTOR_COUNT] = f32_vunary_libm_##name,
const smr_f32_vunary_ukernel
    smr_f32_vunary_ukernels__libm[SMR_F32_VUNARY_COUNT - SMR_F32_VUNARY_VECTOR_COUNT] = {
        SMR_F32_VUNARY_LIBM_MAP(VUNARY_LIBM)};
#undef VUNARY_LIBM
