// SPDX-License-Identifier: Apache-2.0
// Recurrent cells over the vocabulary.
#include "simd/math.h"

SMR_INLINE N(vf) N(f32_cell_get)(const float *p, size_t lanes) {
  return lanes == VF ? N(load)(p) : N(load_n)(p, lanes);
}

SMR_INLINE void N(f32_cell_put)(float *p, N(vf) v, size_t lanes) {
  if (lanes == VF)
    N(store)(p, v);
  else
    N(store_n)(p, v, lanes);
}

SMR_INLINE N(vf) N(f32_cell_clip)(N(vf) x, float clip) {
  return N(clamp)(x, N(set1)(-clip), N(set1)(clip));
}

SMR_INLINE void N(f32_cell_lstm_block)(size_t at, size_t lanes, const float *gates,
                                       const struct smr_lstm_options *options, float *c, float *h,
                                       float *kept) {
  const size_t n = options->n;
  const float clip = options->clip, *peepholes = options->peepholes;
  N(vf) i = N(f32_cell_get)(gates + at, lanes), o = N(f32_cell_get)(gates + n + at, lanes);
  N(vf) f = N(f32_cell_get)(gates + 2 * n + at, lanes);
  N(vf) g = N(f32_cell_get)(gates + 3 * n + at, lanes);
  N(vf) state = N(f32_cell_get)(c + at, lanes);
  if (peepholes) {
    i = N(fma)(N(f32_cell_get)(peepholes + at, lanes), state, i);
    f = N(fma)(N(f32_cell_get)(peepholes + 2 * n + at, lanes), state, f);
  }
  i = N(sigmoid)(N(f32_cell_clip)(i, clip));
  f = options->input_forget ? N(sub)(SMR_LITERAL(1.0f), i) : N(sigmoid)(N(f32_cell_clip)(f, clip));
  g = N(tanh)(N(f32_cell_clip)(g, clip));
  state = N(fma)(i, g, N(mul)(f, state));
  if (peepholes) o = N(fma)(N(f32_cell_get)(peepholes + n + at, lanes), state, o);
  o = N(sigmoid)(N(f32_cell_clip)(o, clip));
  N(f32_cell_put)(c + at, state, lanes);
  N(f32_cell_put)(h + at, N(mul)(o, N(tanh)(state)), lanes);
  if (kept == NULL) return;
  N(f32_cell_put)(kept + at, i, lanes);
  N(f32_cell_put)(kept + n + at, o, lanes);
  N(f32_cell_put)(kept + 2 * n + at, f, lanes);
  N(f32_cell_put)(kept + 3 * n + at, g, lanes);
}

static void N(f32_cell_lstm)(size_t begin, size_t end, const float *gates,
                             const struct smr_lstm_options *options, float *c, float *h,
                             float *kept) {
  for (size_t at = begin; at < end; at += VF)
    N(f32_cell_lstm_block)(at, end - at < VF ? end - at : VF, gates, options, c, h, kept);
}

SMR_INLINE void N(f32_cell_gru_gates_block)(size_t n, size_t at, size_t lanes, float clip,
                                            float *zr, const float *h, float *reset_h) {
  const N(vf) z = N(f32_cell_get)(zr + at, lanes), r = N(f32_cell_get)(zr + n + at, lanes);
  const N(vf) reset = N(sigmoid)(N(f32_cell_clip)(r, clip));
  N(f32_cell_put)(zr + at, N(sigmoid)(N(f32_cell_clip)(z, clip)), lanes);
  N(f32_cell_put)(zr + n + at, reset, lanes);
  if (reset_h) N(f32_cell_put)(reset_h + at, N(mul)(reset, N(f32_cell_get)(h + at, lanes)), lanes);
}

static void N(f32_cell_gru_gates)(size_t n, float clip, float *zr, const float *h, float *reset_h) {
  size_t at = 0;
  for (; at < n; at += VF)
    N(f32_cell_gru_gates_block)(n, at, n - at < VF ? n - at : VF, clip, zr, h, reset_h);
}

SMR_INLINE void N(f32_cell_gru_block)(size_t n, size_t at, size_t lanes, float clip,
                                      const float *zr, const float *input, const float *state,
                                      float *h, float *fresh) {
  N(vf) x = N(f32_cell_get)(input + at, lanes);
  if (state) x = N(fma)(N(f32_cell_get)(zr + n + at, lanes), N(f32_cell_get)(state + at, lanes), x);
  x = N(tanh)(N(f32_cell_clip)(x, clip));
  if (fresh) N(f32_cell_put)(fresh + at, x, lanes);
  const N(vf) z = N(f32_cell_get)(zr + at, lanes), old = N(f32_cell_get)(h + at, lanes);
  const N(vf) kept = N(mul)(z, old);
  N(f32_cell_put)(h + at, N(fma)(N(sub)(SMR_LITERAL(1.0f), z), x, kept), lanes);
}

