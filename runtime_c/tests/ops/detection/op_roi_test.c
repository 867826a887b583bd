// SPDX-License-Identifier: Apache-2.0
// roi_align and roi_pool: regions that must be refused. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

#include <math.h>

enum { N = 2, H = 20, W = 24, C = 19 };

static float x[N * H * W * C];

static void begin(struct op_test *t, const float *regions, const int64_t *in, int64_t count,
                  const char *mode) {
  op_begin(t, "roi_align");
  op_in(t, SAMARA_FLOAT32, 4, DIMS(N, H, W, C), x);
  op_in(t, SAMARA_FLOAT32, 2, DIMS(count, 4), regions);
  op_in(t, SAMARA_INT64, 1, DIMS(count), in);
  op_out(t, SAMARA_FLOAT32, 4, DIMS(count, 2, 3, C));
  op_ints(t, "size", 2, DIMS(2, 3));
  op_enum(t, "mode", mode);
}

SMR_TEST(what_regions_may_say) {
  static const struct {
    float region[4];
    int64_t image;
    const char *refusal;
  } cases[] = {
      {{0, 0, 1, 1}, -1, "lies in image -1"},
      {{0, 0, 1, 1}, N, "lies in image 2"},
      {{0, 0, 1, 1}, INT64_MAX, "lies in image"},
      {{0, 0, 1e6f, 1}, 0, "samples"},
      {{0, NAN, 1, 1}, 0, "samples"},
      {{-INFINITY, 0, INFINITY, 1}, 0, "samples"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct op_test t;
    begin(&t, cases[i].region, &cases[i].image, 1, "avg");
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
    CHECK(strstr(t.error.text, cases[i].refusal) != NULL);
    op_end(&t);
  }
  static const float odd[][5] = {
      {2, 0, 0, 1, 1}, {-1, 0, 0, 1, 1}, {NAN, 0, 0, 1, 1}, {0, 0, NAN, 1, 1}, {1e30f, 0, 0, 1, 1}};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    struct op_test t;
    op_begin(&t, "roi_pool");
    op_in(&t, SAMARA_FLOAT32, 4, DIMS(N, H, W, C), x);
    op_in(&t, SAMARA_FLOAT32, 2, DIMS(1, 5), odd[i]);
    op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 2, 3, C));
    op_ints(&t, "size", 2, DIMS(2, 3));
    op_finish(&t, SAMARA_BAD_DATA, NULL);
  }
}

SMR_TEST_MAIN(RUN(what_regions_may_say))
