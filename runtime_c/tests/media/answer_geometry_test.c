// SPDX-License-Identifier: Apache-2.0
// Tests the mapping from pixels of an input back to those of the picture.
#include "base/fp.h"

#include "media/answer_geometry.h"

#include "harness.h"

static void check_back(const struct smr_answer_geometry *g, float x, float y, float want_x,
                       float want_y) {
  float point[2] = {x, y};
  CHECK_EQ_INT(smr_answer_geometry_check(g, NULL), SAMARA_OK);
  smr_answer_geometry_back(g, point);
  CHECK_NEAR(point[0], want_x, 0);
  CHECK_NEAR(point[1], want_y, 0);
}

SMR_TEST(leads_back) {
  // A rectangle of 4 by 2 pixels at (10, 20); its pixel (3, 0) lies where the turns put it.
  const struct smr_answer_geometry upright = {100,   50,     {10, 20, 4, 2}, 0,
                                              false, {4, 2}, {0, 0},         {4, 2}};
  struct smr_answer_geometry g = upright;
  check_back(&g, 3.5f, 0.5f, 13.5f, 20.5f);
  g.mirror = true;
  check_back(&g, 0.5f, 0.5f, 13.5f, 20.5f);
  g.quarters = 2;
  check_back(&g, 3.5f, 1.5f, 13.5f, 20.5f);
  g.mirror = false;
  check_back(&g, 0.5f, 1.5f, 13.5f, 20.5f);
  g.resized[0] = g.tensor[0] = 2;
  g.resized[1] = g.tensor[1] = 4;
  g.quarters = 1;
  check_back(&g, 1.5f, 3.5f, 13.5f, 20.5f);
  g.quarters = 3;
  check_back(&g, 0.5f, 0.5f, 13.5f, 20.5f);
  g.mirror = true;
  check_back(&g, 1.5f, 0.5f, 13.5f, 20.5f);
}

SMR_TEST(scales_and_shifts) {
  const struct smr_answer_geometry letterbox = {640,   360,        {0, 0, 640, 360}, 0,
                                                false, {320, 180}, {0, 30},          {320, 240}};
  check_back(&letterbox, 160, 120, 320, 180);
  check_back(&letterbox, 0, 30, 0, 0);
  const struct smr_answer_geometry cropped = {512,   512,        {0, 0, 512, 512}, 0,
                                              false, {256, 256}, {-16, -16},       {224, 224}};
  check_back(&cropped, 0, 0, 32, 32);
}

SMR_TEST(refuses) {
  const struct smr_answer_geometry right = {8, 8, {1, 2, 7, 6}, 3, true, {3, 3}, {-5, 5}, {9, 9}};
  const size_t words = sizeof right / 4;
  CHECK_EQ_INT(smr_answer_geometry_check(&right, NULL), SAMARA_OK);
  static const int32_t bad[] = {-1, INT32_MIN, INT32_MAX, 20000, -20000};
  for (size_t w = 0; w < words; w++)
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      struct smr_answer_geometry g = right;
      samara_error error = {SAMARA_OK, ""};
      if ((char *)&g.mirror == (char *)&g + 4 * w) continue;
      memcpy((char *)&g + 4 * w, &bad[i], 4);
      // A larger picture still holds the rectangle, and offsets may be negative.
      const bool offset =
          (char *)g.offset <= (char *)&g + 4 * w && (char *)&g + 4 * w < (char *)g.tensor;
      if (offset && bad[i] == -1) continue;
      CHECK_EQ_INT(smr_answer_geometry_check(&g, &error), SAMARA_BAD_ARGUMENT);
      CHECK_CONTAINS(error.text, "expected");
    }
}

SMR_TEST_MAIN(RUN(leads_back); RUN(scales_and_shifts); RUN(refuses))
