// SPDX-License-Identifier: Apache-2.0
// The elementwise float functions over the vocabulary.
#include "simd/trig.h"

// `value` gives f in terms of x, a and b. Long functions are expanded once: one loop handles both
// whole vectors and the last partial one, at no measurable cost.
#define VUNARY_LONG(name, value)                                                               \
  static void N(f32_vunary_##name)(size_t n, const float *px, float *y, const float *params) { \
    const N(vf) a = N(set1)(params[0]), b = N(set1)(params[1]);                                \
    (void)a, (void)b;                                                                          \
    while (n) {                                                                                \
      const size_t lanes = n < VF ? n : VF;                                                    \
      const N(vf) x = lanes == VF ? N(load)(px) : N(load_n)(px, lanes), v = value;             \
      if (lanes == VF)                                                                         \
        N(store)(y, v);                                                                        \
      else                                                                                     \
        N(store_n)(y, v, lanes);                                                               \
      n -= lanes, px += lanes, y += lanes;                                                     \
    }                                                                                          \
  }
#define VUNARY_SHORT(name, value)                                                             \
  SMR_INLINE N(vf) N(f32_vunary_value_##name)(N(vf) x, N(vf) a, N(vf) b) {                    \
    (void)a, (void)b;                                                                         \
    return value;                                                                             \
  }                                                                                           \
  static void N(f32_vunary_##name)(size_t n, const float *x, float *y, const float *params) { \
    const N(vf) a = N(set1)(params[0]), b = N(set1)(params[1]);                               \
    for (; n >= VF; n -= VF, x += VF, y += VF)                                                \
      N(store)(y, N(f32_vunary_value_##name)(N(load)(x), a, b));                              \
    if (n) N(store_n)(y, N(f32_vunary_value_##name)(N(load_n)(x, n), a, b), n);               \
  }

#define SMR_F32_FUNCTION(NAME, name, LENGTH, value, value_f64) VUNARY_##LENGTH(name, value)
#include "kernels/f32_vunary/functions.inc"

#undef SMR_F32_FUNCTION

static const smr_f32_vunary_ukernel N(f32_vunary_kernels)[SMR_F32_VUNARY_COUNT] = {
#define SMR_F32_FUNCTION(NAME, name, LENGTH, value, value_f64) \
  SMR_HAS(f32_vunary_##name) ? N(f32_vunary_##name) : NULL,
#include "kernels/f32_vunary/functions.inc"

#undef SMR_F32_FUNCTION
};
#undef VUNARY_SHORT
#undef VUNARY_LONG
