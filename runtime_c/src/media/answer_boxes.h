// SPDX-License-Identifier: Apache-2.0
// Boxes of a picture: docs/guides/postprocessing.md, step 5.
#ifndef SMR_MEDIA_ANSWER_BOXES_H
#define SMR_MEDIA_ANSWER_BOXES_H

#include "media/answer_geometry.h"
#include "media/answer_part.h"

enum smr_answer_form {
  SMR_ANSWER_CORNERS = 0,  ///< x0, y0, x1, y1
  SMR_ANSWER_CENTER = 1,   ///< x, y of the middle, width, height
  SMR_ANSWER_ANCHORS = 2,  ///< distances from an anchor, logarithms of sizes
  SMR_ANSWER_SIDES = 3     ///< distances of the sides from an anchor's point
};

enum { SMR_ANSWER_MOST_TOP = 65535 };

/// Anchors on a grid with cells of `stride` pixels: `count` boxes per cell. `sizes` holds their
/// {width, height} in pixels of the input.
struct smr_answer_level {
  uint32_t stride, count;
  const float *sizes;
};

/// Borrows `levels` and their sizes. docs/guides/postprocessing.md explains the fields.
struct smr_answer_boxes {
  enum smr_answer_form form;
  enum smr_answer_activation activation;
  struct smr_answer_part box, score, objectness, points, anchors;
  const struct smr_answer_level *levels;  /// for anchors on grids
  uint32_t level_count;
  bool root;  /// score = sqrt(class score * objectness)
  bool channels_first, yx, ratio, corner, agnostic;
  uint32_t point_step;
  float variances[4];
  float threshold, iou;
  uint32_t top;  ///< 1..65535
};

/// A box in pixels of the picture. (0, 0) is the upper left corner of the first pixel.
struct smr_answer_box {
  float x0, y0, x1, y1, score;
  uint32_t class_index;  /// 0 is the first class of the record
};

struct smr_answer_boxes_size {
  size_t boxes;   ///< at most
  size_t points;  ///< of each box
  size_t scratch_bytes;
};

/// Check the record itself, without outputs. BAD_ARGUMENT.
samara_status smr_answer_boxes_check(const struct smr_answer_boxes *record, samara_error *error);

/// Most memory for the boxes of a picture. BAD_SHAPE if outputs do not fit the record or each
/// other. BAD_ARGUMENT for an invalid record or geometry.
samara_status smr_answer_boxes_size(const struct smr_answer_boxes *record,
                                    const struct smr_answer_outputs *outputs,
                                    const struct smr_answer_geometry *geometry,
                                    struct smr_answer_boxes_size *size, samara_error *error);

/// Write the boxes, best first, to `boxes` (room for size.boxes), x and y of their points to
/// `points` (2 * size.points per box; may be NULL), and the number of boxes to *count. `scratch` is
/// aligned to 8 bytes. BAD_ARGUMENT if `room` (in boxes) or the scratch is too small.
samara_status smr_answer_boxes(const struct smr_answer_boxes *record,
                               const struct smr_answer_outputs *outputs,
                               const struct smr_answer_geometry *geometry, void *scratch,
                               size_t scratch_bytes, struct smr_answer_box *boxes, float *points,
                               size_t room, size_t *count, samara_error *error);

#endif
