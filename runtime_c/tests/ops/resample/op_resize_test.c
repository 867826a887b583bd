// SPDX-License-Identifier: Apache-2.0
// resize: answers of ONNX Runtime, other ranks and dtypes, strided pixels, regions, refusals.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static const float known[12] = {0, 5, 10, 4, 9, 3, 8, 2, 7, 1, 6, 0};

static void begin(struct op_test *t, uint8_t dtype, uint32_t rank, const int64_t *dims,
                  const int64_t *sizes, const void *data, const char *mode) {
  int64_t out[SAMARA_MAX_RANK];
  out[0] = dims[0];
  for (uint32_t i = 0; i < rank - 2; i++) out[i + 1] = sizes[i];
  out[rank - 1] = dims[rank - 1];
  op_begin(t, "resize");
  op_in(t, dtype, rank, dims, data);
  op_out(t, dtype, rank, out);
  op_ints(t, "sizes", rank - 2, sizes);
  op_enum(t, "mode", mode);
}

// The peer computes coordinates in float32, which is worth some of these 6e-6.
static void expect(struct op_test *t, const float *values, size_t n) {
  if (CHECK_EQ_INT(op_run(t), SAMARA_OK)) op_expect_f32(t, 0, values, n, 6e-6);
  op_end(t);
}

static int64_t bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

SMR_TEST(answers_like_onnxruntime) {
  struct op_test t;
  begin(&t, SAMARA_FLOAT32, 4, DIMS(1, 3, 4, 1), DIMS(6, 6), known, "linear");
  op_ints(&t, "scales", 2, DIMS(bits(2), bits(1.5f)));
  expect(&t,
         (const float[]){
             0,         2.5f, 5.833333f, 9.166666f, 7,      4,         2.25f,     3.375f, 5.333333f,
             8.666666f, 6.5f, 3.5f,      6.75f,     5.125f, 4.333333f, 7.666666f, 5.5f,   2.5f,
             8.5f,      5.5f, 3.333333f, 6.666666f, 4.5f,   1.5f,      7.5f,      4.5f,   2.333333f,
             5.666666f, 3.5f, 0.5f,      7,         4,      1.833333f, 5.166666f, 3,      0},
         36);
  begin(&t, SAMARA_FLOAT32, 4, DIMS(1, 3, 4, 1), DIMS(6, 6), known, "nearest");
  op_ints(&t, "scales", 2, DIMS(bits(2), bits(1.5f)));
  expect(&t, (const float[]){0, 0, 5, 10, 10, 4, 0, 0, 5, 10, 10, 4, 9, 9, 3, 8, 8, 2,
                             9, 9, 3, 8,  8,  2, 7, 7, 1, 6,  6,  0, 7, 7, 1, 6, 6, 0},
         36);
  begin(&t, SAMARA_FLOAT32, 4, DIMS(1, 3, 4, 1), DIMS(5, 3), known, "cubic");
  expect(&t,
         (const float[]){-0.08165735f, 8.822253f, 5.139918f, 3.65425f, 7.499123f, 4.315915f,
                         8.052085f, 5.5f, 2.947917f, 7.362417f, 4.057753f, 1.579918f, 5.860087f,
                         3.308001f, 0.755917f},
         15);
  begin(&t, SAMARA_FLOAT32, 4, DIMS(1, 3, 4, 1), DIMS(5, 3), known, "linear");
  op_enum(&t, "coordinate", "align_corners");
  expect(&t, (const float[]){0, 7.5f, 4, 4.5f, 6.5f, 3, 9, 5.5f, 2, 8, 4.5f, 1, 7, 3.5f, 0}, 15);
  begin(&t, SAMARA_FLOAT32, 4, DIMS(1, 3, 4, 1), DIMS(2, 3), known, "linear");
  op_int(&t, "antialias", 1);
  expect(&t, (const float[]){3.363636f, 6.833333f, 4.969697f, 6.030303f, 4.166667f, 2.303031f}, 6);
  begin(&t, SAMARA_FLOAT32, 4, DIMS(1, 3, 4, 1), DIMS(5, 6), known, "nearest");
  op_enum(&t, "coordinate", "asymmetric");
  op_enum(&t, "nearest", "ceil");
  expect(&t, (const float[]){0, 5, 10, 10, 4, 4, 9, 3, 8, 8, 2, 2, 7, 1, 6,
                             6, 0, 0,  7,  1, 6, 6, 0, 0, 7, 1, 6, 6, 0, 0},
         30);
  begin(&t, SAMARA_FLOAT32, 4, DIMS(1, 3, 4, 1), DIMS(4, 3), known, "cubic");
  op_int(&t, "exclude_outside", 1);
  op_f32(&t, "cubic_a", -0.5f);
  expect(&t,
         (const float[]){0.1094565f, 8.327891f, 4.841896f, 5.510855f, 6.643416f, 3.624229f,
                         8.059708f, 4.564956f, 1.850609f, 6.158105f, 3.395522f, 0.6329409f},
         12);
}

