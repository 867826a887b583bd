// SPDX-License-Identifier: Apache-2.0
// From a picture to a tensor: records, sources, and the pass over the picture.
// docs/guides/preprocessing.md defines the arithmetic, samara_media.h the public structs.
#ifndef SMR_MEDIA_IMAGE_H
#define SMR_MEDIA_IMAGE_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/pool.h"
#include "kernels/image_rows/image_rows.h"

#include <samara/samara_media.h>

// ---- records (image_record.c) ----

/// Check a record. BAD_ARGUMENT if it is invalid, UNSUPPORTED if this build lacks a part that it
/// needs. Adds the parts it needs to `parts`, which may be NULL.
samara_status smr_image_record_check(const samara_image_record *record, struct smr_parts *parts,
                                     samara_error *error);

/// Channels of the tensor, 1 or 3, of a checked record.
static inline uint32_t smr_image_channels(const samara_image_record *record) {
  if (!SMR_HAS(image_to_gray)) return 3;
  if (!SMR_HAS(image_to_colour)) return 1;
  return record->colour == SAMARA_COLOUR_GRAY ? 1 : 3;
}

/// Whether elements of a checked record's tensor are bytes.
static inline bool smr_image_is_bytes(const samara_image_record *record) {
  if (!SMR_IMAGE_HAS_FLOATS) return true;
  if (!SMR_HAS(image_to_bytes)) return false;
  return record->dtype == SAMARA_UINT8 || record->dtype == SAMARA_INT8;
}

/// Whether elements that are not bytes are float32.
static inline bool smr_image_is_single(const samara_image_record *record) {
  if (!SMR_HAS(image_to_float16)) return true;
  return SMR_HAS(image_to_float32) && record->dtype == SAMARA_FLOAT32;
}

static inline size_t smr_image_element_bytes(const samara_image_record *record) {
  return smr_image_is_bytes(record) ? 1 : smr_image_is_single(record) ? 4 : 2;
}

/// Sizes of a picture at each step.
struct smr_image_sizes {
  uint32_t old_width, old_height;      // of the oriented picture
  uint32_t new_width, new_height;      // resized
  uint32_t width, height;              // of the tensor
  uint32_t left, top;                  // position of the picture in the tensor
  uint32_t inner_width, inner_height;  // size of the picture in the tensor
  uint32_t from_x, from_y;             // first kept pixel of the resized picture
};

/// Sizes by a checked record for an oriented picture of `width` by `height`. BAD_SHAPE if the
/// resized picture is larger than SAMARA_MAX_SIDE or smaller than the crop.
samara_status smr_image_sizes(const samara_image_record *record, uint32_t width, uint32_t height,
                              struct smr_image_sizes *out, samara_error *error);

/// The tensor's dims; returns the rank.
int32_t smr_image_shape(const samara_image_record *record, const struct smr_image_sizes *sizes,
                        int64_t *shape);

/// Bytes of the tensor.
static inline size_t smr_image_bytes(const samara_image_record *record,
                                     const struct smr_image_sizes *sizes) {
  return smr_image_element_bytes(record) * smr_image_channels(record) * sizes->width *
         sizes->height;
}

// ---- sources: pictures checked to be inside the caller's memory ----

/// One axis of the oriented picture: pixel i of it is at `first + i * step` of the source's axis.
struct smr_image_axis_source {
  uint32_t count;
  int32_t first, step;  // step 1 or -1
  size_t strides[3];    // of Y (or the only plane), U and V: bytes between samples
};

enum smr_image_kind {
  SMR_IMAGE_PACKED,  // three channels, at bytes `at` of each pixel
  SMR_IMAGE_FOUR,    // the same in pixels of four bytes, `at` is 0, 1, 2 or 2, 1, 0
  SMR_IMAGE_ONE,     // a plane of luma
  SMR_IMAGE_YUV,     // three planes, two of them subsampled by 2
};

struct smr_image_source {
  enum smr_image_kind kind;
  bool turned;  // rows of the oriented picture are columns of the source
  const uint8_t *planes[3];
  uint32_t at[3];                            // byte of R, G and B in a pixel
  struct smr_image_axis_source along, over;  // along a row of the source, and across rows
  struct smr_image_colour colour;            // of YUV
};

/// Width and height of the oriented picture.
static inline uint32_t smr_image_old_width(const struct smr_image_source *source) {
  return source->turned ? source->over.count : source->along.count;
}
static inline uint32_t smr_image_old_height(const struct smr_image_source *source) {
  return source->turned ? source->along.count : source->over.count;
}

/// Check all fields of a picture and locate its samples. BAD_ARGUMENT names the field, UNSUPPORTED
/// a format that this build leaves out.
samara_status smr_image_source(const samara_image *image, const samara_image_record *record,
                               struct smr_image_source *out, samara_error *error);

// ---- weights (image_axis.c) ----

/// Weights of one axis: new pixel d is the sum of `taps` old pixels from starts[d] on with weights
/// from weights[d * taps] on. Unused taps have weight 0; all taps are inside the picture.
struct smr_image_axis {
  uint32_t count, taps;
  uint32_t *starts;
  int16_t *weights;
};

