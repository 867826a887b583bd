// SPDX-License-Identifier: Apache-2.0
// Statistics of channels: how tensors are divided, and how partial sums are combined.
#include "base/fp.h"

#include "ops/norm/channel_norm.h"

#include <string.h>

enum {
  CHANNEL_WIDTH = 64,    // target columns of folded rows: four vectors of the widest ISA
  CHANNEL_LEAST = 64,    // fewest rows of a chunk: keeps partial sums small beside the tensor
  CHANNEL_GRAIN = 8192,  // elements of a chunk of narrow rows: 32 KiB
};

struct smr_channel_plan smr_channel_plan_make(size_t images, size_t pixels, size_t channels) {
  struct smr_channel_plan p = {.images = images, .pixels = pixels, .channels = channels, .fold = 1};
  if (channels == 0) return p;
  if (channels < CHANNEL_WIDTH) p.fold = CHANNEL_WIDTH / channels;
  if (p.fold > pixels) p.fold = pixels ? pixels : 1;
  p.width = p.fold * channels;
  p.rows = pixels / p.fold;
  p.rest = pixels % p.fold;
  p.chunk_rows = CHANNEL_GRAIN / p.width;
  if (p.chunk_rows < CHANNEL_LEAST) p.chunk_rows = CHANNEL_LEAST;
  p.chunks = p.rows / p.chunk_rows + (p.rows % p.chunk_rows != 0) + (p.rest != 0);
  p.blocks = p.width / SMR_CHANNEL_COLUMNS + (p.width % SMR_CHANNEL_COLUMNS != 0);
  return p;
}

// Rows of a chunk. The last chunk may be one partial row.
static size_t channel_rows(const struct smr_channel_plan *p, size_t chunk) {
  const size_t first = chunk * p->chunk_rows;
  if (p->rest && chunk == p->chunks - 1) return 1;
  return p->rows - first < p->chunk_rows ? p->rows - first : p->chunk_rows;
}

// Columns of a block in a chunk: the last chunk may have fewer.
static size_t channel_columns(const struct smr_channel_plan *p, size_t chunk, size_t block) {
  const size_t width = p->rest && chunk == p->chunks - 1 ? p->rest * p->channels : p->width;
  const size_t first = block * SMR_CHANNEL_COLUMNS;
  return width - first < SMR_CHANNEL_COLUMNS ? width - first : SMR_CHANNEL_COLUMNS;
}

struct smr_channel_piece smr_channel_piece_at(const struct smr_channel_plan *p, size_t piece) {
  const size_t block = piece % p->blocks, chunk = piece / p->blocks % p->chunks;
  const size_t image = piece / p->blocks / p->chunks, column = block * SMR_CHANNEL_COLUMNS;
  const bool rest = p->rest && chunk == p->chunks - 1;
  const size_t row = rest ? p->rows : chunk * p->chunk_rows;
  return (struct smr_channel_piece){
      .image = image,
      .rows = channel_rows(p, chunk),
      .columns = channel_columns(p, chunk, block),
      .column = column,
      .offset = image * p->pixels * p->channels + row * p->width + column,
      .partial = (image * p->chunks + chunk) * p->width + column,
  };
}

const float *smr_channel_spread(const struct smr_channel_plan *p,
                                const struct smr_channel_piece *piece, const float *values,
                                float room[SMR_CHANNEL_COLUMNS]) {
  if (p->fold == 1) return values + piece->column;
  for (size_t j = 0; j < piece->columns; j += p->channels)
    memcpy(room + j, values, p->channels * sizeof *values);
  return room;
}

size_t smr_channel_count(const struct smr_channel_plan *p, size_t block) {
  if (p->fold > 1) return p->channels;
  const size_t first = smr_channel_first(block);
  return p->channels - first < SMR_CHANNEL_COLUMNS ? p->channels - first : SMR_CHANNEL_COLUMNS;
}

// Add the columns of a block up to channels.
static void channel_folded(const struct smr_channel_plan *p, size_t block, const double *columns,
                           double *channels) {
  const size_t count = smr_channel_count(p, block);
  for (size_t c = 0; c < count; c++) channels[c] = columns[c];
  for (size_t lane = 1; lane < p->fold; lane++)
    for (size_t c = 0; c < count; c++) channels[c] += columns[lane * count + c];
}

// Repeat channels over the columns of a block.
static void channel_unfolded(const struct smr_channel_plan *p, size_t block, const double *channels,
                             double *columns) {
  const size_t count = smr_channel_count(p, block);
  for (size_t lane = 0; lane < p->fold; lane++)
    memcpy(columns + lane * count, channels, count * sizeof *channels);
}

static size_t channel_partial(const struct smr_channel_plan *p, size_t image, size_t chunk,
                              size_t block) {
  return (image * p->chunks + chunk) * p->width + block * SMR_CHANNEL_COLUMNS;
}

void smr_channel_moments(const struct smr_channel_plan *p, size_t image, size_t block,
                         const float *means, const float *rests, const float *squares, double *mean,
                         double *square) {
  double total[SMR_CHANNEL_COLUMNS] = {0}, centre[SMR_CHANNEL_COLUMNS];
  for (size_t chunk = 0; chunk < p->chunks; chunk++) {
    const size_t at = channel_partial(p, image, chunk, block);
    const size_t columns = channel_columns(p, chunk, block);
    const double rows = (double)channel_rows(p, chunk);
    for (size_t j = 0; j < columns; j++)
      total[j] += rows * (double)means[at + j] + (double)rests[at + j];
  }
  channel_folded(p, block, total, mean);
  const size_t count = smr_channel_count(p, block);
  for (size_t c = 0; c < count; c++) mean[c] /= (double)p->pixels;
  channel_unfolded(p, block, mean, centre);
  memset(total, 0, sizeof total);
  for (size_t chunk = 0; chunk < p->chunks; chunk++) {
    const size_t at = channel_partial(p, image, chunk, block);
    const size_t columns = channel_columns(p, chunk, block);
    const double rows = (double)channel_rows(p, chunk);
    for (size_t j = 0; j < columns; j++) {
      const double d = (double)means[at + j] - centre[j];
      total[j] += (double)squares[at + j] + d * (2 * (double)rests[at + j] + rows * d);
    }
  }
  channel_folded(p, block, total, square);
}

void smr_channel_products(const struct smr_channel_plan *p, size_t image, size_t block,
                          const float *sums, const float *products, const float *shifts,
                          const double *mean, double *sum, double *product) {
  double plain[SMR_CHANNEL_COLUMNS] = {0}, total[SMR_CHANNEL_COLUMNS] = {0};
  double centre[SMR_CHANNEL_COLUMNS];
  if (shifts != NULL) channel_unfolded(p, block, mean, centre);
  for (size_t chunk = 0; chunk < p->chunks; chunk++) {
    const size_t at = channel_partial(p, image, chunk, block);
    const size_t columns = channel_columns(p, chunk, block);
    for (size_t j = 0; j < columns; j++) {
      plain[j] += (double)sums[at + j];
      total[j] += (double)products[at + j];
    }
    if (shifts != NULL)
      for (size_t j = 0; j < columns; j++)
        total[j] += ((double)shifts[at + j] - centre[j]) * (double)sums[at + j];
  }
  channel_folded(p, block, plain, sum);
  channel_folded(p, block, total, product);
}
