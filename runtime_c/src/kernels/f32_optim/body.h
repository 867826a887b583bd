// SPDX-License-Identifier: Apache-2.0
// Optimiser steps over the vocabulary.

SMR_INLINE N(vf) N(f32_optim_load)(const float *x, size_t lanes) {
  return lanes == VF ? N(load)(x) : N(load_n)(x, lanes);
}

SMR_INLINE void N(f32_optim_store)(float *y, N(vf) v, size_t lanes) {
  if (lanes == VF)
    N(store)(y, v);
  else
    N(store_n)(y, v, lanes);
}

SMR_INLINE N(vf)
    N(f32_optim_gradient)(const struct smr_f32_optim_gradient *s, N(vf) p, size_t i, size_t lanes) {
  const N(vf) g = N(mul)(N(set1)(s->sign), N(f32_optim_load)(s->g + i, lanes));
  return s->weight_decay != 0 ? N(fma)(N(set1)(s->weight_decay), p, g) : g;
}

SMR_INLINE void N(f32_optim_sgd_block)(const struct smr_f32_sgd *s, size_t i, size_t lanes) {
  const N(vf) p = N(f32_optim_load)(s->gradient.p + i, lanes), momentum = N(set1)(s->momentum);
  const N(vf) d = N(f32_optim_gradient)(&s->gradient, p, i, lanes);
  N(vf) b = d;
  if (s->buffer_new != NULL) {
    if (s->buffer != NULL)
      b = N(fma)(momentum, N(f32_optim_load)(s->buffer + i, lanes), N(mul)(N(set1)(s->keep), d));
    N(f32_optim_store)(s->buffer_new + i, b, lanes);
    if (s->nesterov) b = N(fma)(momentum, b, d);
  }
  N(f32_optim_store)(s->p_new + i, N(fma)(N(set1)(-s->lr), b, p), lanes);
}

SMR_INLINE void N(f32_optim_adam_block)(const struct smr_f32_adam *s, size_t i, size_t lanes) {
  const N(vf) p = N(f32_optim_load)(s->gradient.p + i, lanes);
  const N(vf) d = N(f32_optim_gradient)(&s->gradient, p, i, lanes);
  const N(vf) m =
      N(fma)(N(set1)(s->beta1), N(f32_optim_load)(s->m + i, lanes), N(mul)(N(set1)(s->rest1), d));
  const N(vf) v = N(fma)(N(set1)(s->beta2), N(f32_optim_load)(s->v + i, lanes),
                         N(mul)(N(mul)(N(set1)(s->rest2), d), d));
  N(f32_optim_store)(s->m_new + i, m, lanes);
  N(f32_optim_store)(s->v_new + i, v, lanes);
  const N(vf) root = N(fma)(N(sqrt)(v), N(set1)(s->root), N(set1)(s->epsilon));
  const N(vf) kept = N(mul)(N(set1)(s->decay), p);
  N(f32_optim_store)(s->p_new + i, N(fma)(N(set1)(-s->step), N(div)(m, root), kept), lanes);
}

SMR_INLINE void N(f32_optim_rmsprop_block)(const struct smr_f32_rmsprop *s, size_t i,
                                           size_t lanes) {
  const N(vf) p = N(f32_optim_load)(s->gradient.p + i, lanes), alpha = N(set1)(s->alpha);
  const N(vf) d = N(f32_optim_gradient)(&s->gradient, p, i, lanes), rest = N(set1)(s->rest);
  N(vf) a = N(fma)(alpha, N(f32_optim_load)(s->average + i, lanes), N(mul)(N(mul)(rest, d), d));
  N(f32_optim_store)(s->average_new + i, a, lanes);
  if (s->mean_new != NULL) {
    const N(vf) c = N(fma)(alpha, N(f32_optim_load)(s->mean + i, lanes), N(mul)(rest, d));
    N(f32_optim_store)(s->mean_new + i, c, lanes);
    a = N(max)(N(zero)(), N(fma)(N(neg)(c), c, a));
  }
  N(vf) q = N(div)(d, N(add)(N(sqrt)(a), N(set1)(s->epsilon)));
  if (s->buffer_new != NULL) {
    q = N(fma)(N(set1)(s->momentum), N(f32_optim_load)(s->buffer + i, lanes), q);
    N(f32_optim_store)(s->buffer_new + i, q, lanes);
  }
  N(f32_optim_store)(s->p_new + i, N(fma)(N(set1)(-s->lr), q, p), lanes);
}

#define OPTIM_LOOP(name)                                                                   \
  static void N(f32_optim_##name)(size_t n, const struct smr_f32_##name *args) {           \
    const struct smr_f32_##name s = *args; /* a copy: stores cannot be thought to alias */ \
    size_t i = 0;                                                                          \
    for (; n - i >= VF; i += VF) N(f32_optim_##name##_block)(&s, i, VF);                   \
    if (i < n) N(f32_optim_##name##_block)(&s, i, n - i);                                  \
  }
OPTIM_LOOP(sgd)
OPTIM_LOOP(adam)
OPTIM_LOOP(rmsprop)
#undef OPTIM_LOOP

static const struct smr_f32_optim_kernels N(f32_optim_kernels) = {
    N(f32_optim_sgd),
    N(f32_optim_adam),
    N(f32_optim_rmsprop),
    "f32_optim__" SMR_SIMD_NAME,
};
