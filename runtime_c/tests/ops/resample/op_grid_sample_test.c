// SPDX-License-Identifier: Apache-2.0
// grid_sample and its gradient: known samples, the adjoint, tiles, strange points.
#include "base/fp.h"

#include "ops/op_harness.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

enum { N = 2, H = 9, W = 7, C = 21, POINTS = 300, PIXELS = H * W };

static float x[N * PIXELS * C], dy[N * POINTS * C], grid[N * POINTS * 2];

static void fill(void) {
  for (size_t i = 0; i < N * PIXELS * C; i++) x[i] = (float)(i * 37 % 101) * 0.02f - 1;
  for (size_t i = 0; i < N * POINTS * C; i++) dy[i] = (float)(i * 53 % 97) * 0.02f - 1;
  for (size_t i = 0; i < N * POINTS * 2; i++) grid[i] = (float)(i * 71 % 257) * 0.01f - 1.28f;
}

static void begin(struct op_test *t, bool gradient, const char *mode, const char *padding) {
  op_begin(t, gradient ? "grid_sample_grad" : "grid_sample");
  if (gradient) op_in(t, SAMARA_FLOAT32, 4, DIMS(N, POINTS, 1, C), dy);
  op_in(t, SAMARA_FLOAT32, 4, DIMS(N, H, W, C), x);
  op_in(t, SAMARA_FLOAT32, 4, DIMS(N, POINTS, 1, 2), grid);
  if (gradient) {
    op_out(t, SAMARA_FLOAT32, 4, DIMS(N, H, W, C));
    op_out(t, SAMARA_FLOAT32, 4, DIMS(N, POINTS, 1, 2));
  } else {
    op_out(t, SAMARA_FLOAT32, 4, DIMS(N, POINTS, 1, C));
  }
  op_enum(t, "mode", mode);
  op_enum(t, "padding", padding);
}

// A quarter of the middle pixel's square, in pixels of one channel.
SMR_TEST(known_samples) {
  struct op_test t;
  op_begin(&t, "grid_sample");
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 2, 2, 1), (const float[]){1, 2, 3, 4});
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 4, 2),
        (const float[]){0, 0, -0.5f, -0.5f, 1, -0.5f, NAN, 0});
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 4, 1));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){2.5f, 1, 1, 0}, 4, 1e-7);
  op_end(&t);
}

// <grid_sample(x), dy> = <x, dx>: the gradient of the pixels is the adjoint. And dgrid says how
// <grid_sample(x), dy> changes as points move.
SMR_TEST(gradient_is_the_adjoint) {
  static const char *const modes[] = {"linear", "nearest", "cubic"};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  fill();
  for (size_t m = 0; m < 3; m++)
    for (size_t p = 0; p < 3; p++) {
      struct op_test y, g;
      begin(&y, false, modes[m], paddings[p]);
      begin(&g, true, modes[m], paddings[p]);
      if (CHECK_EQ_INT(op_run(&y), SAMARA_OK) && CHECK_EQ_INT(op_run(&g), SAMARA_OK)) {
        CHECK(y.tiles > 1 && g.tiles > N);
        double forward = 0, backward = 0, moved = 0;
        for (size_t i = 0; i < N * POINTS * C; i++)
          forward += (double)((const float *)y.out[0].data)[i] * (double)dy[i];
        for (size_t i = 0; i < N * PIXELS * C; i++)
          backward += (double)((const float *)g.out[0].data)[i] * (double)x[i];
        for (size_t i = 0; i < N * POINTS * 2; i++)
          moved += fabs((double)((const float *)g.out[1].data)[i]);
        CHECK_NEAR(forward, backward, 1e-3);
        CHECK(m == 1 ? moved == 0 : moved > 1);
      }
      op_end(&y);
      op_end(&g);
    }
}

SMR_TEST(slopes_of_a_plane) {
  // x grows by 3 per column and by 10 per row; a unit of the grid is half of 4 columns, 5 rows.
  float ramp[20];
  for (size_t i = 0; i < 20; i++) ramp[i] = (float)(i % 4) * 3 + (float)(i / 4) * 10;
  struct op_test t;
  op_begin(&t, "grid_sample_grad");
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 2, 1), (const float[]){1, -2});
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 5, 4, 1), ramp);
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 2, 2), (const float[]){0.1f, 0.1f, -0.3f, 0.2f});
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 5, 4, 1));
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 2, 2));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 1, (const float[]){6, 25, -12, -50}, 4, 1e-4);
  op_end(&t);
}

// Without points pixels have the gradient 0; without channels points have.
SMR_TEST(empty) {
  struct op_test t;
  op_begin(&t, "grid_sample_grad");
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 0, 2, 3), NULL);
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 2, 2, 3), x);
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 0, 2, 2), NULL);
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 2, 2, 3));
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 0, 2, 2));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[12]){0}, 12, 0);
  op_end(&t);
  op_begin(&t, "grid_sample_grad");
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 2, 0), NULL);
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 2, 2, 0), NULL);
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 2, 2), grid);
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 2, 2, 0));
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 2, 2));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 1, (const float[4]){0}, 4, 0);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(known_samples), RUN(gradient_is_the_adjoint), RUN(slopes_of_a_plane), RUN(empty))
