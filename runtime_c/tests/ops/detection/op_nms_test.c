// SPDX-License-Identifier: Apache-2.0
// nms: order, ties, thresholds, strange boxes, more boxes than a block.
#include "base/fp.h"

#include "ops/op_harness.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

// Boxes [1, boxes, 4] and scores [1, classes, boxes]; a threshold of NaN is left out.
static void begin(struct op_test *t, int64_t boxes, int64_t classes, int64_t limit,
                  const float *corners, const float *scores, float overlap, float score) {
  op_begin(t, "nms");
  op_in(t, SAMARA_FLOAT32, 3, DIMS(1, boxes, 4), corners);
  op_in(t, SAMARA_FLOAT32, 3, DIMS(1, classes, boxes), scores);
  op_absent(t);
  op_in(t, SAMARA_FLOAT32, 0, DIMS(0), &overlap);
  if (score == score) op_in(t, SAMARA_FLOAT32, 0, DIMS(0), &score);
  op_out(t, SAMARA_INT64, 3, DIMS(1, classes, limit));
  op_int(t, "limit", limit);
}

static void expect(struct op_test *t, const int64_t *want, size_t n) {
  if (CHECK_EQ_INT(op_run(t), SAMARA_OK))
    for (size_t i = 0; i < n; i++) CHECK_EQ_INT(((const int64_t *)t->out[0].data)[i], want[i]);
  op_end(t);
}

// 0 and 1 overlap by 1/3, 2 lies apart, 3 is 2 with its corners swapped.
static const float corners[] = {0, 0, 2, 2, 0, 1, 2, 3, 5, 5, 6, 6, 6, 6, 5, 5};

SMR_TEST(overlaps) {
  struct op_test t;
  static const float scores[] = {0.9f, 0.8f, 0.3f, 0.4f, 0.1f, 0.2f, 0.9f, 0.9f};
  begin(&t, 4, 2, 4, corners, scores, 0.3f, NAN);
  expect(&t, (const int64_t[]){0, 3, -1, -1, 2, 1, -1, -1}, 8);
  begin(&t, 4, 2, 4, corners, scores, 0.34f, NAN);
  expect(&t, (const int64_t[]){0, 1, 3, -1, 2, 1, 0, -1}, 8);
  begin(&t, 4, 2, 4, corners, scores, 1.0f, 0.3f);  // above, not at
  expect(&t, (const int64_t[]){0, 1, 3, -1, 2, 3, -1, -1}, 8);
  begin(&t, 4, 2, 1, corners, scores, 0.3f, NAN);
  expect(&t, (const int64_t[]){0, 2}, 2);
}

SMR_TEST(strange_boxes) {
  // Without an area, with no number, endless: they overlap nothing.
  static const float odd[] = {1, 1, 1, 1, 1, 1, 1, 1,        0, NAN,       2,        2,
                              0, 0, 2, 2, 0, 0, 2, INFINITY, 0, -INFINITY, INFINITY, 2};
  static const float scores[] = {0.9f, 0.8f, 0.7f, 0.6f, NAN, -INFINITY};
  struct op_test t;
  begin(&t, 6, 1, 6, odd, scores, 0.0f, NAN);
  expect(&t, (const int64_t[]){0, 1, 2, 3, 5, -1}, 6);
}

// Boxes in a row, each of which overlaps its neighbours: every other one stays.
SMR_TEST(many_boxes) {
  enum { MANY = 75 };
  static float row[MANY * 4], scores[MANY];
  int64_t want[MANY];
  for (size_t i = 0; i < MANY; i++) {
    const float at = (float)i;
    const float box[] = {0, at * 2, 1, at * 2 + 3};
    memcpy(row + 4 * i, box, sizeof box);
    scores[i] = 1 - at * 0.01f;
    want[i] = 2 * i < MANY ? (int64_t)(2 * i) : -1;
  }
  struct op_test t;
  begin(&t, MANY, 1, MANY, row, scores, 0.1f, NAN);
  expect(&t, want, MANY);
}

SMR_TEST(count) {
  static const int64_t counts[] = {-5, 0, 2, INT64_MAX};
  static const float scores[] = {0.9f, 0.8f, 0.7f, 0.6f};
  for (size_t i = 0; i < 4; i++) {
    struct op_test t;
    op_begin(&t, "nms");
    op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 4, 4), corners);
    op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 4), scores);
    op_in(&t, SAMARA_INT64, 0, DIMS(0), &counts[i]);
    op_out(&t, SAMARA_INT64, 3, DIMS(1, 1, 3));
    op_int(&t, "limit", 3);
    const int64_t most = counts[i] < 0 ? 0 : counts[i] > 3 ? 3 : counts[i];
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
      int64_t kept = 0;
      for (size_t k = 0; k < 3; k++) kept += ((const int64_t *)t.out[0].data)[k] >= 0;
      CHECK_EQ_INT(kept, most < 2 ? most : 2);  // two places overlap
    }
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(overlaps), RUN(strange_boxes), RUN(many_boxes), RUN(count))