// Twice the size in three dims: every output is the mean of its neighbours along each axis, weighed
// 3 to 1, in a tensor whose pixels lie apart.
SMR_TEST(three_dims_with_strided_pixels) {
  enum { D = 3, H = 4, W = 5, C = 19, IN = 23, OUT = 20 };
  static float x[2 * D * H * W * IN];
  for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) x[i] = (float)(i * 31 % 101) / 16;
  struct op_test t;
  begin(&t, SAMARA_FLOAT32, 5, DIMS(2, D, H, W, IN), DIMS(2 * D, 2 * H, 2 * W), x, "linear");
  t.in[0].dims[4] = t.out[0].dims[4] = C;
  t.in[0].size_bytes = 2 * D * H * W * C * sizeof(float);
  t.out[0].size_bytes = 2 * 8 * D * H * W * C * sizeof(float);
  t.out[0].pixel_stride = OUT;
  REQUIRE(CHECK_EQ_INT(op_run(&t), SAMARA_OK));
  const float *y = (const float *)t.out[0].data;
  static const int64_t in[3] = {D, H, W};
  for (int64_t p = 0; p < 2 * 8 * D * H * W; p++) {
    const int64_t at[3] = {p / (4 * H * W) % (2 * D), p / (2 * W) % (2 * H), p % (2 * W)};
    const int64_t n = p / (8 * D * H * W);
    for (int64_t c = 0; c < C; c++) {
      double want = 0;
      for (int corner = 0; corner < 8; corner++) {
        double weight = 1;
        int64_t pixel = n;
        for (int a = 0; a < 3; a++) {
          const bool far = corner >> a & 1;
          int64_t i = far ? at[a] / 2 + (at[a] % 2 ? 1 : -1) : at[a] / 2;
          i = i < 0 ? 0 : i >= in[a] ? in[a] - 1 : i;
          weight *= far ? 0.25 : 0.75;
          pixel = pixel * in[a] + i;
        }
        want += weight * (double)x[pixel * IN + c];
      }
      CHECK_NEAR(y[p * OUT + c], want, 2e-6);
    }
  }
  CHECK(t.tiles > 1);
  op_end(&t);
}

SMR_TEST(bytes_and_halves) {
  struct op_test t;
  begin(&t, SAMARA_QINT8, 3, DIMS(1, 2, 2), DIMS(4), (const int8_t[]){1, 2, -3, -4}, "nearest");
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_bytes(&t, 0, (const int8_t[]){1, 2, 1, 2, -3, -4, -3, -4}, 8);
  op_end(&t);
  uint16_t x[2] = {smr_f32_to_f16(1), smr_f32_to_f16(2)}, y[4];
  const float want[4] = {1, 1.25f, 1.75f, 2};
  for (int i = 0; i < 4; i++) y[i] = smr_f32_to_f16(want[i]);
  begin(&t, SAMARA_FLOAT16, 3, DIMS(1, 2, 1), DIMS(4), x, "linear");
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, y, 8);
  op_end(&t);
}

