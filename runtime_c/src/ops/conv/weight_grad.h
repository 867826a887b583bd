// SPDX-License-Identifier: Apache-2.0
// Weight gradients as sums of outer products over pixels: how the work is cut, and doing it.
//
// The sum runs over all pixels of a batch, the result is as small as the weights. Tiles of the
// result are summed over chunks of pixels that stay in cache. Where tiles alone are too few for
// several threads, the chunks are cut into parts that sum on their own; a second phase adds the
// parts in their order. All cuts follow from the sizes alone, so threads change no bit.
#ifndef SMR_OPS_WEIGHT_GRAD_H
#define SMR_OPS_WEIGHT_GRAD_H

#include "kernels/f32_outer/f32_outer.h"
#include "kernels/f32_reduce/f32_reduce.h"
#include "ops/conv/window.h"

/// Which side lies along the vectors, and what of the products is wanted.
enum smr_weight_grad_kind {
  SMR_WEIGHT_GRAD_PLAIN,     // b along the vectors: the layout of the result
  SMR_WEIGHT_GRAD_TURNED,    // a along the vectors: the second phase transposes
  SMR_WEIGHT_GRAD_DIAGONAL,  // depthwise: channel by channel; the second phase transposes
};

/// A pixel of `window.out` multiplies its `a_channels` with the `b_channels` of the pixels of
/// `window.in` that it meets, in each of the `groups`: the result is [groups * a_channels][taps of
/// the window][b_channels]. Both sides are dense.
struct smr_weight_grad {
  /* set by the operator */
  struct smr_window window;
  size_t groups, a_channels, b_channels;  // channels of one group
  /* set by smr_weight_grad_prepare */
  const struct smr_f32_outer_config *config;
  const struct smr_f32_reduce *reduce;
  enum smr_weight_grad_kind kind;
  size_t joined;                    // taps next to each other along a row that make one segment
  size_t length;                    // columns of b that a segment has
  size_t segments;                  // (group, tap), or fewer where taps are joined
  size_t a_tiles, b_tiles;          // pieces of a segment
  size_t images, planes;            // outer steps over pixels: images apart, planes in one walk
  size_t chunk_planes, chunk_rows;  // of a chunk of pixels
  size_t plane_blocks, row_blocks, chunks;
  size_t parts, slices;              // units of the first phase
  size_t finish_rows, finish_group;  // rows of the result as it is summed, and how many make a unit
  size_t partial_offset, partial_floats;
  bool packs;  // columns of b that lie far apart are copied for all tiles that meet them
};

/// Decide how to work; sets tiles, barriers, kernel and takes scratch.
samara_status smr_weight_grad_prepare(struct smr_job *job, struct smr_weight_grad *grad);

/// Tiles [begin, end): out = the sum, of A and B as the window has them.
samara_status smr_weight_grad_run(const struct smr_job *job, const struct smr_weight_grad *grad,
                                  const float *a, const float *b, float *out, size_t begin,
                                  size_t end, void *thread_scratch);

#endif
