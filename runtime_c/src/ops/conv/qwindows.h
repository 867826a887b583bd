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
#include "ops/deadline.h"

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
};

/// Whether the taps of a row lie side by side in copied lines.
bool smr_qwindows_merge(const struct smr_window *window, size_t groups);

/// Cut the work of `window`; LIMIT where a block is too large. `filled`: the weights of every row
/// of taps, which merge, are filled up to whole groups.
samara_status smr_qwindows_make(const struct smr_job *job, const struct smr_window *window,
                                const struct smr_i8_gemm_config *config, size_t groups,
                                size_t channels, bool w_zero, bool filled,
                                struct smr_qwindows *windows);

/// Where the taps of a window lie: [taps].
void smr_qwindows_taps(const struct smr_window *window, const struct smr_qwindows *windows,
                       size_t *taps);

/// What a product takes of a block, but for `taps`.
struct smr_i8_gemm_windows smr_qwindows_rows(const struct smr_window *window,
                                             const struct smr_qwindows *windows);

/// Output pixels of a block: how many there are and which is the first.
size_t smr_qwindows_pixels(const struct smr_window *window, const struct smr_qwindows *windows,
                           size_t block, size_t *first);

/// Copy what block `block` meets of x, [N, in, groups * channels] with `pixel_stride` bytes between
/// pixels; `zero` is its zero point.
samara_status smr_qwindows_copy(struct smr_deadline_watch *watch, const struct smr_window *window,
                                const struct smr_qwindows *windows, const int8_t *x,
                                size_t pixel_stride, int32_t zero, size_t block, int8_t *to);

#endif
