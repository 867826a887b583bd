// SPDX-License-Identifier: Apache-2.0
// Convolutions of floats: what the algorithms of `conv` share, and the rows that other files hold.
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
  size_t zero_offset;             // in scratch: zeros for the padding
  bool contiguous;                // rows of the product are windows that overlap
  struct smr_f32_gemm_plan plan;  // of a product of rows
  struct smr_indirect indirect;
  struct {
    struct smr_f32_winograd_plan plan;
    uint32_t derived;    // transformed weights among job->derived
    size_t room_offset;  // of a block, in scratch or a thread's
  } winograd;
  struct {
    size_t y_offset, residual_offset;  // in scratch: float16 output and residual as float32
    size_t units;                      // of which the one tile of float16 is made
  } depthwise;
};

/// In prepare: place weights, bias, epilogue and what x takes. `whole`: quantized weights become
/// floats before the tiles. `may_round`: products may be computed in bfloat16.
samara_status smr_conv_take_weights(struct smr_job *job, bool whole, bool may_round);

/// Whether x and y are float16, which kernels meet as float32.
bool smr_conv_widens(const struct smr_job *job);
/// Elements between the pixels of x that kernels read, and, while running, x.
size_t smr_conv_x_pixel(const struct smr_job *job);
const float *smr_conv_x(const struct smr_job *job);

/// In scratch, while running.
float *smr_conv_scratch(const struct smr_job *job, size_t offset);
/// Float16 pixels [pixels][C], whatever lies between them, as dense float32.
void smr_conv_widen(const struct smr_job *job, const struct smr_tensor *t, float *out);
/// Before the tiles; false where there are none.
bool smr_conv_prologue(const struct smr_job *job);

/// Of a row's work: the product over pointers to pixels.
smr_work smr_conv_indirect_work(const struct smr_job *job);

/// conv_depthwise.c
extern const struct smr_algorithm smr_conv_depthwise, smr_conv_depthwise_3d;

/// conv_winograd.c: 3x3 windows by transforms, of tiles of 2x2 and of 4x4 outputs.
extern const struct smr_algorithm smr_conv_winograd_f23, smr_conv_winograd_f43;

/// Whether the window can be transformed: float32 by constant float32 weights, in a session that is
/// not strict.
bool smr_conv_winograd_fits(const struct smr_job *job);

/// Whether `what` is transformed weights, and making them.
bool smr_conv_winograd_packs(const struct smr_derived *what);
void smr_conv_winograd_pack(const struct smr_job *job, const struct smr_derived *what, void *out);

#endif /* SMR_OPS_CONV_H */
