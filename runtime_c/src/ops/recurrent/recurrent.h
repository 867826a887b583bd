// SPDX-License-Identifier: Apache-2.0
// What lstm and gru share: where things lie in scratch, packed weights, the two big products.
//
// Directions have areas of scratch of their own. A tile is a direction; where the input product is
// worth it, there are three phases: a direction's preparation, pieces of the products, its steps.
// Where threads gain by it each step of lstm is a phase of its own, whose tiles are blocks of
// hidden units: their columns of all gates, then their cells, into the other one of two h. A last
// phase stores what is left. Per direction
//
//   gates [T][N][G * H]   = x W^T + bias, for all steps at once; a step adds h R^T to its rows.
//                         For training they are what the gradient needs, [T][N][4 * H], and in
//                         float32 lie in the output itself
//   h, c  [N][H]          the running state
//   more  [N][2 * H]      gru: r h, and h R_h^T; shared steps of lstm: the other h
//   bias  [G * H] and [H] of the input product; gru: of the inner one, each padded to panels
//
// Where w and r are quantized, rows of x and h become bytes with scales of their own before each
// product (recurrent_narrow.h).
#ifndef SMR_OPS_RECURRENT_H
#define SMR_OPS_RECURRENT_H

#include "kernels/f16_convert/f16_convert.h"
#include "kernels/f32_cell/f32_cell.h"
#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/i8_gemm/i8_gemm.h"
#include "ops/deadline.h"
#include "ops/op.h"

enum {
  SMR_RECURRENT_STATES = 2,  // h and c
  SMR_RECURRENT_KEPT = 4,  // what is kept per hidden unit: all gates; gru: z, r, h and what r meets
};

/// Matrices whose rows are output columns: `count` of n columns each, the first at column `first`
/// of the gates, with panels of their own.
struct smr_recurrent_weights {
  size_t n, k, first, count;
  size_t panel_stride_bytes;
  size_t offset_bytes;  // of its panels in a direction's packed copy
  size_t matrix_bytes;  // of each one's panels
  size_t sums_bytes;    // quantized: from there on, sums of each column's bytes
};

/// Quantized weights: plans, and where things lie in a direction's area of scratch.
struct smr_recurrent_narrow {
  struct smr_i8_gemm_plan w_plan, r_plans[2];
  size_t w_columns, r_columns[2];       // start, zero point and multiplier of each column
  size_t x_offset, x_scale_offset;      // x as bytes [T][N][I], scales [T][N]
  size_t row_offset, row_scale_offset;  // an operand of a step [N][H], scales [N]
  size_t sum_offset;                    // what a step adds, [N][G * H]
};

struct smr_recurrent {
  /* the problem */
  size_t steps, batch, inputs, hidden, gates, directions;
  int64_t direction;   // 0 forward, 1 reverse, 2 both
  float clip;          // INFINITY: none
  bool half;           // float16 inputs and outputs
  bool half_weights;   // w and r are
  bool quantized;      // w and r are
  bool inner_bias;     // gru with linear_before_reset: r's bias of the last gate stays apart
  uint32_t states;     // of the cell: outputs 1 and up are what they end as
  uint32_t kept;       // for training: the output that keeps the gates, then states before; or 0
  size_t gate_stride;  // floats between the gates of two batch entries
  /* the weights: w whole, r whole or its last gate apart */
  struct smr_recurrent_weights w, r[2];
  uint32_t r_parts;
  size_t w_bytes, r_bytes;       // packed, per direction
  int32_t w_derived, r_derived;  // index in job->derived, or -1: packed into scratch
  struct smr_f32_gemm_plan w_plan, r_plans[2], step_plan;  // step_plan: gate by gate
  size_t product_tiles;  // of a direction's input product; 0: it is part of the one tile
  size_t step_tiles;     // blocks of hidden units in one step; 0: all steps are one tile
  const struct smr_f32_cell_kernels *cell;
  smr_f16_to_f32_ukernel widen;
  smr_f32_to_f16_ukernel narrow;
  /* offsets in a direction's area of scratch */
  size_t w_offset, r_offset, bias_offset, inner_offset, x_offset, gates_offset;
  size_t state_offset[SMR_RECURRENT_STATES], more_offset, peephole_offset;
  size_t area_bytes;
  struct smr_recurrent_narrow narrow8;
};

/// Fail unless all float operands have one float type. w and r may both be quantized beside
/// float32, except for training.
samara_status smr_recurrent_check(const struct smr_job *job);
/// Of lstm, gru and their gradients: `hidden` and `direction` are in range, dims for `directions`
/// directions are those of `direction`, and lengths, where present, are int32.
samara_status smr_recurrent_check_sizes(const struct smr_job *job, const struct smr_tensor *lengths,
                                        int64_t directions);

/// Fill everything from the job, a cell with `gates` gates whose recurrent weights are packed in
/// `r_parts` parts. Sets tiles, scratch, derived and kernel.
samara_status smr_recurrent_prepare(struct smr_job *job, struct smr_recurrent *all, size_t gates,
                                    uint32_t r_parts);

/// funcs->pack of both.
samara_status smr_recurrent_pack(const struct smr_job *job, const struct smr_derived *what,
                                 void *out);

/// One direction under way.
struct smr_recurrent_run {
  const struct smr_recurrent *all;
  const struct smr_job *job;
  size_t direction;
  bool reverse;
  char *area;
  float *gates, *state[SMR_RECURRENT_STATES], *more, *bias;
  const float *before;                  // h as the step finds it; may be state[0]
  const float *inner_bias, *peepholes;  // or NULL
  const void *w, *r[2];                 // panels
  struct smr_deadline_watch watch;
};

/// What a cell does of a direction whose preparation and input product are done: all steps, and
/// what follows the product of step `step` (counted as they are taken) for hidden units [begin,
/// end); NULL where it is not to be shared.
struct smr_recurrent_cell {
  samara_status (*steps)(struct smr_recurrent_run *run);
  void (*step)(const struct smr_recurrent_run *run, size_t step, size_t begin, size_t end);
};

/// Tiles [begin, end): load states and bias, pack what is not packed, compute the input part of all
/// gates, and take the steps. LIMIT, like the product of a step, after the deadline.
samara_status smr_recurrent_tiles(const struct smr_job *job, const struct smr_recurrent *all,
                                  size_t begin, size_t end, const struct smr_recurrent_cell *cell);

/// Share each step between threads, if they gain by it; last in prepare.
void smr_recurrent_share_steps(struct smr_job *job, struct smr_recurrent *all);

/// out [N][out_stride] (+)= a [N][H] R_part^T, plus `bias`. In place where `add`.
samara_status smr_recurrent_product(struct smr_recurrent_run *run, uint32_t part, const float *a,
                                    const float *bias, bool add, float *out, size_t out_stride);

/// The row of x of a step, counted as they are taken.
size_t smr_recurrent_time(const struct smr_recurrent_run *run, size_t step);

/// Steps of batch entry `n`: its length, cut to [0, T].
size_t smr_recurrent_length(const struct smr_recurrent_run *run, size_t n);

/// Hidden units [begin, end) of row [t, direction, n] of y become the state h of entry n; zeros
/// where it is not `live`.
void smr_recurrent_emit(const struct smr_recurrent_run *run, size_t t, size_t n, size_t begin,
                        size_t end, bool live);

/// For training: keep the states as they are before step `t`.
void smr_recurrent_keep(const struct smr_recurrent_run *run, size_t t);

/// Write the final states, and the gates where they are kept.
void smr_recurrent_end(const struct smr_recurrent_run *run);

#endif
