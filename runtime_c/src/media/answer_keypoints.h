// SPDX-License-Identifier: Apache-2.0
// Points of a picture from heat maps or coordinates: docs/guides/postprocessing.md, step 7.
#ifndef SMR_MEDIA_ANSWER_KEYPOINTS_H
#define SMR_MEDIA_ANSWER_KEYPOINTS_H

#include "media/answer_elements.h"
#include "media/answer_geometry.h"

#include <stddef.h>

enum smr_answer_refine { SMR_ANSWER_CELL = 0, SMR_ANSWER_QUARTER = 1, SMR_ANSWER_PARABOLA = 2 };

struct smr_answer_keypoints {
  uint32_t output;
  bool heatmaps;       /// the output has a map per point, else coordinates
  bool channels_last;  ///< maps [1, height, width, points], else [1, points, height, width]
  enum smr_answer_refine refine;  ///< of maps
  bool sigmoid;                   /// of maps: the score is the sigmoid of the cell
  bool yx, ratio;                 /// of coordinates: y first; relative to the input's sides
  uint32_t step;                  /// of coordinates: 2, or 3 with a score after each pair
};

/// A point in pixels of the picture; (0, 0) with score 0 if the output has none.
struct smr_answer_point {
  float x, y, score;
};

/// Number of points of the output. BAD_SHAPE if it does not fit the record.
samara_status smr_answer_keypoints_count(const struct smr_answer_keypoints *record,
                                         const struct smr_answer_outputs *outputs, size_t *count,
                                         samara_error *error);

/// Write all points to `points`, which has room for `room`. Uses no other memory. BAD_ARGUMENT if
/// the room is too small or the geometry invalid.
samara_status smr_answer_keypoints(const struct smr_answer_keypoints *record,
                                   const struct smr_answer_outputs *outputs,
                                   const struct smr_answer_geometry *geometry,
                                   struct smr_answer_point *points, size_t room,
                                   samara_error *error);

#endif
