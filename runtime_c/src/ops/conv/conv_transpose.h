// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions of floats: what conv_transpose and conv_grad_input share. See
// conv_phases.h.
#ifndef SMR_OPS_CONV_TRANSPOSE_H
#define SMR_OPS_CONV_TRANSPOSE_H

#include "ops/algorithm.h"
#include "ops/conv/conv_phases.h"
#include "ops/conv/indirect.h"
#include "ops/matmul/linear.h"

/// The state of a node. Input 0 is x, input 1 the weights; bias and residual are inputs 2 and 3.
struct smr_conv_transpose {
  struct smr_conv_phases phases;
  struct smr_linear linear;
  const struct smr_attrs_epilogue *epilogue;  // NULL if the operator has none
  /* Element (row k, column n, tap t) of group g of the plain weights lies at
   * g * group_stride + k * k_stride + n * n_stride + t * tap_stride. */
  size_t group_stride, tap_stride, k_stride, n_stride;
  bool derives;     // constant weights are packed once per model
  bool by_channel;  // depthwise, of float32
  bool empty;       // some phase has no taps
  bool strided;
  bool point;      // one tap; output pixel i reads input pixel i
  bool pads_vary;  // padding is symbolic
  /* set by the row */
  struct smr_indirect indirect;
  struct smr_f32_gemm_plan plan;        // of a product of pixels, or of weights by pixels
  size_t x_offset, zero_offset;         // in scratch: x as float32; zeros, or transposed weights
  size_t pixels_offset, planes_offset;  // in thread scratch: packed pixels; sums
  bool quads;                           // see conv_transpose_depthwise.c
  bool clears;  // by phases: clear rows first, because some phase has no taps
};

/// The tables' `begin`. `channels` and `n`: input and output channels of one group. `epilogue`:
/// NULL if the operator has none. The operator sets the weight strides and `derives`.
samara_status smr_conv_transpose_begin(struct smr_job *job, const struct smr_attrs_window *window,
                                       const struct smr_attrs_epilogue *epilogue, int64_t groups,
                                       int64_t channels, int64_t n);

/// The rows of both operators.
enum { SMR_CONV_TRANSPOSE_ROWS = 6 };
extern const struct smr_algorithm *const smr_conv_transpose_rows[SMR_CONV_TRANSPOSE_ROWS];

/// The operators' pack.
samara_status smr_conv_transpose_pack(const struct smr_job *job, const struct smr_derived *what,
                                      void *out);

/// All arguments of a product except m and the addresses of A and out. `thread_scratch`: see
/// smr_linear_args.
struct smr_f32_gemm_args smr_conv_transpose_args(const struct smr_job *job, void *thread_scratch);

/// In prepare: decide where weights, bias and the float32 copy of x lie; read the epilogue.
samara_status smr_conv_transpose_take_weights(struct smr_job *job);
/// Runs before the tiles. False if there are none.
bool smr_conv_transpose_prologue(const struct smr_job *job);

/// conv_transpose_fold.c: few output channels. If it fits, no other row does.
bool smr_conv_transpose_fits_fold(const struct smr_job *job);
extern const struct smr_algorithm smr_conv_transpose_fold;

/// conv_transpose_depthwise.c: every phase is a depthwise convolution of planes.
extern const struct smr_algorithm smr_conv_transpose_depthwise;

#endif
