// SPDX-License-Identifier: Apache-2.0
// int8 convolutions as products over windows of padded copies of x.
//
// A block of output pixels meets some lines of x. They are copied once, with their padding, into a
// thread's scratch, where a window is a fixed set of offsets from its first byte: nothing is copied
// again for every tap, and no pixel has pointers of its own.
#ifndef SMR_OPS_QWINDOWS_H
#define SMR_OPS_QWINDOWS_H

#include "kernels/i8_gemm/i8_gemm.h"
#include "ops/conv/window.h"
#include "ops/op.h"

/// How a convolution is cut; part of an operator's state.
struct smr_qwindows {
  const struct smr_i8_gemm_config *config;
  size_t groups, channels;  // channels of one group
  size_t k, taps;           // bytes of a tap, as the product sees it; taps of one row merge, and
                            // may be filled up to whole groups, with the bytes behind them
  size_t lines, columns;    // of a block: whole lines, or part of one
  size_t line_blocks, column_blocks, blocks;
  size_t rows, row_taps;           // lines copied for a plane of taps, and for each of its rows
  bool rows_apart, columns_apart;  // every row or column of taps has lines of its own
  bool native;                     // in the kernels' own form
  size_t width, pitch;             // of a copied line: pixels, bytes
  size_t bytes;                    // of all
  struct smr_i8_gemm_plan plan;    // of a block
  size_t tiles;                    // of all blocks
  size_t tap_offset;               // in scratch
};

/// Cut the work of `window` and plan its product. `args` is that of all output pixels: batch
/// (groups), n, k (channels of a group) and the kind of output are read, and it becomes a block's.
/// `w_zero`: weights have zero points. `filled`: the weights of every row of taps, which merge, are
/// filled up to whole groups. Takes shared scratch, and all of a thread's; LIMIT where a block is
/// too large.
samara_status smr_qwindows_prepare(struct smr_job *job, const struct smr_window *window,
                                   const struct smr_i8_gemm_config *config, bool w_zero,
                                   bool filled, struct smr_i8_gemm_args *args,
                                   struct smr_qwindows *windows);

/// Alone, before the tiles.
void smr_qwindows_prologue(const struct smr_job *job, const struct smr_window *window,
                           const struct smr_qwindows *windows);

/// Compute tiles [begin, end) of windows->tiles. all->a is x, [N, in, groups * channels] with
/// all->a_stride bytes between pixels and zero point `x_zero`; all->row_scale, if any, has an entry
/// for every output pixel.
samara_status smr_qwindows_run(const struct smr_job *job, const struct smr_window *window,
                               const struct smr_qwindows *windows,
                               const struct smr_i8_gemm_args *all, int32_t x_zero, size_t begin,
                               size_t end, void *thread_scratch);

/// Whether the taps of a row lie side by side in copied lines.
bool smr_qwindows_merge(const struct smr_window *window, size_t groups);

/// Whether rows of taps that are no whole groups are worth a copy of their weights, input 1, with
/// zeros behind each, so that kernels which can read windows in place do so: those of first layers.
bool smr_qwindows_fills(const struct smr_job *job, const struct smr_window *window, size_t groups);

#endif
