// SPDX-License-Identifier: Apache-2.0
// What operators that move elements share: tiles, block copies, index values.
#ifndef SMR_OPS_MOVE_H
#define SMR_OPS_MOVE_H

#include "ops/op.h"

#include <string.h>

enum { SMR_MOVE_TILE_BYTES = 32 * 1024 };  // work that pays for a hand-over to another thread

/// A range of equal units of work, divided into tiles; kept in the state.
struct smr_units {
  size_t count, per_tile;
};

/// Make tiles of about SMR_MOVE_TILE_BYTES, if a unit moves `unit_bytes`. Sets job->tiles.
static inline struct smr_units smr_units_make(struct smr_job *job, size_t count,
                                              size_t unit_bytes) {
  const size_t per_tile =
      unit_bytes < SMR_MOVE_TILE_BYTES ? SMR_MOVE_TILE_BYTES / (unit_bytes ? unit_bytes : 1) : 1;
  job->tiles = count / per_tile + (count % per_tile != 0);
  return (struct smr_units){count, per_tile};
}

static inline size_t smr_units_begin(const struct smr_units *units, size_t tile) {
  const size_t unit = tile * units->per_tile;
  return unit < units->count ? unit : units->count;
}

/// memcpy, fast for blocks of one element.
static inline void smr_copy_block(void *dst, const void *src, size_t bytes) {
  switch (bytes) {
    case 1:
      memcpy(dst, src, 1);
      break;
    case 2:
      memcpy(dst, src, 2);
      break;
    case 4:
      memcpy(dst, src, 4);
      break;
    case 8:
      memcpy(dst, src, 8);
      break;
    case 16:
      memcpy(dst, src, 16);
      break;
    default:
      memcpy(dst, src, bytes);
      break;
  }
}

/// Element `i` of an int32 or int64 index tensor.
static inline int64_t smr_index_at(const struct smr_tensor *indices, size_t i) {
  if (indices->dtype != SAMARA_INT64) return ((const int32_t *)indices->data)[i];
  return ((const int64_t *)indices->data)[i];
}

/// Product of dims [from, to) of a checked tensor.
static inline size_t smr_extent(const struct smr_tensor *t, uint32_t from, uint32_t to) {
  size_t n = 1;
  for (uint32_t i = from; i < to; i++) n *= (size_t)t->dims[i];
  return n;
}

/// Check: outputs, and all inputs of concat, have the dtype of input 0. Operators that move
/// elements take any dtype, and address in units of this one.
samara_status smr_move_check(const struct smr_job *job);
samara_status smr_move_check_all(const struct smr_job *job);

/// Attribute `axis`, counted from the front. The check class has checked its range.
uint32_t smr_move_axis(int64_t axis, uint32_t rank);

/// Strides in bytes of a tensor whose pixels are pixel_stride apart.
void smr_move_strides(const struct smr_tensor *t, size_t *stride_bytes);
/// Strides of a dense tensor, in bytes.
void smr_dense_strides(const struct smr_tensor *t, size_t *stride_bytes);

/// Convert an index into an axis of `extent` to one counted from the front. With `wrap`, negative
/// indices count from the end. Otherwise fails with BAD_DATA, the value, its position in the index
/// tensor and the valid range.
samara_status smr_move_index(const struct smr_job *job, int64_t value, size_t position,
                             int64_t extent, bool wrap, size_t *out);

/// The same for `n` <= SMR_MOVE_INDICES consecutive indices, from `position` on.
enum { SMR_MOVE_INDICES = 256 };
samara_status smr_move_indices(const struct smr_job *job, const struct smr_tensor *indices,
                               size_t position, size_t n, int64_t extent, bool wrap, size_t *out);

/// Copy elements of up to 16 bytes to a row: element j comes from src + picks[j] * stride + j *
/// step.
void smr_move_pick(size_t n, const size_t *picks, const char *src, size_t stride, size_t step,
                   size_t element_bytes, char *dst);

#endif
