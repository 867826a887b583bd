// SPDX-License-Identifier: Apache-2.0
// Recurrent cells over the vocabulary; CELL_TABLE names the table they end in.
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

SMR_INLINE void N(f32_cell_lstm_block)(size_t n, size_t at, size_t lanes, const float *gates,
                                       const struct smr_lstm_options *options, float *c, float *h) {
  const float clip = options->clip, *peepholes = options->peepholes;
  N(vf) i = N(f32_cell_get)(gates + at, lanes), o = N(f32_cell_get)(gates + n + at, lanes);
  N(vf) f = N(f32_cell_get)(gates + 2 * n + at, lanes);
  const N(vf) g = N(f32_cell_get)(gates + 3 * n + at, lanes);
  N(vf) state = N(f32_cell_get)(c + at, lanes);
  if (peepholes) {
    i = N(fma)(N(f32_cell_get)(peepholes + at, lanes), state, i);
    f = N(fma)(N(f32_cell_get)(peepholes + 2 * n + at, lanes), state, f);
  }
  i = N(sigmoid)(N(f32_cell_clip)(i, clip));
  f = options->input_forget ? N(sub)(N(set1)(1.0f), i) : N(sigmoid)(N(f32_cell_clip)(f, clip));
  state = N(fma)(i, N(tanh)(N(f32_cell_clip)(g, clip)), N(mul)(f, state));
  if (peepholes) o = N(fma)(N(f32_cell_get)(peepholes + n + at, lanes), state, o);
  o = N(sigmoid)(N(f32_cell_clip)(o, clip));
  N(f32_cell_put)(c + at, state, lanes);
  N(f32_cell_put)(h + at, N(mul)(o, N(tanh)(state)), lanes);
}

static void N(f32_cell_lstm)(size_t n, const float *gates, const struct smr_lstm_options *options,
                             float *c, float *h) {
  size_t at = 0;
  for (; n - at >= VF; at += VF) N(f32_cell_lstm_block)(n, at, VF, gates, options, c, h);
  if (at < n) N(f32_cell_lstm_block)(n, at, n - at, gates, options, c, h);
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
  for (; n - at >= VF; at += VF) N(f32_cell_gru_gates_block)(n, at, VF, clip, zr, h, reset_h);
  if (at < n) N(f32_cell_gru_gates_block)(n, at, n - at, clip, zr, h, reset_h);
}

SMR_INLINE void N(f32_cell_gru_block)(size_t n, size_t at, size_t lanes, float clip,
                                      const float *zr, const float *input, const float *state,
                                      float *h) {
  N(vf) x = N(f32_cell_get)(input + at, lanes);
  if (state) x = N(fma)(N(f32_cell_get)(zr + n + at, lanes), N(f32_cell_get)(state + at, lanes), x);
  x = N(tanh)(N(f32_cell_clip)(x, clip));
  const N(vf) z = N(f32_cell_get)(zr + at, lanes), old = N(f32_cell_get)(h + at, lanes);
  const N(vf) kept = N(mul)(z, old);
  N(f32_cell_put)(h + at, N(fma)(N(sub)(N(set1)(1.0f), z), x, kept), lanes);
}

static void N(f32_cell_gru)(size_t n, float clip, const float *zr, const float *input,
                            const float *state, float *h) {
  size_t at = 0;
  for (; n - at >= VF; at += VF) N(f32_cell_gru_block)(n, at, VF, clip, zr, input, state, h);
  if (at < n) N(f32_cell_gru_block)(n, at, n - at, clip, zr, input, state, h);
}

const struct smr_f32_cell_kernels CELL_TABLE = {N(f32_cell_lstm), N(f32_cell_gru_gates),
                                                N(f32_cell_gru)};
#undef CELL_TABLE
