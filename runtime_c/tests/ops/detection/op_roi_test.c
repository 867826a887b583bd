// SPDX-License-Identifier: Apache-2.0
// roi_align and roi_pool: known regions, planes, tiles, regions that must be refused.
#include "base/fp.h"

#include "ops/op_harness.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

enum { N = 2, H = 20, W = 24, C = 19, R = 30 };

static float x[N * H * W * C];
static float corners[R * 4], pooled[R * 5];
static int64_t images[R];

// Every channel is a plane, so that the mean over a bin is its middle.
static float plane_at(size_t n, double row, double column, size_t c) {
  return (float)((double)n + row * 0.5 + column * 0.25 * (double)(c + 1));
}

static void fill(void) {
  for (size_t i = 0; i < N * H * W * C; i++)
    x[i] = plane_at(i / C / W / H, (double)(i / C / W % H), (double)(i / C % W), i % C);
  for (size_t r = 0; r < R; r++) {
    images[r] = (int64_t)(r % N);
    corners[r * 4] = 1 + (float)(r % 5);
    corners[r * 4 + 1] = 1 + (float)(r % 7);
    corners[r * 4 + 2] = corners[r * 4] + 1 + (float)(r % 11);
    corners[r * 4 + 3] = corners[r * 4 + 1] + 1 + (float)(r % 9);
    pooled[r * 5] = (float)images[r];
    memcpy(pooled + r * 5 + 1, corners + r * 4, 4 * sizeof(float));
  }
}

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

// Samples stay inside, whatever their number.
SMR_TEST(means_of_planes) {
  fill();
  for (int64_t sampling = 0; sampling < 4; sampling++) {
    struct op_test t;
    begin(&t, corners, images, R, "avg");
    op_int(&t, "sampling", sampling);
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
      CHECK(t.tiles > 1);
      for (size_t i = 0; i < R * 6 * C; i++) {
        const size_t r = i / C / 6;
        const double row = (double)(i / C / 3 % 2), column = (double)(i / C % 3);
        const double left = (double)corners[r * 4] - 0.5, top = (double)corners[r * 4 + 1] - 0.5;
        const double width = (double)(corners[r * 4 + 2] - corners[r * 4]);
        const double height = (double)(corners[r * 4 + 3] - corners[r * 4 + 1]);
        const float want = plane_at((size_t)images[r], top + (row + 0.5) * height / 2,
                                    left + (column + 0.5) * width / 3, i % C);
        CHECK_NEAR(((const float *)t.out[0].data)[i], want, 3e-5);
      }
    }
    op_end(&t);
  }
}

// One sample in the middle of a pixel has one corner; one far outside is 0.
SMR_TEST(largest_corners) {
  static const float regions[] = {0, 0, 3, 2, 500, 500, 503, 502};
  fill();
  struct op_test t;
  begin(&t, regions, images, 2, "max");
  op_int(&t, "sampling", 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < 2 * 6 * C; i++) {
      const float want = plane_at(0, (double)(i / C / 3 % 2), (double)(i / C % 3), i % C);
      CHECK_NEAR(((const float *)t.out[0].data)[i], i < 6 * C ? want : 0, 1e-6);
    }
  op_end(&t);
}

SMR_TEST(pooled_planes) {
  fill();
  struct op_test t;
  op_begin(&t, "roi_pool");
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(N, H, W, C), x);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(R, 5), pooled);
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(R, 1, 1, C));
  op_ints(&t, "size", 2, DIMS(1, 1));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    for (size_t i = 0; i < R * C; i++) {
      const size_t r = i / C;  // planes grow: the last corner is the largest
      const float want = plane_at((size_t)images[r], (double)corners[r * 4 + 3],
                                  (double)corners[r * 4 + 2], i % C);
      CHECK_NEAR(((const float *)t.out[0].data)[i], want, 1e-6);
    }
  }
  op_end(&t);
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
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
    op_end(&t);
  }
}

// Endless regions are cut to the image.
SMR_TEST(endless_pools) {
  fill();
  static const float all[] = {1, -INFINITY, -1e30f, 1e30f, INFINITY};
  struct op_test t;
  op_begin(&t, "roi_pool");
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(N, H, W, C), x);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(1, 5), all);
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 1, C));
  op_ints(&t, "size", 2, DIMS(1, 1));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t c = 0; c < C; c++)
      CHECK_NEAR(((const float *)t.out[0].data)[c], plane_at(1, H - 1, W - 1, c), 1e-6);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(means_of_planes), RUN(largest_corners), RUN(pooled_planes),
              RUN(what_regions_may_say), RUN(endless_pools))
