// SPDX-License-Identifier: Apache-2.0
// reshape, transpose, slice and expand: which kernel moves the elements, and what is refused.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

// Elements 0, 1, 2, ... (modulo 256 in bytes) of every dtype, and what `from` says comes out.
static void check_moved(struct op_test *t, size_t element, size_t in_count, size_t out_count,
                        const size_t *from) {
  unsigned char *in = (unsigned char *)t->in_data[0];
  for (size_t i = 0; i < in_count * element; i++) in[i] = (unsigned char)(i * 37 + i / 256);
  REQUIRE(CHECK_EQ_INT(op_run(t), SAMARA_OK));
  CHECK_EQ_INT(t->out[0].size_bytes, out_count * element);
  for (size_t i = 0; i < out_count; i++)
    CHECK_MEM((const unsigned char *)t->out[0].data + i * element, in + from[i] * element, element);
}

SMR_TEST(transposes_images) {
  enum { H = 61, W = 47, C = 35 };
  static size_t from[H * W * C];
  struct op_test t;
  op_begin(&t, "transpose");
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, H, W, C), NULL);
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, C, H, W));
  op_ints(&t, "perm", 4, DIMS(0, 3, 1, 2));
  for (size_t i = 0; i < H * W * C; i++) from[i] = i % (H * W) * C + i / (H * W);
  check_moved(&t, 4, H * W * C, H * W * C, from);
  CHECK(t.tiles > 1);
  CHECK_STR(t.job.kernel, "view_transpose");
  op_end(&t);
}

SMR_TEST(transpose_refuses) {
  struct op_test t;
  op_begin(&t, "transpose");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 2));
  op_ints(&t, "perm", 2, DIMS(0, 0));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST(reshapes) {
  static size_t from[40000];
  for (size_t i = 0; i < 40000; i++) from[i] = i;
  struct op_test t;
  op_begin(&t, "reshape");
  op_in(&t, SAMARA_INT64, 2, DIMS(200, 200), NULL);
  op_out(&t, SAMARA_INT64, 3, DIMS(100, 1, 400));
  op_ints(&t, "shape", 3, DIMS(100, 1, 400));
  check_moved(&t, 8, 40000, 40000, from);
  CHECK(t.tiles > 1);
  op_end(&t);

  op_begin(&t, "reshape");  // a scalar
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(1, 1), (const float[]){3});
  op_out(&t, SAMARA_FLOAT32, 0, NULL);
  op_ints(&t, "shape", 0, NULL);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){3}, 1, 0);
  op_end(&t);

  op_begin(&t, "reshape");  // in place nothing moves
  t.in_place = true;
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), (const float[]){3, 4});
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 1));
  op_ints(&t, "shape", 2, DIMS(2, 1));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){3, 4}, 2, 0);
  op_end(&t);

  op_begin(&t, "reshape");  // nothing in it
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(0, 5), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(3, 0));
  op_ints(&t, "shape", 2, DIMS(3, 0));
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  CHECK_EQ_INT(t.tiles, 0);
  op_end(&t);
}

static void slice(struct op_test *t, uint32_t rank, const int64_t *dims, const int64_t *out,
                  const int64_t *begin, const int64_t *end, const int64_t *step) {
  op_begin(t, "slice");
  op_in(t, SAMARA_INT32, rank, dims, NULL);
  op_out(t, SAMARA_INT32, rank, out);
  op_ints(t, "begin", rank, begin);
  op_ints(t, "end", rank, end);
  op_ints(t, "step", rank, step);
}

SMR_TEST(slices) {
  struct op_test t;
  slice(&t, 2, DIMS(5, 6), DIMS(2, 3), DIMS(1, 0), DIMS(4, 6), DIMS(2, 2));
  check_moved(&t, 4, 30, 6, (const size_t[]){6, 8, 10, 18, 20, 22});
  op_end(&t);
  // Backwards: x[4::-2, ::-1] and an axis taken whole.
  slice(&t, 2, DIMS(5, 3), DIMS(3, 3), DIMS(4, 2), DIMS(-1, -1), DIMS(-2, -1));
  check_moved(&t, 4, 15, 9, (const size_t[]){14, 13, 12, 8, 7, 6, 2, 1, 0});
  op_end(&t);
  // A step far beyond the axis takes one element.
  slice(&t, 1, DIMS(5), DIMS(1), DIMS(3), DIMS(-1), DIMS(-INT64_MAX));
  check_moved(&t, 4, 5, 1, (const size_t[]){3});
  op_end(&t);
  slice(&t, 2, DIMS(5, 3), DIMS(0, 3), DIMS(5, 0), DIMS(5, 3), DIMS(1, 1));
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  op_end(&t);
  // Rows stay rows.
  slice(&t, 3, DIMS(2, 4, 3), DIMS(2, 2, 3), DIMS(0, 1, 0), DIMS(2, 3, 3), DIMS(1, 1, 1));
  check_moved(&t, 4, 24, 12, (const size_t[]){3, 4, 5, 6, 7, 8, 15, 16, 17, 18, 19, 20});
  CHECK_STR(t.job.kernel, "view_rows");
  op_end(&t);
}

SMR_TEST(slice_refuses) {
  struct op_test t;
  slice(&t, 1, DIMS(5), DIMS(6), DIMS(0), DIMS(6), DIMS(1));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  slice(&t, 1, DIMS(5), DIMS(5), DIMS(5), DIMS(0), DIMS(-1));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  slice(&t, 1, DIMS(5), DIMS(5), DIMS(0), DIMS(5), DIMS(0));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST(expands) {
  struct op_test t;
  op_begin(&t, "expand");
  op_in(&t, SAMARA_FLOAT16, 3, DIMS(2, 1, 3), NULL);
  op_out(&t, SAMARA_FLOAT16, 4, DIMS(2, 2, 2, 3));
  op_ints(&t, "shape", 4, DIMS(2, 2, 2, 3));
  size_t from[24];
  for (size_t i = 0; i < 24; i++) from[i] = i % 3 + i / 6 % 2 * 3;
  check_moved(&t, 2, 6, 24, from);
  op_end(&t);

  op_begin(&t, "expand");  // a scalar fills
  op_in(&t, SAMARA_INT64, 0, NULL, (const int64_t[]){-7});
  op_out(&t, SAMARA_INT64, 2, DIMS(300, 301));
  op_ints(&t, "shape", 2, DIMS(300, 301));
  REQUIRE(CHECK_EQ_INT(op_run(&t), SAMARA_OK));
  CHECK_STR(t.job.kernel, "view_fill");
  for (size_t i = 0; i < 300 * 301; i++) CHECK_EQ_INT(((const int64_t *)t.out[0].data)[i], -7);
  op_end(&t);

  op_begin(&t, "expand");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(3), NULL);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(6));
  op_ints(&t, "shape", 1, DIMS(6));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(transposes_images); RUN(transpose_refuses); RUN(reshapes); RUN(slices);
              RUN(slice_refuses); RUN(expands))
