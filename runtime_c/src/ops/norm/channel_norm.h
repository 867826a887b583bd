// SPDX-License-Identifier: Apache-2.0
// Statistics of channels, [images][pixels][channels]. The division of work does not depend on
// threads.
//
// The pixels of an image form matrix rows. If there are few channels, several pixels are put side
// by side (`fold` pixels, `width` columns) to fill vectors. Rows are divided into chunks, and wide
// rows into blocks of columns. A tile is one block of one chunk, small enough for L1. Pixels left
// over after full rows form a last chunk. Kernels write partial sums of every tile, as arrays of
// [images][chunks][width]; these are combined in double, chunk by chunk.
#ifndef SMR_OPS_CHANNEL_NORM_H
#define SMR_OPS_CHANNEL_NORM_H

#include "ops/op.h"

enum { SMR_CHANNEL_COLUMNS = 128 };  // columns of a block; a block of folded rows has whole rows

struct smr_channel_plan {
  size_t images, pixels, channels;
  size_t fold, width;
  size_t rows, rest;          // per image: full rows; pixels left over
  size_t chunk_rows, chunks;  // `chunks` includes that of the left-over pixels
  size_t blocks;
};

struct smr_channel_plan smr_channel_plan_make(size_t images, size_t pixels, size_t channels);

static inline size_t smr_channel_pieces(const struct smr_channel_plan *plan) {
  return plan->images * plan->chunks * plan->blocks;
}

/// Elements of one array of partial sums.
static inline size_t smr_channel_partials(const struct smr_channel_plan *plan) {
  return plan->images * plan->chunks * plan->width;
}

/// The position of a tile.
struct smr_channel_piece {
  size_t image, rows, columns;
  size_t column;   // first column
  size_t offset;   // of the first element in the tensor; rows are `width` apart
  size_t partial;  // index of its first column in an array of partial sums
};
struct smr_channel_piece smr_channel_piece_at(const struct smr_channel_plan *plan, size_t piece);

/// The columns of a tile in an array with one value per channel. If rows are folded, the values are
/// repeated in `room`.
const float *smr_channel_spread(const struct smr_channel_plan *plan,
                                const struct smr_channel_piece *piece, const float *values,
                                float room[SMR_CHANNEL_COLUMNS]);

/// The first channel of a block, and the number of its channels (at most SMR_CHANNEL_COLUMNS).
static inline size_t smr_channel_first(size_t block) { return block * SMR_CHANNEL_COLUMNS; }
size_t smr_channel_count(const struct smr_channel_plan *plan, size_t block);

/// Compute the mean of each channel of a block over an image and the sum of squares around it.
/// Inputs are partial means, their rounding errors, and partial squares.
void smr_channel_moments(const struct smr_channel_plan *plan, size_t image, size_t block,
                         const float *means, const float *rests, const float *squares, double *mean,
                         double *square);

/// Compute the sums of dy and of dy * (x - mean) of each channel of a block over an image. The
/// partial products are around `shifts`; if `shifts` is NULL, around the mean, and `mean` is not
/// read.
void smr_channel_products(const struct smr_channel_plan *plan, size_t image, size_t block,
                          const float *sums, const float *products, const float *shifts,
                          const double *mean, double *sum, double *product);

#endif
