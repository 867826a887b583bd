// SPDX-License-Identifier: Apache-2.0
// Where the pixels of a model's input lie in the caller's picture: docs/guides/postprocessing.md,
// step 8.
#ifndef SMR_MEDIA_ANSWER_GEOMETRY_H
#define SMR_MEDIA_ANSWER_GEOMETRY_H

#include "base/error.h"

#include <stdint.h>

/// The largest side of a picture, of an input and of a mask.
enum { SMR_ANSWER_MOST_SIZE = 16384 };

/// How a picture lies in a model's input. The rectangle `crop` (x, y, width, height) of the
/// picture, `width` by `height` pixels, was rotated clockwise by `quarters` times 90 degrees, then
/// mirrored, then resized to `resized` (width, height), and put at `offset` (column, row) of an
/// input of `tensor` (width, height) pixels. A negative offset crops.
struct smr_answer_geometry {
  int32_t width, height;
  int32_t crop[4];
  int32_t quarters;
  bool mirror;
  int32_t resized[2], offset[2], tensor[2];
};

/// BAD_ARGUMENT where a size is not 1..16384, the rectangle not inside the picture, or `quarters`
/// not 0..3. The functions below take only what passed.
samara_status smr_answer_geometry_check(const struct smr_answer_geometry *g, samara_error *error);

/// Width and height of the rectangle after the rotation.
void smr_answer_geometry_oriented(const struct smr_answer_geometry *g, int32_t oriented[2]);

/// Turn a point in pixels of the input, {x, y}, into one in pixels of the picture.
void smr_answer_geometry_back(const struct smr_answer_geometry *g, float point[2]);

#endif
