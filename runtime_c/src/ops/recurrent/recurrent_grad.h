// SPDX-License-Identifier: Apache-2.0
// What lstm_grad and gru_grad share: processing the steps in reverse order, with the gradient of
// the state.
//
// These operators compute the gradients of the gates before activation, for all steps. The
// gradients of inputs, weights and bias are products and sums of them over all steps, computed by
// other operators. A tile is a direction. The gradients of its states are kept in the outputs, and
// become those of the initial states. Every run packs the recurrent weights.
#ifndef SMR_OPS_RECURRENT_GRAD_H
#define SMR_OPS_RECURRENT_GRAD_H

#include "kernels/f32_cell/f32_cell.h"
#include "kernels/f32_gemm/f32_gemm.h"
#include "ops/deadline.h"
#include "ops/op.h"

enum { SMR_RECURRENT_GRAD_PARTS = 2 };

/// Rows [first, first + k) of a direction's r, as right operand of a product.
struct smr_recurrent_grad_part {
  size_t first, k;
  size_t panel_stride_bytes;
  size_t offset;  // in a direction's scratch
  struct smr_f32_gemm_plan plan;
};

struct smr_recurrent_grad {
  size_t steps, batch, hidden, gates, directions;
  int64_t direction;  // 0 forward, 1 reverse, 2 both
  float clip;         // INFINITY: none
  uint32_t parts;
  struct smr_recurrent_grad_part part[SMR_RECURRENT_GRAD_PARTS];
  size_t more_offset;
  size_t area_bytes;  // bytes of scratch per direction
  const struct smr_f32_cell_grad_kernels *cell;
};

/// Fail unless all float operands have one float type.
samara_status smr_recurrent_grad_check(const struct smr_job *job);

/// Fill `all` from the job, for a cell with `gates` gates. r is used whole, or in two parts: its
/// first `head` gates and the others. Sets tiles, scratch and kernel.
samara_status smr_recurrent_grad_prepare(struct smr_job *job, struct smr_recurrent_grad *all,
                                         size_t gates, size_t head);

/// The progress of one direction.
struct smr_recurrent_grad_run {
  const struct smr_recurrent_grad *all;
  const struct smr_job *job;
  struct smr_deadline_watch watch;
  size_t direction;
  bool reverse;
  char *area;
  const float *peepholes;  // of lstm; may be NULL
  float *dh, *dc;          // [N][H]; dc of lstm
  float *more;             // [N][H], of gru: the gradient of r h
};

/// Load the gradients of the last states and pack r. `first_state` is the output of dh.
void smr_recurrent_grad_begin(const struct smr_job *job, const struct smr_recurrent_grad *all,
                              size_t direction, uint32_t first_state,
                              struct smr_recurrent_grad_run *run);

/// Batch entry `n` at step `t`. False if the entry lacks this step.
struct smr_recurrent_grad_row {
  const float *kept;    // [4 * H]
  const float *before;  // [H]
  const float *dy;      // [H], or NULL
  size_t index;         // of the row in [D][T][N]
};
bool smr_recurrent_grad_row(const struct smr_recurrent_grad_run *run, size_t t, size_t n,
                            struct smr_recurrent_grad_row *row);

/// out [N][H] (+)= a [N][k] r_part. Rows of `a` are `a_stride` floats apart.
samara_status smr_recurrent_grad_product(struct smr_recurrent_grad_run *run, uint32_t part,
                                         const float *a, size_t a_stride, bool add, float *out);

#endif
