// SPDX-License-Identifier: Apache-2.0
// Gradients of pools over the vocabulary.

SMR_INLINE N(vf) N(pool_grad_load)(const float *p, size_t lanes) {
  return lanes == VF ? N(load)(p) : N(load_n)(p, lanes);
}

// One vector of channels; `lanes` is the constant VF, or fewer.
SMR_INLINE void N(pool_grad_where_block)(const struct smr_pool_grad_window *w, size_t c,
                                         size_t lanes, int32_t *taps) {
  N(vf) best = N(pool_grad_load)(w->x + c, lanes);
  N(vi) at = N(izero)();
  int32_t tap = 0;
  for (size_t i = 0; i < w->n[0]; i++) {
    for (size_t j = 0; j < w->n[1]; j++) {
      const float *x = w->x + i * w->stride[0] + j * w->stride[1] + c;
      for (size_t k = 0; k < w->n[2]; k++, x += w->stride[2], tap++) {
        const N(vf) v = N(pool_grad_load)(x, lanes);
        const N(vm) larger = N(mor)(N(gt)(v, best), N(ne)(v, v));
        best = N(select)(larger, v, best);
        at = N(iselect)(larger, N(iset1)(tap), at);
      }
    }
  }
  if (lanes == VF)
    N(istore)(taps + c, at);
  else
    N(istore_n)(taps + c, at, lanes);
}

static void N(pool_grad_where)(size_t channels, const struct smr_pool_grad_window *w,
                               int32_t *taps) {
  size_t c = 0;
  for (; channels - c >= VF; c += VF) N(pool_grad_where_block)(w, c, VF, taps);
  if (c < channels) N(pool_grad_where_block)(w, c, channels - c, taps);
}

// Adds `dy` to one vector of channels of each tap in the box: everywhere if `all`, otherwise where
// `at` equals the tap's number.
SMR_INLINE void N(pool_grad_add_block)(int all, const struct smr_pool_grad_window *w, size_t c,
                                       size_t lanes, N(vf) dy, N(vi) at) {
  for (size_t i = w->begin[0]; i < w->end[0]; i++) {
    for (size_t j = w->begin[1]; j < w->end[1]; j++) {
      const size_t first = (i * w->n[1] + j) * w->n[2];
      float *dx = w->dx + i * w->stride[0] + j * w->stride[1] + c;
      for (size_t k = w->begin[2]; k < w->end[2]; k++) {
        float *p = dx + k * w->stride[2];
        const N(vf) more =
            all ? dy : N(select)(N(ieq)(at, N(iset1)((int32_t)(first + k))), dy, N(zero)());
        const N(vf) sum = N(add)(N(pool_grad_load)(p, lanes), more);
        if (lanes == VF)
          N(store)(p, sum);
        else
          N(store_n)(p, sum, lanes);
      }
    }
  }
}

static void N(pool_grad_pick)(size_t channels, const struct smr_pool_grad_window *w,
                              const float *dy, const int32_t *taps) {
  size_t c = 0;
  for (; channels - c >= VF; c += VF)
    N(pool_grad_add_block)(0, w, c, VF, N(load)(dy + c), N(iload)(taps + c));
  const size_t rest = channels - c;
  if (rest > 0)
    N(pool_grad_add_block)(0, w, c, rest, N(load_n)(dy + c, rest), N(iload_n)(taps + c, rest));
}

static void N(pool_grad_spread)(size_t channels, const struct smr_pool_grad_window *w,
                                const float *dy, float scale) {
  const N(vf) by = N(set1)(scale);
  size_t c = 0;
  for (; channels - c >= VF; c += VF)
    N(pool_grad_add_block)(1, w, c, VF, N(mul)(N(load)(dy + c), by), N(izero)());
  const size_t rest = channels - c;
  if (rest > 0)
    N(pool_grad_add_block)(1, w, c, rest, N(mul)(N(load_n)(dy + c, rest), by), N(izero)());
}

static const struct smr_f32_pool_grad N(f32_pool_grad_kernels) = {
    "f32_pool_grad__" SMR_SIMD_NAME, N(pool_grad_where), N(pool_grad_pick), N(pool_grad_spread)};
