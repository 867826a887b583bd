// SPDX-License-Identifier: Apache-2.0
// Gradients of activations over the vocabulary.
#include "simd/math.h"

// `value` gives dx in terms of g (dy), v, a and b.
#define ACTIVATION_GRAD(name, value)                                                               \
  SMR_INLINE N(vf) N(f32_activation_grad_value_##name)(N(vf) g, N(vf) v, N(vf) a, N(vf) b) {       \
    (void)a, (void)b;                                                                              \
    return value;                                                                                  \
  }                                                                                                \
  static void N(f32_activation_grad_##name)(size_t n, const float *dy, const float *pv, float *dx, \
                                            const float *params) {                                 \
    const N(vf) a = N(set1)(params[0]), b = N(set1)(params[1]);                                    \
    for (; n >= VF; n -= VF, dy += VF, pv += VF, dx += VF)                                         \
      N(store)(dx, N(f32_activation_grad_value_##name)(N(load)(dy), N(load)(pv), a, b));           \
    if (n)                                                                                         \
      N(store_n)(                                                                                  \
          dx, N(f32_activation_grad_value_##name)(N(load_n)(dy, n), N(load_n)(pv, n), a, b), n);   \
  }

// 1 - v w
SMR_INLINE N(vf) N(f32_activation_grad_rest)(N(vf) v, N(vf) w) {
  return N(sub)(N(set1)(1.0f), N(mul)(v, w));
}

// Phi(x) + x phi(x)
SMR_INLINE N(vf) N(f32_activation_grad_slope_gelu)(N(vf) x) {
  const N(vf) half = N(set1)(0.5f);
  const N(vf) whole = N(fma)(N(erf)(N(mul)(x, N(set1)(0.7071067812f))), half, half);
  const N(vf) bell = N(exp)(N(mul)(N(mul)(x, x), N(set1)(-0.5f)));
  return N(fma)(x, N(mul)(bell, N(set1)(0.3989422804f)), whole);
}

// (1 + t + x u' (1 - t^2)) / 2 for t = tanh(u), u = sqrt(2 / pi) (x + 0.044715 x^3)
SMR_INLINE N(vf) N(f32_activation_grad_slope_gelu_tanh)(N(vf) x) {
  const N(vf) one = N(set1)(1.0f), root = N(set1)(0.7978845608f), square = N(mul)(x, x);
  const N(vf) u = N(mul)(x, N(fma)(square, N(set1)(0.0356774081f), root));
  const N(vf) slope = N(fma)(square, N(set1)(0.1070322243f), root);
  const N(vf) t = N(tanh)(u);
  // Select 0 first: for large |x|, x times the slope overflows.
  const N(vf) curve = N(mul)(N(mul)(x, N(f32_activation_grad_rest)(t, t)), slope);
  return N(mul)(N(add)(N(add)(one, t), curve), N(set1)(0.5f));
}

// s (1 + x (1 - s)) for s = sigmoid(x)
SMR_INLINE N(vf) N(f32_activation_grad_slope_silu)(N(vf) x) {
  const N(vf) one = N(set1)(1.0f), s = N(sigmoid)(x);
  return N(mul)(s, N(fma)(x, N(sub)(one, s), one));
}

SMR_INLINE N(vm) N(f32_activation_grad_within)(N(vf) v, N(vf) a, N(vf) b) {
  return N(mand)(N(le)(a, v), N(le)(v, b));
}
SMR_INLINE N(vm) N(f32_activation_grad_inside)(N(vf) v) {
  return N(mand)(N(lt)(N(zero)(), v), N(lt)(v, N(set1)(1.0f)));
}
SMR_INLINE N(vf) N(f32_activation_grad_hard_swish_value)(N(vf) g, N(vf) x) {
  const N(vf) three = N(set1)(3.0f);
  const N(vf) slope = N(fma)(x, N(set1)(1.0f / 3.0f), N(set1)(0.5f));
  const N(vf) above = N(select)(N(lt)(x, three), N(mul)(g, slope), g);
  return N(select)(N(le)(x, N(neg)(three)), N(zero)(), above);
}

ACTIVATION_GRAD(relu, N(select)(N(le)(v, N(zero)()), N(zero)(), g))
ACTIVATION_GRAD(leaky_relu, N(select)(N(lt)(N(zero)(), v), g, N(mul)(g, a)))
ACTIVATION_GRAD(elu, N(select)(N(le)(v, N(zero)()), N(mul)(g, N(mul)(a, N(exp)(v))), g))
ACTIVATION_GRAD(sigmoid, N(mul)(N(mul)(g, v), N(sub)(N(set1)(1.0f), v)))
ACTIVATION_GRAD(tanh, N(mul)(g, N(f32_activation_grad_rest)(v, v)))
ACTIVATION_GRAD(gelu, N(mul)(g, N(f32_activation_grad_slope_gelu)(v)))
ACTIVATION_GRAD(gelu_tanh, N(mul)(g, N(f32_activation_grad_slope_gelu_tanh)(v)))
ACTIVATION_GRAD(silu, N(mul)(g, N(f32_activation_grad_slope_silu)(v)))
ACTIVATION_GRAD(softplus, N(mul)(g, N(sigmoid)(v)))
ACTIVATION_GRAD(hard_sigmoid, N(select)(N(f32_activation_grad_inside)(v), N(mul)(g, a), N(zero)()))
ACTIVATION_GRAD(hard_swish, N(f32_activation_grad_hard_swish_value)(g, v))
ACTIVATION_GRAD(clamp, N(select)(N(f32_activation_grad_within)(v, a, b), g, N(zero)()))

static const smr_f32_activation_grad_ukernel N(
    f32_activation_grad_kernels)[SMR_F32_ACTIVATION_GRAD_COUNT] = {
#define SMR_F32_ACTIVATION(NAME, name) N(f32_activation_grad_##name),
#include "kernels/f32_activation_grad/functions.inc"
#undef SMR_F32_ACTIVATION
};
#undef ACTIVATION_GRAD
