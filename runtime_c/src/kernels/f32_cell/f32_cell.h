// SPDX-License-Identifier: Apache-2.0
// One step of an LSTM or GRU cell after its matrix products: the contract.
#ifndef SMR_KERNELS_F32_CELL_H
#define SMR_KERNELS_F32_CELL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What an LSTM cell does besides the formula.
struct smr_lstm_options {
  size_t n;                // hidden units: floats between two gates, and two peepholes
  float clip;              // gates are clamped to [-clip, clip] first; INFINITY: they are not
  bool input_forget;       // the forget gate is 1 - input gate
  const float *peepholes;  // [3][n], of i, o and f; or NULL
};

/// Hidden units [begin, end) of n. gates [4][n] in the order i, o, f, c, before activation. c and h
/// [n] are the state: c is read
/// and written, h is written. With s for sigmoid and p for peepholes:
///   i = s(gi + pi c)   f = s(gf + pf c)   c = f c + i tanh(gc)   o = s(go + po c)   h = o tanh(c)
/// kept [4][n], unless NULL, becomes i, o, f, tanh(gc); it may be `gates`.
typedef void (*smr_f32_lstm_cell)(size_t begin, size_t end, const float *gates,
                                  const struct smr_lstm_options *options, float *c, float *h,
                                  float *kept);

/// zr [2][n], the update and the reset gate, becomes its sigmoid; reset_h [n], unless NULL, r h.
typedef void (*smr_f32_gru_gates)(size_t n, float clip, float *zr, const float *h, float *reset_h);

/// h = (1 - z) tanh(input + r state) + z h; without `state`: tanh(input). zr as smr_f32_gru_gates
/// left it. fresh [n], unless NULL, becomes the tanh; it may be `input`.
typedef void (*smr_f32_gru_cell)(size_t n, float clip, const float *zr, const float *input,
                                 const float *state, float *h, float *fresh);

/// The gradient of smr_f32_lstm_cell. `kept` as the cell left it, `before` its c before. The
/// gradient of h is dh + dy (NULL: dh alone); dh becomes 0, dc, the gradient of the new c, that of
/// the old one, dgates [4][n] the gradient of the gates before activation. Where a gate is at an
/// end of its range, nothing flows through the clamp.
typedef void (*smr_f32_lstm_cell_grad)(const float *kept, const struct smr_lstm_options *options,
                                       const float *before, const float *dy, float *dh, float *dc,
                                       float *dgates);

/// The gradient of smr_f32_gru_cell. kept [4][n] holds z, r, the tanh and `state`, `before` the old
/// h. The gradient of h is dh + dy (NULL: dh alone); dh becomes z times it, what reaches the old h
/// directly. dx [3][n] becomes the gradient of the gates z, r, h before activation, dr [3][n] the
/// same with that of `state` last. Without `state` dr is NULL and dx's r is left to
/// smr_f32_gru_reset_grad.
typedef void (*smr_f32_gru_cell_grad)(size_t n, float clip, const float *kept, const float *before,
                                      const float *dy, float *dh, float *dx, float *dr);

/// The gradient of reset_h = r h: dgate [n] becomes that of r before activation, dh gets its part.
typedef void (*smr_f32_gru_reset_grad)(size_t n, float clip, const float *reset,
                                       const float *before, const float *dreset_h, float *dh,
                                       float *dgate);

/// NaN in gives NaN out. Each element's bits depend on its own values and the ISA only.
struct smr_f32_cell_kernels {
  smr_f32_lstm_cell lstm;
  smr_f32_gru_gates gru_gates;
  smr_f32_gru_cell gru;
};

/// A table of its own, so that a library that only runs models can leave it out.
struct smr_f32_cell_grad_kernels {
  smr_f32_lstm_cell_grad lstm_grad;
  smr_f32_gru_cell_grad gru_grad;
  smr_f32_gru_reset_grad gru_reset_grad;
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_cell_kernels *smr_f32_cell_kernels(uint32_t isa);
const struct smr_f32_cell_grad_kernels *smr_f32_cell_grad_kernels(uint32_t isa);

#endif
