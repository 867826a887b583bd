// SPDX-License-Identifier: Apache-2.0
// Maps pixels of an input back to the picture: offset, scale, mirror, rotation, crop.
#include "base/fp.h"

#include "media/answer_geometry.h"

#include <inttypes.h>

static bool answer_geometry_sized(const int32_t *sizes, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (sizes[i] < 1 || sizes[i] > SMR_ANSWER_MOST_SIZE) return false;
  return true;
}

samara_status smr_answer_geometry_check(const struct smr_answer_geometry *g, samara_error *error) {
  const int32_t sizes[] = {g->width, g->height};
  if (!answer_geometry_sized(sizes, 2) || !answer_geometry_sized(g->crop + 2, 2) ||
      !answer_geometry_sized(g->resized, 2) || !answer_geometry_sized(g->tensor, 2))
    SMR_FAIL(error, BAD_ARGUMENT,
             "a picture of %" PRId32 "x%" PRId32 ", cropped to %" PRId32 "x%" PRId32
             ", resized to %" PRId32 "x%" PRId32 " for an input of %" PRId32 "x%" PRId32
             ": expected sizes of 1 to 16384",
             g->width, g->height, g->crop[2], g->crop[3], g->resized[0], g->resized[1],
             g->tensor[0], g->tensor[1]);
  if (g->crop[0] < 0 || g->crop[1] < 0 || g->crop[0] > g->width - g->crop[2] ||
      g->crop[1] > g->height - g->crop[3])
    SMR_FAIL(error, BAD_ARGUMENT,
             "the rectangle %" PRId32 ",%" PRId32 " of %" PRId32 "x%" PRId32
             ", expected it inside a picture of %" PRId32 "x%" PRId32,
             g->crop[0], g->crop[1], g->crop[2], g->crop[3], g->width, g->height);
  if (g->quarters < 0 || g->quarters > 3)
    SMR_FAIL(error, BAD_ARGUMENT, "a rotation by %" PRId32 " quarters, expected 0 to 3",
             g->quarters);
  for (uint32_t i = 0; i < 2; i++)
    if (g->offset[i] < -SMR_ANSWER_MOST_SIZE || g->offset[i] > SMR_ANSWER_MOST_SIZE)
      SMR_FAIL(error, BAD_ARGUMENT, "an offset of %" PRId32 ", expected -16384 to 16384",
               g->offset[i]);
  return SAMARA_OK;
}

void smr_answer_geometry_oriented(const struct smr_answer_geometry *g, int32_t oriented[2]) {
  const int32_t turned = g->quarters & 1;
  oriented[0] = g->crop[2 + turned];
  oriented[1] = g->crop[3 - turned];
}

void smr_answer_geometry_back(const struct smr_answer_geometry *g, float point[2]) {
  int32_t oriented[2];
  smr_answer_geometry_oriented(g, oriented);
  const float w = (float)g->crop[2], h = (float)g->crop[3], ow = (float)oriented[0];
  const float scale_x = ow / (float)g->resized[0];
  const float scale_y = (float)oriented[1] / (float)g->resized[1];
  float u = (point[0] - (float)g->offset[0]) * scale_x;
  const float v = (point[1] - (float)g->offset[1]) * scale_y;
  if (g->mirror) u = ow - u;
  const float p[4] = {u, v, w - u, w - v}, q[4] = {v, h - u, h - v, u};
  point[0] = (float)g->crop[0] + p[g->quarters];
  point[1] = (float)g->crop[1] + q[g->quarters];
}
