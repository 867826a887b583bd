// SPDX-License-Identifier: Apache-2.0
// What lstm and gru share: scratch, packed weights, the two big products.
//
// Each direction has its own area of scratch. A tile is a direction. If the input product is large,
// there are three phases: the preparation of directions, tiles of the products, the steps. If
// threads gain by it, each step of lstm is a phase. Its tiles are blocks of hidden units: they
// compute their columns of all gates, then their cells, and write to the other of two h. A last
// phase stores the final states. The scratch of a direction holds
//
//   gates [T][N][G * H]   = x W^T + bias, for all steps at once; a step adds h R^T to its rows.
//                         In training they hold what the gradient needs, [T][N][4 * H]; in
//                         float32 they are the output itself
//   h, c  [N][H]          the current state
//   more  [N][2 * H]      gru: r h, and h R_h^T; shared steps of lstm: the other h
//   bias  [G * H] of the input product; gru: [H] of the inner one; each padded to panels
//
// If w and r are quantized, rows of x and h are quantized before each product, each with its own
// scale (recurrent_narrow.h). Without the attribute `dynamic` they stay float32, and the weights
// are dequantized: large ones while multiplying, small ones when they are packed.
#ifndef SMR_OPS_RECURRENT_H
#define SMR_OPS_RECURRENT_H

#include "kernels/f16_convert/f16_convert.h"
#include "kernels/f32_cell/f32_cell.h"
#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/i8_gemm/i8_gemm.h"
#include "ops/deadline.h"
#include "ops/op.h"

/// Inputs by position. The last two belong to lstm only.
enum smr_recurrent_input {
  SMR_RECURRENT_X,
  SMR_RECURRENT_W,
  SMR_RECURRENT_R,
  SMR_RECURRENT_BIAS,
  SMR_RECURRENT_LENGTHS,
  SMR_RECURRENT_H0,
  SMR_RECURRENT_C0,
  SMR_RECURRENT_P
};

enum {
  SMR_RECURRENT_STATES = 2,  // h and c
  SMR_RECURRENT_KEPT = 4,    // kept per hidden unit: all gates; gru: z, r, h and the factor of r
};

/// `count` matrices of n rows each, starting at column `first` of the gates. Their rows are output
/// columns. Each has its own panels.
struct smr_recurrent_weights {
  size_t n, k, first, count;
  bool bytes;  // quantized, and dequantized while multiplying: panels of SMR_GEMM_S8
  size_t panel_stride_bytes;
  size_t offset_bytes;  // of the panels in a direction's packed copy
  size_t matrix_bytes;  // of the panels of one matrix
  size_t sums_bytes;    // quantized: offset of the column sums of the bytes
};

/// Quantized weights: plans, and offsets in a direction's scratch.
struct smr_recurrent_narrow {
  struct smr_i8_gemm_plan w_plan, r_plans[2];
  size_t w_columns, r_columns[2];       // start, zero point and multiplier per column
  size_t x_offset, x_scale_offset;      // x as bytes [T][N][I]; scales [T][N]
  size_t row_offset, row_scale_offset;  // an operand of a step [N][H]; scales [N]
  size_t sum_offset;                    // the products of a step, [N][G * H]
};

struct smr_recurrent {
  /* the problem */
  size_t steps, batch, inputs, hidden, gates, directions;
  int64_t direction;   // 0 forward, 1 reverse, 2 both
  float clip;          // INFINITY: none
  bool half;           // float16 inputs and outputs
  bool half_weights;   // w and r are float16
  bool quantized;      // w and r are quantized, and so are rows of x and h
  bool widened;        // w and r are quantized, and dequantized for products of floats
  bool inner_bias;     // gru with linear_before_reset: r's bias of the last gate stays separate
  uint32_t states;     // of the cell; outputs from 1 on are the final states
  uint32_t kept;       // training: first of the outputs that keep the gates and the previous
                       // states; or 0
  size_t gate_stride;  // floats between the gates of two batch entries
  /* the weights: w whole; r whole, or with its last gate separate */
  struct smr_recurrent_weights w, r[2];
  uint32_t r_parts;
  size_t w_bytes, r_bytes;       // packed, per direction
  int32_t w_derived, r_derived;  // index in job->derived, or -1: packed into scratch
  struct smr_f32_gemm_plan w_plan, r_plans[2], step_plan;  // step_plan: for one gate
  size_t product_tiles;  // per direction, of the input product; 0: it runs within the single tile
  size_t step_tiles;     // blocks of hidden units per step; 0: all steps are in one tile
  const struct smr_f32_cell_kernels *cell;
  smr_f16_to_f32_ukernel widen;
  smr_f32_to_f16_ukernel narrow;
  const struct smr_f32_gemm_config *config;
  /* offsets in a direction's scratch */
  size_t w_offset, r_offset, bias_offset, inner_offset, x_offset, gates_offset;
  size_t state_offset[SMR_RECURRENT_STATES], more_offset, peephole_offset;
  size_t area_bytes;
  struct smr_recurrent_narrow narrow8;
};

