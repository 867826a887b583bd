// SPDX-License-Identifier: Apache-2.0
// What conv_transpose and conv_grad_input share: every input pixel is spread over the output pixels
// that a window around it meets.
//
// Along an axis, output pixel o meets tap t of the kernel where o + pad - t * dilation is a
// multiple of the stride: outputs of one remainder ("phase") of o + pad meet the same taps, and
// form an ordinary convolution with them. Weights are packed phase by phase, taps of a phase one
// after another; a row of outputs is computed as one indirect product per phase, written with a
// step of `stride` pixels. No work is spent on taps that meet nothing, and no scatter needs a
// second pass.
#ifndef SMR_OPS_CONV_TRANSPOSE_H
#define SMR_OPS_CONV_TRANSPOSE_H

#include "ops/conv/indirect.h"
#include "ops/conv/window.h"
#include "ops/matmul/linear.h"

enum smr_conv_transpose_path {
  SMR_CONV_TRANSPOSE_POINT,             // 1x1, every pixel its own: a plain product
  SMR_CONV_TRANSPOSE_INDIRECT,          // strides of 1: one phase, an ordinary convolution
  SMR_CONV_TRANSPOSE_PHASES,            // the general way
  SMR_CONV_TRANSPOSE_FOLD,              // few channels out: see conv_transpose_fold.h
  SMR_CONV_TRANSPOSE_DEPTHWISE,         // a channel in and out per group: phases are depthwise
  SMR_CONV_TRANSPOSE_DEPTHWISE_PHASES,  // where some phase meets nothing, or in three dims
};

/// First member of the state of its operators: input 0 is spread by the weights of input 1, bias
/// and residual are inputs 2 and 3.
struct smr_conv_transpose {
  struct smr_linear linear;
  /* set by the operator */
  struct smr_window window;    // in: what is conv; out: the output
  size_t groups, channels, n;  // channels of one group, in and out
  /* Element (row k, column n, tap t) of group g of the plain weights lies at
   * g * group_stride + k * k_stride + n * n_stride + t * tap_stride. */
  size_t group_stride, tap_stride, k_stride, n_stride;
  bool derives;  // constant weights are packed once, under keys that say how
  /* set by smr_conv_transpose_prepare */
  enum smr_conv_transpose_path path;
  int64_t period[SMR_MAX_SPATIAL];
  size_t rows;                    // PHASES, FOLD: of output in a tile
  struct smr_indirect indirect;   // INDIRECT
  struct smr_f32_gemm_plan plan;  // POINT, FOLD
  size_t x_offset, zero_offset;   // in scratch: x as float32; zeros (FOLD: transposed weights)
  size_t pixels_offset, planes_offset;  // FOLD, in a thread's scratch: packed pixels, sums
  bool quads;                           // DEPTHWISE: see conv_transpose_depthwise.h
  bool widens_x;
  bool clears;  // PHASES: some meet nothing, and nothing is added: rows are cleared first
};

/// `epilogue` is NULL where the operator has none.
samara_status smr_conv_transpose_prepare(struct smr_job *job,
                                         const struct smr_attrs_epilogue *epilogue,
                                         struct smr_conv_transpose *conv);

/// Everything of a product but m and where A and out lie. `thread_scratch` as for smr_linear_args.
struct smr_f32_gemm_args smr_conv_transpose_args(const struct smr_job *job,
                                                 const struct smr_conv_transpose *conv,
                                                 void *thread_scratch);

/// The operators' run; job->state begins with a struct smr_conv_transpose.
samara_status smr_conv_transpose_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch);

#endif
