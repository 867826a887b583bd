// SPDX-License-Identifier: Apache-2.0
// From a picture to a tensor: records, sources, and the pass. docs/guides/preprocessing.md defines
// the arithmetic, samara_media.h what callers hand over.
#ifndef SMR_MEDIA_IMAGE_H
#define SMR_MEDIA_IMAGE_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/pool.h"
#include "kernels/image_rows/image_rows.h"

#include <samara/samara_media.h>

// ---- records (image_record.c) ----

/// Refuse a record that says nothing sensible, whoever made it: BAD_ARGUMENT. UNSUPPORTED where
/// this build lacks a part that it needs; else these join `parts`, which may be NULL.
samara_status smr_image_record_check(const samara_image_record *record, struct smr_parts *parts,
                                     samara_error *error);

/// Channels of the tensor, 1 or 3, of a record that was checked.
static inline uint32_t smr_image_channels(const samara_image_record *record) {
  if (!SMR_HAS(image_to_gray)) return 3;
  if (!SMR_HAS(image_to_colour)) return 1;
  return record->colour == SAMARA_COLOUR_GRAY ? 1 : 3;
}

/// Whether elements of tensors are bytes, of a record that was checked.
static inline bool smr_image_is_bytes(const samara_image_record *record) {
  if (!SMR_IMAGE_HAS_FLOATS) return true;
  if (!SMR_HAS(image_to_bytes)) return false;
  return record->dtype == SAMARA_UINT8 || record->dtype == SAMARA_INT8;
}

/// Whether they are float32, of those that are none.
static inline bool smr_image_is_single(const samara_image_record *record) {
  if (!SMR_HAS(image_to_float16)) return true;
  return SMR_HAS(image_to_float32) && record->dtype == SAMARA_FLOAT32;
}

static inline size_t smr_image_element_bytes(const samara_image_record *record) {
  return smr_image_is_bytes(record) ? 1 : smr_image_is_single(record) ? 4 : 2;
}

/// What becomes of the sizes of a picture.
struct smr_image_sizes {
  uint32_t old_width, old_height;      // of the oriented picture
  uint32_t new_width, new_height;      // resized
  uint32_t width, height;              // of the tensor
  uint32_t left, top;                  // in the tensor, where pixels of the picture begin
  uint32_t inner_width, inner_height;  // and how many of them there are
  uint32_t from_x, from_y;             // in the resized picture, the first that is kept
};

/// Sizes by a record that was checked, for an oriented picture of `width` by `height`. BAD_SHAPE
/// when the resized picture is larger than SAMARA_MAX_SIDE, or the crop larger than it.
samara_status smr_image_sizes(const samara_image_record *record, uint32_t width, uint32_t height,
                              struct smr_image_sizes *out, samara_error *error);

/// The tensor's dims, and how many there are.
int32_t smr_image_shape(const samara_image_record *record, const struct smr_image_sizes *sizes,
                        int64_t *shape);

/// Bytes of the tensor.
static inline size_t smr_image_bytes(const samara_image_record *record,
                                     const struct smr_image_sizes *sizes) {
  return smr_image_element_bytes(record) * smr_image_channels(record) * sizes->width *
         sizes->height;
}

// ---- sources: pictures whose every sample is known to lie in the caller's memory ----

/// One axis of the oriented picture: pixel i of it is at `first + i * step` of the source's axis.
struct smr_image_axis_source {
  uint32_t count;
  int32_t first, step;  // step 1 or -1
  size_t strides[3];    // of Y (or the only plane), U and V: bytes from a sample to the next
};

enum smr_image_kind {
  SMR_IMAGE_PACKED,  // three channels in bytes at `at` of each pixel
  SMR_IMAGE_FOUR,    // the same in the first three of four bytes, at 0, 1, 2 or at 2, 1, 0
  SMR_IMAGE_ONE,     // a plane of brightness
  SMR_IMAGE_YUV,     // three planes, two of them with every second sample
};

struct smr_image_source {
  enum smr_image_kind kind;
  bool turned;  // rows of the oriented picture are columns of the source
  const uint8_t *planes[3];
  uint32_t at[3];                            // of R, G and B in a pixel
  struct smr_image_axis_source along, over;  // along rows of the source, and from row to row
  struct smr_image_colour colour;            // of YUV
};

/// Width and height of the oriented picture.
static inline uint32_t smr_image_old_width(const struct smr_image_source *source) {
  return source->turned ? source->over.count : source->along.count;
}
static inline uint32_t smr_image_old_height(const struct smr_image_source *source) {
  return source->turned ? source->along.count : source->over.count;
}

/// Check a picture, every field of it, and say where its samples lie. BAD_ARGUMENT names the field,
/// UNSUPPORTED a format that this build leaves out.
samara_status smr_image_source(const samara_image *image, const samara_image_record *record,
                               struct smr_image_source *out, samara_error *error);

// ---- weights (image_axis.c) ----

/// Weights of one axis: new pixel d is a sum of `taps` old pixels from starts[d] on, with weights
/// from weights[d * taps] on, which are zero beyond those that count; all taps lie in the picture.
struct smr_image_axis {
  uint32_t count, taps;
  uint32_t *starts;
  int16_t *weights;
};

