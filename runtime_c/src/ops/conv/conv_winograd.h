// SPDX-License-Identifier: Apache-2.0
// Convolutions of floats by Winograd's transforms: when they can be, what that costs, and running
// them.
#ifndef SMR_OPS_CONV_WINOGRAD_H
#define SMR_OPS_CONV_WINOGRAD_H

#include "kernels/f32_winograd/f32_winograd.h"
#include "ops/conv/window.h"
#include "ops/matmul/linear.h"

/// Part of the state of a convolution.
struct smr_conv_winograd {
  struct smr_f32_winograd_plan plan;
  uint32_t derived;  // transformed weights among job->derived
  size_t room_offset, zero_offset;
};

/// Whether `w` is such a window, over float32 beside constant float32 weights, where the session
/// takes transformed algorithms.
bool smr_conv_winograd_fits(const struct smr_job *job, const struct smr_window *w);

/// Work in multiply-adds of the kernels' full rate (ops/choice.h), for windows that fit.
smr_work smr_conv_winograd_work(enum smr_winograd_form form, const struct smr_window *w);

/// Needs of the form, and of its products.
samara_status smr_conv_winograd_need(struct smr_job *job, enum smr_winograd_form form,
                                     const struct smr_window *w);

/// Cut the work; sets tiles, barriers and kernel, takes scratch. Asks for weights.
samara_status smr_conv_winograd_prepare(struct smr_job *job, struct smr_conv_winograd *s,
                                        enum smr_winograd_form form, const struct smr_window *w);

/// Where dims vary and another algorithm was chosen for these: ask for the weights and the scratch
/// that dims up to these take, so that a run allocates nothing whichever its dims choose.
samara_status smr_conv_winograd_reserve(struct smr_job *job, enum smr_winograd_form form,
                                        const struct smr_window *w);

/// Whether `what` is transformed weights, and making them.
bool smr_conv_winograd_packs(const struct smr_derived *what);
void smr_conv_winograd_pack(const struct smr_job *job, const struct smr_derived *what, void *out);

/// Before the tiles.
void smr_conv_winograd_prologue(const struct smr_job *job, const struct smr_conv_winograd *s,
                                const struct smr_window *w);

/// Tiles [begin, end).
void smr_conv_winograd_run(const struct smr_job *job, const struct smr_conv_winograd *s,
                           const struct smr_linear *linear, const struct smr_window *w,
                           size_t begin, size_t end, void *thread_scratch);

#endif /* SMR_OPS_CONV_WINOGRAD_H */