static void N(f32_cell_gru)(size_t n, float clip, const float *zr, const float *input,
                            const float *state, float *h, float *fresh) {
  size_t at = 0;
  for (; at < n; at += VF)
    N(f32_cell_gru_block)(n, at, n - at < VF ? n - at : VF, clip, zr, input, state, h, fresh);
}

// ---- gradients ----

// Ends of the range of a gate: sigmoid or tanh of `clip`. A gate at an end was clipped, so its
// gradient is 0.
struct N(f32_cell_ends) {
  bool cut;
  N(vf) sigmoid_low, sigmoid_high, tanh_high;
};

SMR_INLINE struct N(f32_cell_ends) N(f32_cell_ends_of)(float clip) {
  const N(vf) high = N(set1)(clip), none = N(zero)();
  if (!(clip < INFINITY)) return (struct N(f32_cell_ends)){false, none, none, none};
  return (struct N(f32_cell_ends)){true, N(sigmoid)(N(neg)(high)), N(sigmoid)(high), N(tanh)(high)};
}

// d s (1 - s).
SMR_INLINE N(vf) N(f32_cell_sigmoid_grad)(N(vf) d, N(vf) s, const struct N(f32_cell_ends) * ends) {
  const N(vf) slope = N(mul)(s, N(sub)(SMR_LITERAL(1.0f), s)), out = N(mul)(d, slope);
  if (!ends->cut) return out;
  const N(vm) at_end = N(mor)(N(le)(s, ends->sigmoid_low), N(ge)(s, ends->sigmoid_high));
  return N(select)(at_end, N(zero)(), out);
}

// d (1 - t t).
SMR_INLINE N(vf) N(f32_cell_tanh_grad)(N(vf) d, N(vf) t, const struct N(f32_cell_ends) * ends) {
  const N(vf) out = N(mul)(d, N(fma)(N(neg)(t), t, SMR_LITERAL(1.0f)));
  if (!ends->cut) return out;
  return N(select)(N(ge)(N(abs)(t), ends->tanh_high), N(zero)(), out);
}

// The gradient of h: the sum of those from later steps and from the output.
SMR_INLINE N(vf) N(f32_cell_dh)(size_t at, size_t lanes, const float *dy, const float *dh) {
  const N(vf) later = N(f32_cell_get)(dh + at, lanes);
  return dy ? N(add)(later, N(f32_cell_get)(dy + at, lanes)) : later;
}

SMR_INLINE void N(f32_cell_lstm_grad_block)(size_t at, size_t lanes, const float *kept,
                                            const struct smr_lstm_options *options,
                                            const struct N(f32_cell_ends) * ends,
                                            const float *before, const float *dy, float *dh,
                                            float *dc, float *dgates) {
  const size_t n = options->n;
  const float *peepholes = options->peepholes;
  const N(vf) i = N(f32_cell_get)(kept + at, lanes), o = N(f32_cell_get)(kept + n + at, lanes);
  const N(vf) f = N(f32_cell_get)(kept + 2 * n + at, lanes);
  const N(vf) g = N(f32_cell_get)(kept + 3 * n + at, lanes);
  const N(vf) old = N(f32_cell_get)(before + at, lanes), d = N(f32_cell_dh)(at, lanes, dy, dh);
  const N(vf) t = N(tanh)(N(fma)(i, g, N(mul)(f, old)));
  const N(vf) go = N(f32_cell_sigmoid_grad)(N(mul)(d, t), o, ends);
  const N(vf) slope = N(fma)(N(neg)(t), t, SMR_LITERAL(1.0f));
  N(vf) state = N(fma)(N(mul)(d, o), slope, N(f32_cell_get)(dc + at, lanes));
  if (peepholes) state = N(fma)(go, N(f32_cell_get)(peepholes + n + at, lanes), state);
  N(vf) di = N(mul)(state, g), df = N(mul)(state, old);
  if (options->input_forget) {
    di = N(sub)(di, df);
    df = N(zero)();
  }
  const N(vf) gi = N(f32_cell_sigmoid_grad)(di, i, ends);
  const N(vf) gf = options->input_forget ? df : N(f32_cell_sigmoid_grad)(df, f, ends);
  const N(vf) gg = N(f32_cell_tanh_grad)(N(mul)(state, i), g, ends);
  state = N(mul)(state, f);
  if (peepholes) {
    state = N(fma)(gi, N(f32_cell_get)(peepholes + at, lanes), state);
    state = N(fma)(gf, N(f32_cell_get)(peepholes + 2 * n + at, lanes), state);
  }
  N(f32_cell_put)(dgates + at, gi, lanes);
  N(f32_cell_put)(dgates + n + at, go, lanes);
  N(f32_cell_put)(dgates + 2 * n + at, gf, lanes);
  N(f32_cell_put)(dgates + 3 * n + at, gg, lanes);
  N(f32_cell_put)(dc + at, state, lanes);
  N(f32_cell_put)(dh + at, N(zero)(), lanes);
}

