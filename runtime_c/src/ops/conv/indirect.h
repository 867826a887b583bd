// SPDX-License-Identifier: Apache-2.0
// Convolutions as products over pointers to pixels, one block of output pixels at a time.
#ifndef SMR_OPS_INDIRECT_H
#define SMR_OPS_INDIRECT_H

#include "kernels/f32_gemm/f32_gemm.h"
#include "ops/conv/window.h"

/// Part of an operator's state. The output must be dense except for its pixel stride.
struct smr_indirect {
  struct smr_window window;     // padding and dilation may be negative: they only serve to compute
                                // pointers
  size_t taps, channels;        // channels of one group
  size_t pixels, rows, blocks;  // blocks of `rows` output pixels
  struct smr_f32_gemm_plan plan, tail;  // of a block; `tail`: of the last block
  size_t zero_offset;                   // in scratch: zeros read as padding
};

/// Record the kernels for products with `n` columns over pointers to the pixels of `window`.
samara_status smr_indirect_need(struct smr_job *job, const struct smr_window *window, size_t n,
                                smr_gemm_type w_type);

/// Divide the work; sets tiles and kernel, takes scratch. `n` columns per group.
samara_status smr_indirect_prepare(struct smr_job *job, struct smr_indirect *indirect,
                                   const struct smr_window *window, size_t groups, size_t channels,
                                   size_t n, smr_gemm_type w_type);

/// Runs before the tiles.
void smr_indirect_prologue(const struct smr_job *job, const struct smr_indirect *indirect);

/// Run tiles [begin, end). `all` holds all arguments except m and the address of A; its a_stride is
/// between pixels of `x`. `pointers` is in thread scratch.
void smr_indirect_run(const struct smr_job *job, const struct smr_indirect *indirect,
                      const struct smr_f32_gemm_args *all, const float *x, size_t begin, size_t end,
                      const float **pointers);

#endif
