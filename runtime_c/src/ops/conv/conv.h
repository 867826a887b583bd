// SPDX-License-Identifier: Apache-2.0
// Float convolutions: what the algorithms of `conv` share, and the rows defined in other files.
#ifndef SMR_OPS_CONV_H
#define SMR_OPS_CONV_H

#include "kernels/f32_winograd/f32_winograd.h"
#include "ops/algorithm.h"
#include "ops/conv/conv_shape.h"
#include "ops/conv/indirect.h"
#include "ops/matmul/linear.h"

/// The state of a node.
struct smr_conv {
  struct smr_conv_shape shape;
  struct smr_linear linear;
  size_t x_offset;                // in scratch: float16 x as float32
  size_t zero_offset;             // in scratch: zeros read as padding
  bool contiguous;                // windows of one row of x overlap and serve as matrix rows
  struct smr_f32_gemm_plan plan;  // of a product of matrix rows
  struct smr_indirect indirect;
  struct {
    struct smr_f32_winograd_plan plan;
    uint32_t derived;    // index of the transformed weights in job->derived
    size_t room_offset;  // of a block's buffers, in shared or thread scratch
  } winograd;
  struct {
    size_t y_offset, residual_offset;  // in scratch: float16 output and residual as float32
    size_t units;                      // of work in the single tile that float16 runs as
  } depthwise;
};

/// In prepare: decide where weights, bias and the float32 copy of x lie; read the epilogue.
/// `whole`: quantized weights become floats before the tiles run. `may_round`: bfloat16 products
/// are allowed.
samara_status smr_conv_take_weights(struct smr_job *job, bool whole, bool may_round);

/// Whether x and y are float16; kernels then read float32 copies.
bool smr_conv_widens(const struct smr_job *job);
/// Elements between the pixels of the x that kernels read; and that x, while running.
size_t smr_conv_x_pixel(const struct smr_job *job);
const float *smr_conv_x(const struct smr_job *job);

/// Address of scratch, while running.
float *smr_conv_scratch(const struct smr_job *job, size_t offset);
/// Convert float16 pixels [pixels][C], strided or not, to dense float32.
void smr_conv_widen(const struct smr_job *job, const struct smr_tensor *t, float *out);
/// Runs before the tiles. False if there are none.
bool smr_conv_prologue(const struct smr_job *job);

/// Work of a row: the product over pointers to pixels.
smr_work smr_conv_indirect_work(const struct smr_job *job);

/// conv_depthwise.c
extern const struct smr_algorithm smr_conv_depthwise, smr_conv_depthwise_3d;

/// conv_winograd.c: 3x3 windows by Winograd transforms for tiles of 2x2 and of 4x4 outputs.
extern const struct smr_algorithm smr_conv_winograd_f23, smr_conv_winograd_f43;

/// Whether Winograd transforms can compute the node: float32 x, constant float32 weights, a session
/// that is not strict.
bool smr_conv_winograd_fits(const struct smr_job *job);

/// Whether `what` is transformed weights; and writing them.
bool smr_conv_winograd_packs(const struct smr_derived *what);
void smr_conv_winograd_pack(const struct smr_job *job, const struct smr_derived *what, void *out);

#endif /* SMR_OPS_CONV_H */
