// SPDX-License-Identifier: Apache-2.0
// resize_grad: the adjoint of resize in every mode, known sums, float16, what nothing came from.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

enum { N = 8, H = 11, W = 9, C = 17, TO_H = 23, TO_W = 6, FROM = N * H * W * C };
enum { TO = N * TO_H * TO_W * C };

static float x[FROM], dy[TO];

static void options(struct op_test *t, int mode, int coordinate, bool antialias) {
  op_int(t, "mode", mode);
  op_int(t, "coordinate", coordinate);
  op_int(t, "antialias", antialias);
  op_floats(t, "roi", 4, (const float[]){-0.25f, 1.25f, 1, 0.1f});
}

// <resize(x), dy> = <x, resize_grad(dy)>.
static void check_adjoint(int mode, int coordinate, bool antialias) {
  struct op_test y, g;
  op_begin(&y, "resize");
  op_in(&y, SAMARA_FLOAT32, 4, DIMS(N, H, W, C), x);
  op_out(&y, SAMARA_FLOAT32, 4, DIMS(N, TO_H, TO_W, C));
  op_ints(&y, "sizes", 2, DIMS(TO_H, TO_W));
  options(&y, mode, coordinate, antialias);
  op_begin(&g, "resize_grad");
  op_in(&g, SAMARA_FLOAT32, 4, DIMS(N, TO_H, TO_W, C), dy);
  op_out(&g, SAMARA_FLOAT32, 4, DIMS(N, H, W, C));
  op_ints(&g, "size", 2, DIMS(H, W));
  options(&g, mode, coordinate, antialias);
  if (CHECK_EQ_INT(op_run(&y), SAMARA_OK) && CHECK_EQ_INT(op_run(&g), SAMARA_OK)) {
    CHECK(g.tiles > 1);
    double forward = 0, backward = 0;
    for (size_t i = 0; i < TO; i++)
      forward += (double)((const float *)y.out[0].data)[i] * (double)dy[i];
    for (size_t i = 0; i < FROM; i++)
      backward += (double)((const float *)g.out[0].data)[i] * (double)x[i];
    CHECK_NEAR(forward, backward, 1e-3);
    CHECK(backward != 0);
  }
  op_end(&y);
  op_end(&g);
}

SMR_TEST(is_the_adjoint) {
  for (size_t i = 0; i < FROM; i++) x[i] = (float)(i * 37 % 101) * 0.02f - 1;
  for (size_t i = 0; i < TO; i++) dy[i] = (float)(i * 53 % 97) * 0.02f - 1;
  for (int mode = 0; mode < 3; mode++)
    for (int coordinate = 0; coordinate < 7; coordinate++)
      for (int antialias = 0; antialias <= (mode > 0); antialias++)
        check_adjoint(mode, coordinate, antialias);
}

SMR_TEST(known_sums) {
  static const float ones[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  struct op_test t;
  // Each of two elements was repeated three times.
  op_begin(&t, "resize_grad");
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 6, 2), ones);
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 2, 2));
  op_ints(&t, "size", 1, DIMS(2));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){9, 12, 27, 30}, 4, 0);
  op_end(&t);
  // Of three elements only the middle one was taken.
  op_begin(&t, "resize_grad");
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 2), ones);
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 3, 2));
  op_ints(&t, "size", 1, DIMS(3));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){0, 0, 1, 2, 0, 0}, 6, 0);
  op_end(&t);
  // Nothing was taken.
  op_begin(&t, "resize_grad");
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 0, 2, 1), NULL);
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 2, 2, 1));
  op_ints(&t, "size", 2, DIMS(2, 2));
  op_enum(&t, "mode", "linear");
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[4]){0}, 4, 0);
  op_end(&t);
}

// Sums are float32's, rounded once.
SMR_TEST(float16) {
  uint16_t in[200], want;
  for (size_t i = 0; i < 200; i++) in[i] = smr_f32_to_f16(1.0f + (float)i * 0x1p-8f);
  double sum = 0;
  for (size_t i = 0; i < 200; i++) sum += (double)smr_f16_to_f32(in[i]);
  struct op_test t;
  op_begin(&t, "resize_grad");
  op_in(&t, SAMARA_FLOAT16, 4, DIMS(1, 10, 20, 1), in);
  op_out(&t, SAMARA_FLOAT16, 4, DIMS(1, 1, 1, 1));
  op_ints(&t, "size", 2, DIMS(1, 1));
  op_enum(&t, "mode", "linear");
  want = smr_f32_to_f16((float)sum);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, &want, sizeof want);
  op_end(&t);
}

SMR_TEST(refuses) {
  struct op_test t;
  op_begin(&t, "resize_grad");
  op_in(&t, SAMARA_INT8, 3, DIMS(1, 6, 2), NULL);  // integers have no gradient
  op_out(&t, SAMARA_INT8, 3, DIMS(1, 2, 2));
  op_ints(&t, "size", 1, DIMS(2));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  op_begin(&t, "resize_grad");
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 6, 2), NULL);
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 2, 2));
  op_ints(&t, "size", 1, DIMS(2));
  op_int(&t, "mode", 3);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(is_the_adjoint), RUN(known_sums), RUN(float16), RUN(refuses))