/// Taps go in pairs: one that has no other is twice the same, with the weight 0 the second time.
static inline uint32_t smr_image_pairs(const struct smr_image_axis *axis) {
  return SMR_IMAGE_HAS_MORE ? (axis->taps + 1) / 2 : 1;
}

/// Weights of new pixels first .. first + count - 1 of `to` that `from` old pixels become. Measures
/// where `bump` does.
void smr_image_axis(samara_image_filter filter, bool antialias, uint32_t from, uint32_t to,
                    uint32_t first, uint32_t count, struct smr_bump *bump,
                    struct smr_image_axis *out);

// ---- the pass ----

/// All that is the same for every picture of one format, size, crop and rotation. Names are those
/// of the source: `along` its rows and `over` them, whatever the rotation.
struct smr_image_plan {
  samara_image_record record;
  struct smr_image_sizes sizes;
  enum smr_image_kind kind;
  bool turned, planar, identity;  // as in the source; channels one after the other; elements are
                                  // the values
  const struct smr_image_rows *rows;
  struct smr_image_axis along, over;
  size_t stride;        // of arrays over the new pixels along a row
  int32_t *weights;     // [pairs along][stride], two of 16 bits
  int32_t *offsets[3];  // of its taps, bytes from the first sample of a row; by plane
  bool adjacent;        // the taps of each pair are the pixels of one place and the next
  bool dense;           // and the next pair's those that follow
  bool fours;           // sums along rows are those of pixels of four bytes
  bool straight;        // sums down columns become elements of float32 at once
  uint32_t slots;       // rows of the source that a thread keeps
  size_t thread_bytes;  // of scratch
  size_t lines, tiles;  // rows of the tensor, or columns, and parts of them that threads share
  uint8_t *scratch;     // one after the other for each thread
  float mean[3][SMR_IMAGE_PERIOD], scale[3][SMR_IMAGE_PERIOD];  // by channel; where channels go by
                                                                // turns, by element in [0]
  uint8_t table[3][256];  // elements by value, of integer tensors
};

/// A call on one picture.
struct smr_image_run {
  const struct smr_image_plan *plan;
  const struct smr_image_source *source;
  uint8_t *out;
};

enum {
  SMR_IMAGE_BLOCK = 128,  // pixels that are read and summed together: a multiple of a step
  SMR_IMAGE_LINES = 8,    // of the tensor, in a tile
  SMR_IMAGE_SLOTS = 64,   // rows of the source that a thread keeps at most
};

/// Room for a line of n pixels in a channel, wherever it begins: whole steps.
static inline size_t smr_image_room(size_t n) { return (n + 2 * SMR_IMAGE_STEP - 1) & ~(size_t)15; }

/// Weights of two taps as kernels take them.
static inline int32_t smr_image_pair(int16_t first, int16_t second) {
  return (int32_t)((uint32_t)(uint16_t)first | (uint32_t)(uint16_t)second << 16);
}

/// Plan the pass for a source and `threads` threads; arrays come from `bump`, whose base may be
/// NULL to measure (image_plan.c).
void smr_image_plan(const samara_image_record *record, const struct smr_image_sizes *sizes,
                    const struct smr_image_source *source, uint32_t isa, size_t threads,
                    struct smr_bump *bump, struct smr_image_plan *out);

/// Where sample `i` of an axis lies in a plane, in bytes from its first sample.
size_t smr_image_offset(const struct smr_image_axis_source *axis, uint32_t i, int plane);

/// Write the tensor of one picture to `out`, which is aligned to its elements. Uses the plan's
/// scratch: one call at a time (image_pass.c).
void smr_image_run(const struct smr_image_plan *plan, const struct smr_image_source *source,
                   samara_pool *pool, void *out);

/// The taps of pair `pair` along row `row` of the source, of new pixels at .. at + n (n <=
/// SMR_IMAGE_BLOCK), as channels of the record in x[0], x[1], x[2]: arrays of 2 n, in whole steps.
/// Those that the record does not have serve for scratch. Where `next` is another row, the same
/// taps of it will be read soon: the memory is asked for them (image_read.c).
void smr_image_read(const struct smr_image_run *run, uint32_t row, uint32_t next, uint32_t pair,
                    size_t at, size_t n, uint8_t *const x[3]);

/// The same of pixels of four bytes as they are: taps at .. at + n, whole steps of them, in `room`
/// or where they lie in the picture (image_read.c).
const uint8_t *smr_image_fours(const struct smr_image_run *run, uint32_t row, uint32_t next,
                               size_t at, size_t n, uint8_t room[4 * 2 * SMR_IMAGE_BLOCK]);

/// Write line `line` of the tensor: row `line`, or column `line` where the picture is turned.
/// Channel c has its values from values + c * stride on; `room` is for as many elements as the line
/// has, of four bytes (image_elements.c).
void smr_image_emit(const struct smr_image_run *run, size_t line, const uint8_t *values,
                    size_t stride, void *room);

#endif