static void N(f32_cell_lstm_grad)(const float *kept, const struct smr_lstm_options *options,
                                  const float *before, const float *dy, float *dh, float *dc,
                                  float *dgates) {
  const struct N(f32_cell_ends) ends = N(f32_cell_ends_of)(options->clip);
  const size_t n = options->n;
  size_t at = 0;
  for (; at < n; at += VF)
    N(f32_cell_lstm_grad_block)(at, n - at < VF ? n - at : VF, kept, options, &ends, before, dy, dh,
                                dc, dgates);
}

SMR_INLINE void N(f32_cell_gru_grad_block)(size_t n, size_t at, size_t lanes,
                                           const struct N(f32_cell_ends) * ends, const float *kept,
                                           const float *before, const float *dy, float *dh,
                                           float *dx, float *dr) {
  const N(vf) z = N(f32_cell_get)(kept + at, lanes);
  const N(vf) fresh = N(f32_cell_get)(kept + 2 * n + at, lanes);
  const N(vf) d = N(f32_cell_dh)(at, lanes, dy, dh);
  const N(vf) dz = N(mul)(d, N(sub)(N(f32_cell_get)(before + at, lanes), fresh));
  const N(vf) gz = N(f32_cell_sigmoid_grad)(dz, z, ends);
  const N(vf) gn = N(f32_cell_tanh_grad)(N(mul)(d, N(sub)(SMR_LITERAL(1.0f), z)), fresh, ends);
  N(f32_cell_put)(dx + at, gz, lanes);
  N(f32_cell_put)(dx + 2 * n + at, gn, lanes);
  N(f32_cell_put)(dh + at, N(mul)(d, z), lanes);
  if (dr == NULL) return;
  const N(vf) r = N(f32_cell_get)(kept + n + at, lanes);
  const N(vf) inner = N(f32_cell_get)(kept + 3 * n + at, lanes);
  const N(vf) gr = N(f32_cell_sigmoid_grad)(N(mul)(gn, inner), r, ends);
  N(f32_cell_put)(dx + n + at, gr, lanes);
  N(f32_cell_put)(dr + at, gz, lanes);
  N(f32_cell_put)(dr + n + at, gr, lanes);
  N(f32_cell_put)(dr + 2 * n + at, N(mul)(gn, r), lanes);
}

static void N(f32_cell_gru_grad)(size_t n, float clip, const float *kept, const float *before,
                                 const float *dy, float *dh, float *dx, float *dr) {
  const struct N(f32_cell_ends) ends = N(f32_cell_ends_of)(clip);
  size_t at = 0;
  for (; at < n; at += VF)
    N(f32_cell_gru_grad_block)(n, at, n - at < VF ? n - at : VF, &ends, kept, before, dy, dh, dx,
                               dr);
}

SMR_INLINE void N(f32_cell_gru_reset_grad_block)(size_t at, size_t lanes,
                                                 const struct N(f32_cell_ends) * ends,
                                                 const float *reset, const float *before,
                                                 const float *dreset_h, float *dh, float *dgate) {
  const N(vf) r = N(f32_cell_get)(reset + at, lanes), d = N(f32_cell_get)(dreset_h + at, lanes);
  const N(vf) old = N(f32_cell_get)(before + at, lanes);
  N(f32_cell_put)(dgate + at, N(f32_cell_sigmoid_grad)(N(mul)(d, old), r, ends), lanes);
  N(f32_cell_put)(dh + at, N(fma)(d, r, N(f32_cell_get)(dh + at, lanes)), lanes);
}

static void N(f32_cell_gru_reset_grad)(size_t n, float clip, const float *reset,
                                       const float *before, const float *dreset_h, float *dh,
                                       float *dgate) {
  const struct N(f32_cell_ends) ends = N(f32_cell_ends_of)(clip);
  size_t at = 0;
  for (; at < n; at += VF)
    N(f32_cell_gru_reset_grad_block)(at, n - at < VF ? n - at : VF, &ends, reset, before, dreset_h,
                                     dh, dgate);
}

static const struct smr_f32_cell_kernels N(f32_cell_kernels) = {
    .lstm = SMR_HAS(f32_cell_lstm) ? N(f32_cell_lstm) : NULL,
    .gru_gates = SMR_HAS(f32_cell_gru) ? N(f32_cell_gru_gates) : NULL,
    .gru = SMR_HAS(f32_cell_gru) ? N(f32_cell_gru) : NULL,
};

static const struct smr_f32_cell_grad_kernels N(f32_cell_grad_kernels) = {
    .lstm_grad = SMR_HAS(f32_cell_lstm_grad) ? N(f32_cell_lstm_grad) : NULL,
    .gru_grad = SMR_HAS(f32_cell_gru_grad) ? N(f32_cell_gru_grad) : NULL,
    .gru_reset_grad = SMR_HAS(f32_cell_gru_grad) ? N(f32_cell_gru_reset_grad) : NULL,
};
