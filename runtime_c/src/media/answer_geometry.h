// SPDX-License-Identifier: Apache-2.0
// Maps pixels of a model's input to the caller's picture: docs/guides/postprocessing.md, step 8.
#ifndef SMR_MEDIA_ANSWER_GEOMETRY_H
#define SMR_MEDIA_ANSWER_GEOMETRY_H

#include "base/error.h"

#include <stdint.h>

/// The largest side of a picture, of an input and of a mask.
enum { SMR_ANSWER_MOST_SIZE = 16384 };

/// How an input was made from a picture of `width` by `height` pixels: the rectangle `crop` (x, y,
/// width, height) was rotated clockwise by `quarters` times 90 degrees, mirrored, resized to
/// `resized` (width, height), and placed at `offset` (column, row) in an input of `tensor` (width,
/// height) pixels. A negative offset crops.
struct smr_answer_geometry {
  int32_t width, height;
  int32_t crop[4];
  int32_t quarters;
  bool mirror;
  int32_t resized[2], offset[2], tensor[2];
};

/// BAD_ARGUMENT if a size is not in 1..16384, the rectangle is not inside the picture, or
/// `quarters` is not in 0..3. The functions below need a checked geometry.
samara_status smr_answer_geometry_check(const struct smr_answer_geometry *g, samara_error *error);

/// Width and height of the rectangle after the rotation.
void smr_answer_geometry_oriented(const struct smr_answer_geometry *g, int32_t oriented[2]);

/// Map a point {x, y} from pixels of the input to pixels of the picture, in place.
void smr_answer_geometry_back(const struct smr_answer_geometry *g, float point[2]);

#endif
