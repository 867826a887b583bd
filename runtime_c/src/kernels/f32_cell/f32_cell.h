// SPDX-License-Identifier: Apache-2.0
// One step of an LSTM or GRU cell after its matrix products: the contract.
#ifndef SMR_KERNELS_F32_CELL_H
#define SMR_KERNELS_F32_CELL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Options of an LSTM cell.
struct smr_lstm_options {
  size_t n;                // hidden units: floats between two gates, and two peepholes
  float clip;              // gates are first clamped to [-clip, clip]; INFINITY: no clamp
  bool input_forget;       // the forget gate is 1 - input gate
  const float *peepholes;  // [3][n], of i, o and f; or NULL
};

/// Hidden units [begin, end) of n. gates: [4][n] in the order i, o, f, c, before activation. c and
/// h: [n]; c is read and written, h is written. With s for sigmoid and p for peepholes:
///   i = s(gi + pi c)   f = s(gf + pf c)   c = f c + i tanh(gc)   o = s(go + po c)   h = o tanh(c)
/// kept [4][n], unless NULL, receives i, o, f, tanh(gc); it may be `gates`.
typedef void (*smr_f32_lstm_cell)(size_t begin, size_t end, const float *gates,
                                  const struct smr_lstm_options *options, float *c, float *h,
                                  float *kept);

/// zr [2][n], the update and the reset gate, is replaced by its sigmoid. reset_h [n], unless NULL,
/// receives r h.
typedef void (*smr_f32_gru_gates)(size_t n, float clip, float *zr, const float *h, float *reset_h);

/// h = (1 - z) tanh(input + r state) + z h; tanh(input) if `state` is NULL. zr: as written by
/// smr_f32_gru_gates. fresh [n], unless NULL, receives the tanh; it may be `input`.
typedef void (*smr_f32_gru_cell)(size_t n, float clip, const float *zr, const float *input,
                                 const float *state, float *h, float *fresh);

/// The gradient of smr_f32_lstm_cell. `kept`: written by the cell; `before`: the old c. The
/// gradient of h is dh + dy (dh if dy is NULL); dh becomes 0. dc is replaced: the gradient of the
/// new c becomes that of the old one. dgates [4][n] receives the gradient of the gates before
/// activation, which is 0 for a clipped gate.
typedef void (*smr_f32_lstm_cell_grad)(const float *kept, const struct smr_lstm_options *options,
                                       const float *before, const float *dy, float *dh, float *dc,
                                       float *dgates);

/// The gradient of smr_f32_gru_cell. kept [4][n]: z, r, the tanh and `state`; `before`: the old h.
/// The gradient of h is dh + dy (dh if dy is NULL); dh becomes z times it, the direct contribution
/// to the old h. dx [3][n] receives the gradient of the gates z, r, h before activation; dr [3][n]
/// the same, with that of `state` last. Without `state`, dr is NULL and smr_f32_gru_reset_grad
/// writes dx's r.
typedef void (*smr_f32_gru_cell_grad)(size_t n, float clip, const float *kept, const float *before,
                                      const float *dy, float *dh, float *dx, float *dr);

/// The gradient of reset_h = r h: dgate [n] receives that of r before activation; dh is added to.
typedef void (*smr_f32_gru_reset_grad)(size_t n, float clip, const float *reset,
                                       const float *before, const float *dreset_h, float *dh,
                                       float *dgate);

/// NaN in gives NaN out. Each element's bits depend on its own values and the ISA only.
struct smr_f32_cell_kernels {
  smr_f32_lstm_cell lstm;
  smr_f32_gru_gates gru_gates;
  smr_f32_gru_cell gru;
};

/// A separate table, so that a library that only runs models can leave it out.
struct smr_f32_cell_grad_kernels {
  smr_f32_lstm_cell_grad lstm_grad;
  smr_f32_gru_cell_grad gru_grad;
  smr_f32_gru_reset_grad gru_reset_grad;
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_cell_kernels *smr_f32_cell_kernels(uint32_t isa);
const struct smr_f32_cell_grad_kernels *smr_f32_cell_grad_kernels(uint32_t isa);

#endif