SMR_TEST(regions_extrapolate) {
  static const float x[4] = {1, 2, 3, 4};
  static const char *const modes[2] = {"nearest", "linear"};
  for (int m = 0; m < 2; m++) {
    struct op_test t;
    begin(&t, SAMARA_FLOAT32, 4, DIMS(1, 2, 2, 1), DIMS(3, 3), x, modes[m]);
    op_enum(&t, "coordinate", "tf_crop_and_resize");
    op_floats(&t, "roi", 4, (const float[]){-1, 0, 1, 2});  // rows -1 0 1, columns 0 1 2
    op_f32(&t, "extrapolation", 9);
    expect(&t, (const float[]){9, 9, 9, 1, 2, 9, 3, 4, 9}, 9);
  }
}

SMR_TEST(empty_tensors) {
  struct op_test t;
  begin(&t, SAMARA_FLOAT32, 4, DIMS(1, 3, 3, 2), DIMS(0, 4), NULL, "linear");
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  op_end(&t);
  begin(&t, SAMARA_FLOAT32, 4, DIMS(0, 3, 3, 2), DIMS(2, 4), NULL, "linear");
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  op_end(&t);
}

SMR_TEST(refuses) {
  struct op_test t;
  begin(&t, SAMARA_INT8, 3, DIMS(1, 2, 1), DIMS(4), NULL, "linear");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, SAMARA_FLOAT32, 3, DIMS(1, 0, 1), DIMS(4), NULL, "linear");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  static const float scales[] = {-1, INFINITY, NAN, -0.0f};
  for (int i = 0; i < 4; i++) {
    begin(&t, SAMARA_FLOAT32, 3, DIMS(1, 2, 1), DIMS(4), NULL, "linear");
    op_ints(&t, "scales", 1, DIMS(bits(scales[i])));
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
    op_end(&t);
  }
  begin(&t, SAMARA_FLOAT32, 3, DIMS(1, 2, 1), DIMS(4), NULL, "linear");
  op_enum(&t, "coordinate", "tf_crop_and_resize");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, SAMARA_FLOAT32, 3, DIMS(1, 2, 1), DIMS(4), NULL, "linear");
  op_int(&t, "coordinate", 7);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

// Pixels of one element: whole factors are repeated, others picked; of every width of element.
SMR_TEST(planes_of_single_elements) {
  static const int64_t sizes[][2] = {{4, 8}, {4, 12}, {4, 20}, {5, 8}, {4, 4}, {7, 3}, {1, 6}};
  static const uint8_t dtypes[] = {SAMARA_INT8, SAMARA_FLOAT16, SAMARA_FLOAT32};
  for (size_t d = 0; d < 3; d++)
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      const int64_t in = sizes[s][0], out = sizes[s][1];
      const size_t element = (size_t)1 << d;
      uint8_t x[3 * 7 * 7 * 4], want[3 * 20 * 20 * 4];
      for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)(i * 37 + 11);
      for (int64_t i = 0; i < 3 * out * out; i++) {
        const int64_t plane = i / (out * out), h = i / out % out * in / out, w = i % out * in / out;
        memcpy(want + (size_t)i * element, x + (size_t)((plane * in + h) * in + w) * element,
               element);
      }
      struct op_test t;
      begin(&t, dtypes[d], 4, DIMS(3, in, in, 1), DIMS(out, out), x, "nearest");
      op_enum(&t, "coordinate", "asymmetric");
      op_enum(&t, "nearest", "floor");
      if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
        op_expect_bytes(&t, 0, want, (size_t)(3 * out * out) * element);
      op_end(&t);
    }
}

SMR_TEST_MAIN(RUN(answers_like_onnxruntime); RUN(three_dims_with_strided_pixels);
              RUN(bytes_and_halves); RUN(planes_of_single_elements); RUN(regions_extrapolate);
              RUN(empty_tensors); RUN(refuses))
