// SPDX-License-Identifier: Apache-2.0
// Statistics of channels, [images][pixels][channels], in pieces that do not depend on the threads.
//
// The pixels of an image make rows: several side by side where channels are few, so that vectors
// are full (`fold` pixels, `width` columns). Rows are cut into chunks, wide ones into blocks of
// columns; a piece is one block of one chunk, small enough for the nearest cache. Pixels that fill
// no row are a last chunk of their own. Kernels leave partial sums of every piece, arrays of
// [images][chunks][width]; they are joined in double, chunk by chunk.
#ifndef SMR_OPS_CHANNEL_NORM_H
#define SMR_OPS_CHANNEL_NORM_H

#include "ops/op.h"

enum { SMR_CHANNEL_COLUMNS = 128 };  // columns of a block; blocks of folded rows are whole rows

struct smr_channel_plan {
  size_t images, pixels, channels;
  size_t fold, width;
  size_t rows, rest;          // of an image: full rows, pixels beyond
  size_t chunk_rows, chunks;  // chunks count that of the rest, too
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

/// Where a piece lies.
struct smr_channel_piece {
  size_t image, rows, columns;
  size_t column;   // the first
  size_t offset;   // of its first element in the tensor; rows are `width` apart
  size_t partial;  // index of its first column in an array of partial sums
};
struct smr_channel_piece smr_channel_piece_at(const struct smr_channel_plan *plan, size_t piece);

/// Columns of a piece of an array with one value per channel; `room` holds them where rows are
/// folded.
const float *smr_channel_spread(const struct smr_channel_plan *plan,
                                const struct smr_channel_piece *piece, const float *values,
                                float room[SMR_CHANNEL_COLUMNS]);

/// The channels of a block: the first, and how many (at most SMR_CHANNEL_COLUMNS).
static inline size_t smr_channel_first(size_t block) { return block * SMR_CHANNEL_COLUMNS; }
size_t smr_channel_count(const struct smr_channel_plan *plan, size_t block);

/// Mean of each channel of a block over an image, and the sum of squares around it, from partial
/// means, what rounding these left, and squares.
void smr_channel_moments(const struct smr_channel_plan *plan, size_t image, size_t block,
                         const float *means, const float *rests, const float *squares, double *mean,
                         double *square);

/// Sums of dy and of dy * (x - mean) of each channel of a block over an image, from partial sums
/// whose products are around `shifts`; NULL: around `mean` itself, which is not read then.
void smr_channel_products(const struct smr_channel_plan *plan, size_t image, size_t block,
                          const float *sums, const float *products, const float *shifts,
                          const double *mean, double *sum, double *product);

#endif
