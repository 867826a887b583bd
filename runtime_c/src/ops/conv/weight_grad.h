// SPDX-License-Identifier: Apache-2.0
// Weight gradients as sums of outer products over pixels.
//
// The sum runs over all pixels of a batch; the result is as small as the weights. Tiles of the
// result are summed over chunks of pixels that stay in cache. If there are fewer tiles than threads
// can use, the chunks are divided into parts with separate partial sums, and a second phase adds
// these in order. Only the sizes decide how the work is divided, so the result does not depend on
// threads, to the bit.
#ifndef SMR_OPS_WEIGHT_GRAD_H
#define SMR_OPS_WEIGHT_GRAD_H

#include "kernels/f32_outer/f32_outer.h"
#include "kernels/f32_reduce/f32_reduce.h"
#include "ops/conv/window.h"

/// Which side lies along the vectors, and which products are wanted.
enum smr_weight_grad_kind {
  SMR_WEIGHT_GRAD_PLAIN,     // b along the vectors: the order of the result
  SMR_WEIGHT_GRAD_TURNED,    // a along the vectors: the second phase transposes
  SMR_WEIGHT_GRAD_DIAGONAL,  // depthwise: products of equal channels; the second phase transposes
};

/// In each of `groups`, a pixel of `window.out` multiplies its `a_channels` with the `b_channels`
/// of the pixels of `window.in` that it reads. The result is [groups * a_channels][taps of the
/// window][b_channels]. Both sides are dense.
struct smr_weight_grad {
  /* set by the operator */
  struct smr_window window;
  size_t groups, a_channels, b_channels;  // channels of one group
  /* set by smr_weight_grad_prepare */
  const struct smr_f32_outer_config *config;
  const struct smr_f32_reduce *reduce;
  enum smr_weight_grad_kind kind;
  size_t joined;                    // adjacent taps of a row, merged into one segment
  size_t length;                    // columns of b per segment
  size_t segments;                  // (group, tap) pairs, or fewer if taps are merged
  size_t a_tiles, b_tiles;          // tiles per segment, along a and along b
  size_t images, planes;            // outer steps over pixels: separate images; planes in one walk
  size_t chunk_planes, chunk_rows;  // per chunk of pixels
  size_t plane_blocks, row_blocks, chunks;
  size_t parts, slices;              // ranges of chunks with separate sums; units per range
  size_t finish_rows, finish_group;  // rows of the sums; rows per unit of the second phase
  size_t partial_offset, partial_floats;
  bool packs;  // far-apart columns of b are copied once for all tiles that read them
};

/// Divide the work; sets tiles, barriers, kernel and takes scratch.
samara_status smr_weight_grad_prepare(struct smr_job *job, struct smr_weight_grad *grad);

/// Run tiles [begin, end). A and B are laid out as in the window.
samara_status smr_weight_grad_run(const struct smr_job *job, const struct smr_weight_grad *grad,
                                  const float *a, const float *b, float *out, size_t begin,
                                  size_t end, void *thread_scratch);

#endif
