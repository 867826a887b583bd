// SPDX-License-Identifier: Apache-2.0
// int8 convolutions as products over windows in padded copies of x.
//
// A block of output pixels reads a few lines of x. They are copied once, with padding, into thread
// scratch. There a window is a fixed set of offsets from its first byte, so nothing is copied again
// per tap, and pixels need no pointers.
#ifndef SMR_OPS_QWINDOWS_H
#define SMR_OPS_QWINDOWS_H

#include "kernels/i8_gemm/i8_gemm.h"
#include "ops/conv/window.h"
#include "ops/op.h"

/// How the work is divided; part of an operator's state.
struct smr_qwindows {
  const struct smr_i8_gemm_config *config;
  size_t groups, channels;  // channels of one group
  size_t k, taps;           // bytes per tap in the product, and taps; the taps of one row are
                            // merged into one if they are adjacent, and may be padded to whole
                            // groups
  size_t lines, columns;    // of a block: whole lines, or part of one line
  size_t line_blocks, column_blocks, blocks;
  size_t rows, row_taps;           // lines read per plane of taps; copies of each line
  bool rows_apart, columns_apart;  // each row or column of taps reads separate lines
  bool native;                     // copied bytes are in the kernels' own form (smr_i8_gemm_native)
  size_t width, pitch;             // of a copied line: pixels, bytes
  size_t bytes;                    // of all copied lines
  struct smr_i8_gemm_plan plan;    // of a block
  size_t tiles;                    // of all blocks
  size_t tap_offset;               // in scratch
};

/// Divide the work of `window` and plan its product. Of `args`, which describes all output pixels,
/// it reads batch (groups), n, k (channels of a group) and the kind of output; it changes `args` to
/// describe one block. `w_zero`: weights have zero points. `filled`: the weights of each merged row
/// of taps are padded to whole groups. Takes shared scratch and the only thread scratch. Fails with
/// LIMIT if a block is too large.
samara_status smr_qwindows_prepare(struct smr_job *job, const struct smr_window *window,
                                   const struct smr_i8_gemm_config *config, bool w_zero,
                                   bool filled, struct smr_i8_gemm_args *args,
                                   struct smr_qwindows *windows);

/// Called alone, before the tiles.
void smr_qwindows_prologue(const struct smr_job *job, const struct smr_window *window,
                           const struct smr_qwindows *windows);

/// Run tiles [begin, end) of windows->tiles. all->a is x, [N, in, groups * channels], with
/// all->a_stride bytes between pixels and zero point `x_zero`. all->row_scale, if set, has one
/// entry per output pixel.
samara_status smr_qwindows_run(const struct smr_job *job, const struct smr_window *window,
                               const struct smr_qwindows *windows,
                               const struct smr_i8_gemm_args *all, int32_t x_zero, size_t begin,
                               size_t end, void *thread_scratch);

/// Whether the taps of a row are adjacent in copied lines.
bool smr_qwindows_merge(const struct smr_window *window, size_t groups);

/// Whether to copy the weights (input 1) and pad each row of taps with zeros to whole groups, so
/// that kernels can read windows in place. True for first layers.
bool smr_qwindows_fills(const struct smr_job *job, const struct smr_window *window, size_t groups);

#endif