/// Whether products are of integers, and whether x is float16. Compile-time constants if this build
/// lacks them.
static inline bool smr_recurrent_has_bytes(const struct smr_recurrent *all) {
  return SMR_HAS(recurrent_narrow) && all->quantized;
}
static inline bool smr_recurrent_is_half(const struct smr_recurrent *all) {
  return SMR_HAS(type_float16) && all->half;
}

/// Fail unless all float operands have one float type. Except in training, w and r may be quantized
/// if x is float32.
samara_status smr_recurrent_check(const struct smr_job *job);
/// For lstm, gru and their gradients: check that `hidden` and `direction` are in range, that the
/// number of directions matches `direction`, and that lengths, if present, are int32.
samara_status smr_recurrent_check_sizes(const struct smr_job *job, const struct smr_tensor *lengths,
                                        int64_t directions);

/// Fill `all` from the job, for a cell with `gates` gates and recurrent weights packed in `r_parts`
/// parts. Sets tiles, scratch, derived and kernel.
samara_status smr_recurrent_prepare(struct smr_job *job, struct smr_recurrent *all, size_t gates,
                                    uint32_t r_parts);

/// The progress of one direction.
struct smr_recurrent_run {
  const struct smr_recurrent *all;
  const struct smr_job *job;
  size_t direction;
  bool reverse;
  char *area;
  float *gates, *state[SMR_RECURRENT_STATES], *more, *bias;
  const float *before;                  // h before the step; may be state[0]
  const float *inner_bias, *peepholes;  // each may be NULL
  const void *w, *r[2];                 // packed weights
  float *unfolded;                      // the thread's scratch for dequantized weights
  struct smr_deadline_watch watch;
};

/// The functions of a cell, called after preparation and input product of a direction. One runs all
/// steps. The other runs what follows the product of step `step` (in the order of processing) for
/// hidden units [begin, end); NULL if steps cannot be shared.
struct smr_recurrent_cell {
  samara_status (*steps)(struct smr_recurrent_run *run);
  void (*step)(const struct smr_recurrent_run *run, size_t step, size_t begin, size_t end);
};

/// Run tiles [begin, end): load states and bias, pack weights if needed, compute the input product
/// for all gates, and run the steps. Fails with LIMIT after the deadline, as the product of a step
/// does.
samara_status smr_recurrent_tiles(const struct smr_job *job, const struct smr_recurrent *all,
                                  size_t begin, size_t end, void *thread_scratch,
                                  const struct smr_recurrent_cell *cell);

/// Share each step between threads if that is faster. Last call in prepare.
void smr_recurrent_share_steps(struct smr_job *job, struct smr_recurrent *all);

/// out [N][out_stride] (+)= a [N][H] R_part^T, plus `bias`. Adds to `out` if `add`.
samara_status smr_recurrent_product(struct smr_recurrent_run *run, uint32_t part, const float *a,
                                    const float *bias, bool add, float *out, size_t out_stride);

/// The row of x for step `step`, in the order of processing.
size_t smr_recurrent_time(const struct smr_recurrent_run *run, size_t step);

/// Steps of batch entry `n`: its length, clamped to [0, T].
size_t smr_recurrent_length(const struct smr_recurrent_run *run, size_t n);

/// Write the state h of entry n to hidden units [begin, end) of row [t, direction, n] of y; zeros
/// if the entry is not `live`.
void smr_recurrent_emit(const struct smr_recurrent_run *run, size_t t, size_t n, size_t begin,
                        size_t end, bool live);

/// In training: keep the states before step `t`.
void smr_recurrent_keep(const struct smr_recurrent_run *run, size_t t);

/// Write the final states, and the gates if they are kept.
void smr_recurrent_end(const struct smr_recurrent_run *run);

#endif
