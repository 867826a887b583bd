// SPDX-License-Identifier: Apache-2.0
// Convolutions as products over pointers to pixels, block by block of output pixels.
#ifndef SMR_OPS_INDIRECT_H
#define SMR_OPS_INDIRECT_H

#include "kernels/f32_gemm/f32_gemm.h"
#include "ops/conv/window.h"

/// Part of the state of an operator whose output is dense but for its pixel stride.
struct smr_indirect {
  struct smr_window window;  // padding and dilation may be negative: only pointers are made of them
  size_t taps, channels;     // channels of one group
  size_t pixels, rows, blocks;          // blocks of `rows` output pixels
  struct smr_f32_gemm_plan plan, tail;  // of a block; `tail` of the last one
  size_t zero_offset;                   // in scratch: zeros for the padding
};

/// Needs of products over pointers to the pixels of `window`, of `n` columns.
samara_status smr_indirect_need(struct smr_job *job, const struct smr_window *window, size_t n,
                                smr_gemm_type w_type);

/// Cut the work; sets tiles and kernel, takes scratch. `n` columns in each of `groups`.
samara_status smr_indirect_prepare(struct smr_job *job, struct smr_indirect *indirect,
                                   const struct smr_window *window, size_t groups, size_t channels,
                                   size_t n, smr_gemm_type w_type);

/// Before the tiles.
void smr_indirect_prologue(const struct smr_job *job, const struct smr_indirect *indirect);

/// Tiles [begin, end). `all` says everything but m and where A lies; a_stride is between the pixels
/// of `x`. `pointers` is the thread's scratch.
void smr_indirect_run(const struct smr_job *job, const struct smr_indirect *indirect,
                      const struct smr_f32_gemm_args *all, const float *x, size_t begin, size_t end,
                      const float **pointers);

#endif
