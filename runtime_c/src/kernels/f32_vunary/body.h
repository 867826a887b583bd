// SPDX-License-Identifier: Apache-2.0
// The elementwise float functions over the vocabulary; VUNARY_TABLE names the table they end in.
#include "simd/trig.h"

// `value` says f in terms of x, a and b.
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
VUNARY(exp, N(exp)(x))
VUNARY(log, N(log)(x))
VUNARY(sqrt, N(sqrt)(x))
VUNARY(rsqrt, N(div)(N(set1)(1.0f), N(sqrt)(x)))
VUNARY(reciprocal, N(div)(N(set1)(1.0f), x))
VUNARY(tanh, N(tanh)(x))
VUNARY(erf, N(erf)(x))
VUNARY(sigmoid, N(sigmoid)(x))
VUNARY(relu, N(max)(N(zero)(), x))
VUNARY(leaky_relu, N(select)(N(ge)(x, N(zero)()), x, N(mul)(x, a)))
VUNARY(elu, N(select)(N(ge)(x, N(zero)()), x, N(mul)(a, N(expm1_negative)(x))))
VUNARY(softplus, N(add)(N(max)(N(zero)(), x), N(log1p_unit)(N(exp)(N(neg)(N(abs)(x))))))
VUNARY(gelu, N(mul)(N(f32_vunary_half)(x),
                    N(f32_vunary_one_more)(N(erf)(N(mul)(x, N(set1)(0.7071067812f))))))
VUNARY(gelu_tanh,
       N(mul)(N(f32_vunary_half)(x), N(f32_vunary_one_more)(N(tanh)(N(f32_vunary_gelu_inner)(x)))))
VUNARY(hard_sigmoid, N(f32_vunary_unit)(N(add)(N(mul)(a, x), b)))
VUNARY(hard_swish,
       N(mul)(x, N(f32_vunary_unit)(N(add)(N(mul)(x, N(set1)(1.0f / 6.0f)), N(set1)(0.5f)))))
VUNARY(silu, N(mul)(x, N(sigmoid)(x)))
VUNARY(clamp, N(clamp)(x, a, b))
VUNARY(sin, N(sin)(x))
VUNARY(cos, N(cos)(x))
VUNARY(tan, N(tan)(x))
VUNARY(asin, N(asin)(x))
VUNARY(acos, N(acos)(x))
VUNARY(atan, N(atan)(x))
VUNARY(sinh, N(sinh)(x))
VUNARY(cosh, N(cosh)(x))
VUNARY(asinh, N(asinh)(x))
VUNARY(acosh, N(acosh)(x))
VUNARY(atanh, N(atanh)(x))

const smr_f32_vunary_ukernel VUNARY_TABLE[SMR_F32_VUNARY_COUNT] = {
#define SMR_F32_FUNCTION(NAME, name) N(f32_vunary_##name),
#include "kernels/f32_vunary/functions.inc"

#undef SMR_F32_FUNCTION
};
#undef VUNARY
#undef VUNARY_TABLE
