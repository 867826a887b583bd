// SPDX-License-Identifier: Apache-2.0
// The elementwise float functions over the vocabulary.
#include "simd/trig.h"

// `value` says f in terms of x, a and b. Long ones appear once: the loop does whole vectors and the
// last part of one alike, which costs them nothing that can be measured.
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
#define VUNARY(name, value)                                                                   \
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

SMR_INLINE N(vf) N(f32_vunary_unit)(N(vf) x) { return N(clamp)(x, N(zero)(), N(set1)(1.0f)); }
SMR_INLINE N(vf) N(f32_vunary_half)(N(vf) x) { return N(mul)(x, N(set1)(0.5f)); }
SMR_INLINE N(vf) N(f32_vunary_one_more)(N(vf) x) { return N(add)(x, N(set1)(1.0f)); }

// sqrt(2 / pi) (x + 0.044715 x^3)
SMR_INLINE N(vf) N(f32_vunary_gelu_inner)(N(vf) x) {
  const N(vf) x3 = N(mul)(N(mul)(x, x), x);
  return N(mul)(N(fma)(x3, N(set1)(0.044715f), x), N(set1)(0.7978845608f));
}

// 1, -1, and x itself where it is 0 or NaN.
SMR_INLINE N(vf) N(f32_vunary_signum)(N(vf) x) {
  const N(vf) one = N(set1)(1.0f), y = N(select)(N(gt)(x, N(zero)()), one, x);
  return N(select)(N(lt)(x, N(zero)()), N(neg)(one), y);
}

VUNARY(neg, N(neg)(x))
VUNARY(abs, N(abs)(x))
VUNARY(sign, N(f32_vunary_signum)(x))
VUNARY(ceil, N(ceil)(x))
VUNARY(floor, N(floor)(x))
VUNARY(round, N(rint)(x))
VUNARY_LONG(exp, N(exp)(x))
VUNARY_LONG(log, N(log)(x))
VUNARY(sqrt, N(sqrt)(x))
VUNARY(rsqrt, N(div)(N(set1)(1.0f), N(sqrt)(x)))
VUNARY(reciprocal, N(div)(N(set1)(1.0f), x))
VUNARY_LONG(tanh, N(tanh)(x))
VUNARY_LONG(erf, N(erf)(x))
VUNARY_LONG(sigmoid, N(sigmoid)(x))
VUNARY(relu, N(max)(N(zero)(), x))
VUNARY(leaky_relu, N(select)(N(ge)(x, N(zero)()), x, N(mul)(x, a)))
VUNARY_LONG(elu, N(select)(N(ge)(x, N(zero)()), x, N(mul)(a, N(expm1_negative)(x))))
VUNARY_LONG(softplus, N(add)(N(max)(N(zero)(), x), N(log1p_unit)(N(exp)(N(neg)(N(abs)(x))))))
VUNARY_LONG(gelu, N(mul)(N(f32_vunary_half)(x),
                         N(f32_vunary_one_more)(N(erf)(N(mul)(x, N(set1)(0.7071067812f))))))
VUNARY_LONG(gelu_tanh, N(mul)(N(f32_vunary_half)(x),
                              N(f32_vunary_one_more)(N(tanh)(N(f32_vunary_gelu_inner)(x)))))
VUNARY(hard_sigmoid, N(f32_vunary_unit)(N(add)(N(mul)(a, x), b)))
VUNARY(hard_swish,
       N(mul)(x, N(f32_vunary_unit)(N(add)(N(mul)(x, N(set1)(1.0f / 6.0f)), N(set1)(0.5f)))))
VUNARY_LONG(silu, N(mul)(x, N(sigmoid)(x)))
VUNARY(clamp, N(clamp)(x, a, b))
VUNARY_LONG(sin, N(sin)(x))
VUNARY_LONG(cos, N(cos)(x))
VUNARY_LONG(tan, N(tan)(x))
VUNARY_LONG(asin, N(asin)(x))
VUNARY_LONG(acos, N(acos)(x))
VUNARY_LONG(atan, N(atan)(x))
VUNARY_LONG(sinh, N(sinh)(x))
VUNARY_LONG(cosh, N(cosh)(x))
VUNARY_LONG(asinh, N(asinh)(x))
VUNARY_LONG(acosh, N(acosh)(x))
VUNARY_LONG(atanh, N(atanh)(x))

static const smr_f32_vunary_ukernel N(f32_vunary_kernels)[SMR_F32_VUNARY_COUNT] = {
#define SMR_F32_FUNCTION(NAME, name) SMR_HAS(f32_vunary_##name) ? N(f32_vunary_##name) : NULL,
#include "kernels/f32_vunary/functions.inc"

#undef SMR_F32_FUNCTION
};
#undef VUNARY
#undef VUNARY_LONG