/// Taps are processed in pairs. A single last tap is paired with itself and weight 0.
static inline uint32_t smr_image_pairs(const struct smr_image_axis *axis) {
  return SMR_IMAGE_HAS_MORE ? (axis->taps + 1) / 2 : 1;
}

/// Weights of new pixels first .. first + count - 1 when `from` old pixels are resized to `to`.
/// Only measures while `bump` does.
void smr_image_axis(samara_image_filter filter, bool antialias, uint32_t from, uint32_t to,
                    uint32_t first, uint32_t count, struct smr_bump *bump,
                    struct smr_image_axis *out);

// ---- the pass ----

/// Everything that is the same for all pictures of one format, size, crop and rotation. `along` and
/// `over` refer to rows of the source, whatever the rotation.
struct smr_image_plan {
  samara_image_record record;
  struct smr_image_sizes sizes;
  enum smr_image_kind kind;
  bool turned, planar, identity;  // as in the source; channels are separate planes; elements equal
                                  // the values
  const struct smr_image_rows *rows;
  struct smr_image_axis along, over;
  size_t stride;        // of arrays over the new pixels along a row
  int32_t *weights;     // [pairs along][stride], two of 16 bits
  int32_t *offsets[3];  // of its taps, in bytes from the first sample of a row; by plane
  bool adjacent;        // the taps of each pair are adjacent pixels
  bool dense;           // and the next pair follows them
  bool fours;           // sums along rows work on pixels of four bytes
  bool straight;        // sums down columns directly give float32 elements
  uint32_t slots;       // rows of the source that a thread caches
  size_t thread_bytes;  // scratch per thread
  size_t lines, tiles;  // lines (rows or columns) of the tensor, and tiles of lines
  uint8_t *scratch;     // consecutive for all threads
  float mean[3][SMR_IMAGE_PERIOD], scale[3][SMR_IMAGE_PERIOD];  // by channel; for interleaved
                                                                // channels by element, in [0]
  uint8_t table[3][256];  // element by value, for integer tensors
};

/// One call for one picture.
struct smr_image_run {
  const struct smr_image_plan *plan;
  const struct smr_image_source *source;
  uint8_t *out;
};

enum {
  SMR_IMAGE_BLOCK = 128,  // pixels read and summed together: a multiple of SMR_IMAGE_STEP
  SMR_IMAGE_LINES = 8,    // lines of the tensor in a tile
  SMR_IMAGE_SLOTS = 64,   // most rows of the source that a thread caches
};

/// Elements to reserve for a line of n pixels of a channel: whole steps, for any start.
static inline size_t smr_image_room(size_t n) { return (n + 2 * SMR_IMAGE_STEP - 1) & ~(size_t)15; }

/// Weights of two taps, packed for kernels.
static inline int32_t smr_image_pair(int16_t first, int16_t second) {
  return (int32_t)((uint32_t)(uint16_t)first | (uint32_t)(uint16_t)second << 16);
}

/// Plan the pass for a source and `threads` threads; arrays come from `bump`, whose base may be
/// NULL to measure (image_plan.c).
void smr_image_plan(const samara_image_record *record, const struct smr_image_sizes *sizes,
                    const struct smr_image_source *source, uint32_t isa, size_t threads,
                    struct smr_bump *bump, struct smr_image_plan *out);

/// Byte offset of sample `i` of an axis from its first sample in a plane.
size_t smr_image_offset(const struct smr_image_axis_source *axis, uint32_t i, int plane);

/// Write the tensor of one picture to `out`, which is aligned to its elements. Uses the plan's
/// scratch, so only one call at a time (image_pass.c).
void smr_image_run(const struct smr_image_plan *plan, const struct smr_image_source *source,
                   samara_pool *pool, void *out);

/// Read the taps of pair `pair` in row `row` of the source for new pixels at .. at + n (n <=
/// SMR_IMAGE_BLOCK), as channels of the record in x[0], x[1], x[2]: arrays of 2 n, in whole steps.
/// Arrays of absent channels are scratch. If `next` is another row, its taps are prefetched
/// (image_read.c).
void smr_image_read(const struct smr_image_run *run, uint32_t row, uint32_t next, uint32_t pair,
                    size_t at, size_t n, uint8_t *const x[3]);

/// The same for pixels of four bytes, not separated: taps at .. at + n, in whole steps, in `room`
/// or in the picture (image_read.c).
const uint8_t *smr_image_fours(const struct smr_image_run *run, uint32_t row, uint32_t next,
                               size_t at, size_t n, uint8_t room[4 * 2 * SMR_IMAGE_BLOCK]);

/// Write line `line` of the tensor: a row, or a column if the picture is turned. Values of channel
/// c begin at values + c * stride. `room` is scratch for the elements of the line, four bytes each
/// (image_elements.c).
void smr_image_emit(const struct smr_image_run *run, size_t line, const uint8_t *values,
                    size_t stride, void *room);

#endif
