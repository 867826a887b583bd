// SPDX-License-Identifier: Apache-2.0
// One step of an LSTM or GRU cell after its matrix products: the contract.
#ifndef SMR_KERNELS_F32_CELL_H
#define SMR_KERNELS_F32_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What an LSTM cell does besides the formula.
struct smr_lstm_options {
  float clip;              // gates are clamped to [-clip, clip] first; INFINITY: they are not
  bool input_forget;       // the forget gate is 1 - input gate
  const float *peepholes;  // [3][n], of i, o and f; or NULL
};

/// gates [4][n] in the order i, o, f, c, before activation. c and h [n] are the state: c is read
/// and written, h is written. With s for sigmoid and p for peepholes:
///   i = s(gi + pi c)   f = s(gf + pf c)   c = f c + i tanh(gc)   o = s(go + po c)   h = o tanh(c)
typedef void (*smr_f32_lstm_cell)(size_t n, const float *gates,
                                  const struct smr_lstm_options *options, float *c, float *h);

/// zr [2][n], the update and the reset gate, becomes its sigmoid; reset_h [n], unless NULL, r h.
typedef void (*smr_f32_gru_gates)(size_t n, float clip, float *zr, const float *h, float *reset_h);

/// h = (1 - z) tanh(input + r state) + z h; without `state`: tanh(input). zr as smr_f32_gru_gates
/// left it.
typedef void (*smr_f32_gru_cell)(size_t n, float clip, const float *zr, const float *input,
                                 const float *state, float *h);

/// NaN in gives NaN out. Each element's bits depend on its own values and the ISA only.
struct smr_f32_cell_kernels {
  smr_f32_lstm_cell lstm;
  smr_f32_gru_gates gru_gates;
  smr_f32_gru_cell gru;
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_cell_kernels *smr_f32_cell_kernels(uint32_t isa);

#endif
