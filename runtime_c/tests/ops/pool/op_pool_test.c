// SPDX-License-Identifier: Apache-2.0
// max_pool, avg_pool and lp_pool: answers of ONNX Runtime, geometry, strided pixels, refusals.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void begin(struct op_test *t, const char *op, uint8_t dtype, uint32_t spatial,
                  const int64_t *in, const int64_t *out, const int64_t *kernel,
                  const int64_t *strides, const int64_t *dilations, const int64_t *pads,
                  const void *data) {
  op_begin(t, op);
  op_in(t, dtype, 2 + spatial, in, data);
  op_out(t, dtype, 2 + spatial, out);
  op_ints(t, "kernel", spatial, kernel);
  op_ints(t, "strides", spatial, strides);
  op_ints(t, "dilations", spatial, dilations);
  op_ints(t, "pads", 2 * spatial, pads);
}

// x = [1, 4, 5, 2] of i % 7 - 3, kernel 3 x 2, strides 2 and 1, pads 1 0 1 1.
static void begin_known(struct op_test *t, const char *op) {
  float x[40];
  for (int i = 0; i < 40; i++) x[i] = (float)(i % 7 - 3);
  begin(t, op, SAMARA_FLOAT32, 2, DIMS(1, 4, 5, 2), DIMS(1, 2, 5, 2), DIMS(3, 2), DIMS(2, 1),
        DIMS(1, 1), DIMS(1, 0, 1, 1), x);
}

static void expect_known(struct op_test *t, const float *values) {
  if (CHECK_EQ_INT(op_run(t), SAMARA_OK)) op_expect_f32(t, 0, values, 20, 1e-6);
  op_end(t);
}

SMR_TEST(answers_like_onnxruntime) {
  struct op_test t;
  begin_known(&t, "max_pool");
  expect_known(&t, (const float[]){2, 3, 2, 3, 3, 2, 3, 2, 1, 2, 3, 3, 3, 3, 3, 3, 2, 3, 1, 2});
  begin_known(&t, "avg_pool");
  expect_known(
      &t, (const float[]){-0.5f,        0.5f,       -0.25f,       0.75f,        0,     -0.75f,
                          0.25f,        -0.5f,      -0.5f,        0.5f,         0.5f,  0.33333334f,
                          0.16666667f,  0,          -0.16666667f, -0.33333334f, -0.5f, 0.5f,
                          -0.66666669f, 0.33333334f});
  begin_known(&t, "avg_pool");
  op_int(&t, "count_include_pad", 1);
  expect_known(&t, (const float[]){-0.33333334f,
                                   0.33333334f,
                                   -0.16666667f,
                                   0.5f,
                                   0,
                                   -0.5f,
                                   0.16666667f,
                                   -0.33333334f,
                                   -0.16666667f,
                                   0.16666667f,
                                   0.5f,
                                   0.33333334f,
                                   0.16666667f,
                                   0,
                                   -0.16666667f,
                                   -0.33333334f,
                                   -0.5f,
                                   0.5f,
                                   -0.33333334f,
                                   0.16666667f});
  begin_known(&t, "lp_pool");
  expect_known(&t, (const float[]){3.7416575f, 3.7416575f, 3.8729835f, 4.1231055f, 4.472136f,
                                   4.1231055f, 3.8729835f, 3.7416575f, 2.236068f,  2.236068f,
                                   4.3588991f, 4.8989797f, 5.1961522f, 5.2915025f, 5.1961522f,
                                   4.8989797f, 4.3588991f, 4.3588991f, 3.1622777f, 3});
  begin_known(&t, "lp_pool");
  op_int(&t, "p", 3);
  expect_known(&t, (const float[]){3.3019273f, 3.3019273f, 3.332222f,  3.5033982f, 3.8258624f,
                                   3.5033982f, 3.332222f,  3.3019273f, 2.0800838f, 2.0800838f,
                                   3.5568933f, 4,          4.1408181f, 4.1601677f, 4.1408181f,
                                   4,          3.5568933f, 3.5568933f, 3.0365891f, 2.5712817f});
  begin_known(&t, "lp_pool");
  op_int(&t, "p", 1);
  expect_known(&t,
               (const float[]){6, 6, 7, 7, 8, 7, 7, 6, 3, 3, 9, 10, 11, 12, 11, 10, 9, 9, 4, 5});
}

// Every output against a loop over taps, in three spatial dims with gaps between pixels.
SMR_TEST(geometry_with_strided_pixels) {
  enum { N = 2, D = 4, H = 7, W = 9, C = 19, IN_PIXEL = 24, OUT_PIXEL = 21 };
  static const int64_t kernel[3] = {2, 3, 2}, strides[3] = {1, 2, 3}, dilations[3] = {2, 1, 3};
  static const int64_t pads[6] = {1, 0, 2, 0, 1, 1}, in[3] = {D, H, W};
  int64_t out[3];
  for (int i = 0; i < 3; i++)
    out[i] = (in[i] + pads[i] + pads[3 + i] - (kernel[i] - 1) * dilations[i] - 1) / strides[i] + 1;
  struct op_test t;
  begin(&t, "max_pool", SAMARA_FLOAT32, 3, DIMS(N, D, H, W, IN_PIXEL),
        DIMS(N, out[0], out[1], out[2], C), kernel, strides, dilations, pads, NULL);
  float *x = (float *)t.in_data[0];
  for (size_t i = 0; i < N * D * H * W * IN_PIXEL; i++) x[i] = (float)(i * 7919 % 10007) - 5000;
  t.in[0].dims[4] = C;  // the pixels of a wider tensor
  t.in[0].size_bytes = N * D * H * W * C * sizeof(float);
  t.out[0].pixel_stride = OUT_PIXEL;
  REQUIRE(CHECK_EQ_INT(op_run(&t), SAMARA_OK));
  const float *y = (const float *)t.out[0].data;
  size_t pixel = 0;
  for (int64_t n = 0; n < N; n++)
    for (int64_t a = 0; a < out[0]; a++)
      for (int64_t b = 0; b < out[1]; b++)
        for (int64_t c = 0; c < out[2]; c++, pixel++)
          for (int64_t channel = 0; channel < C; channel++) {
            float want = -INFINITY;
            for (int64_t tap = 0; tap < kernel[0] * kernel[1] * kernel[2]; tap++) {
              const int64_t i = a * strides[0] - pads[0] + tap / 6 * dilations[0];
              const int64_t j = b * strides[1] - pads[1] + tap / 2 % 3 * dilations[1];
              const int64_t k = c * strides[2] - pads[2] + tap % 2 * dilations[2];
              if (i < 0 || i >= D || j < 0 || j >= H || k < 0 || k >= W) continue;
              const float v = x[(((n * D + i) * H + j) * W + k) * IN_PIXEL + channel];
              want = v > want ? v : want;
            }
            CHECK_NEAR(y[(int64_t)pixel * OUT_PIXEL + channel], want, 0);
          }
  op_end(&t);
}

SMR_TEST(windows_of_padding_alone) {
  struct op_test t;
  begin(&t, "max_pool", SAMARA_FLOAT32, 1, DIMS(1, 1, 1), DIMS(1, 3, 1), DIMS(1), DIMS(1), DIMS(1),
        DIMS(1, 1), (const float[]){5});
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){-INFINITY, 5, -INFINITY}, 3, 0);
  op_end(&t);
  begin(&t, "avg_pool", SAMARA_FLOAT32, 1, DIMS(1, 1, 1), DIMS(1, 3, 1), DIMS(1), DIMS(1), DIMS(1),
        DIMS(1, 1), (const float[]){5});
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){0, 5, 0}, 3, 0);
  op_end(&t);
  begin(&t, "max_pool", SAMARA_QINT8, 1, DIMS(1, 1, 1), DIMS(1, 2, 1), DIMS(1), DIMS(1), DIMS(1),
        DIMS(1, 0), (const int8_t[]){-5});
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, (const int8_t[]){-128, -5}, 2);
  op_end(&t);
  begin(&t, "max_pool", SAMARA_UINT8, 1, DIMS(1, 2, 1), DIMS(1, 2, 1), DIMS(2), DIMS(1), DIMS(1),
        DIMS(1, 0), (const uint8_t[]){200, 7});
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, (const uint8_t[]){200, 200}, 2);
  op_end(&t);
}

// What ceil mode adds at the end is never counted.
SMR_TEST(extension_is_not_counted) {
  struct op_test t;
  begin(&t, "avg_pool", SAMARA_FLOAT32, 1, DIMS(1, 4, 1), DIMS(1, 2, 1), DIMS(3), DIMS(3), DIMS(1),
        DIMS(0, 1), (const float[]){1, 2, 3, 4});
  op_ints(&t, "extend", 1, DIMS(1));
  op_int(&t, "count_include_pad", 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){2, 2}, 2, 0);
  op_end(&t);
}

SMR_TEST(halves_and_empty_tensors) {
  struct op_test t;
  const uint16_t x[2] = {smr_f32_to_f16(1.0f), smr_f32_to_f16(2.0f)};
  const uint16_t y[1] = {smr_f32_to_f16(1.5f)};
  begin(&t, "avg_pool", SAMARA_FLOAT16, 1, DIMS(1, 2, 1), DIMS(1, 1, 1), DIMS(2), DIMS(1), DIMS(1),
        DIMS(0, 0), x);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, y, 2);
  op_end(&t);
  begin(&t, "max_pool", SAMARA_FLOAT32, 2, DIMS(2, 3, 3, 0), DIMS(2, 2, 2, 0), DIMS(2, 2),
        DIMS(1, 1), DIMS(1, 1), DIMS(0, 0, 0, 0), NULL);
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  CHECK_EQ_INT(t.tiles, 0);
  op_end(&t);
}

SMR_TEST(refuses) {
  struct op_test t;
  begin(&t, "max_pool", SAMARA_INT32, 1, DIMS(1, 2, 1), DIMS(1, 1, 1), DIMS(2), DIMS(1), DIMS(1),
        DIMS(0, 0), NULL);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, "max_pool", SAMARA_FLOAT32, 1, DIMS(1, 2, 1), DIMS(1, 2, 1), DIMS(2), DIMS(1), DIMS(1),
        DIMS(0, 0), NULL);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, "lp_pool", SAMARA_FLOAT32, 1, DIMS(1, 2, 1), DIMS(1, 1, 1), DIMS(2), DIMS(1), DIMS(1),
        DIMS(0, 0), NULL);
  op_int(&t, "p", 0);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  // As large as numbers in a file get: the window meets one element, nothing overflows.
  begin(&t, "avg_pool", SAMARA_FLOAT32, 3, DIMS(1, 1, 1, 1, 1), DIMS(1, 1, 1, 1, 1),
        DIMS(2, 1 << 30, INT32_MAX), DIMS(INT32_MAX, INT32_MAX, INT32_MAX),
        DIMS(INT32_MAX - 1, 1, 1), DIMS(INT32_MAX - 1, 1 << 29, 0, 0, 1 << 29, INT32_MAX - 1),
        (const float[]){3});
  op_int(&t, "count_include_pad", 1);
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  op_end(&t);
}

// One window of equal elements, `taps` of them; they are more than int32 sums can hold.
static void check_qavg(int64_t taps, int8_t value, int8_t zero, int8_t expected) {
  const float x_scale = 0.5f;
  const int32_t x_zero = zero;
  int8_t *x = (int8_t *)malloc((size_t)taps);
  memset(x, value, (size_t)taps);
  struct op_test t;
  begin(&t, "qavg_pool", SAMARA_QINT8, 1, DIMS(1, taps, 1), DIMS(1, 1, 1), DIMS(taps), DIMS(1),
        DIMS(1), DIMS(0, 0), x);
  op_quant(&t, &t.in[0], 1, &x_scale, &x_zero, -1);
  op_ints(&t, "extend", 1, DIMS(0));
  op_f32(&t, "scale", 1.0f);
  op_int(&t, "zero_point", -10);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    CHECK_EQ_INT(((const int8_t *)t.out[0].data)[0], expected);
  op_end(&t);
  free(x);
}

SMR_TEST(quantized_average) {
  check_qavg(3, 5, 0, -8);  // 2.5: to even
  check_qavg(300, 127, -128, 118);
  check_qavg(9000000, 127, -128, 118);
  check_qavg(9000000, -8, 100, -64);
}

// The mean of four elements, in and out in steps of `scale`.
static samara_status run_four(struct op_test *t, const int8_t *x, int dequantized, float scale) {
  const int32_t zero = 0;
  begin(t, "qavg_pool", SAMARA_QINT8, 1, DIMS(1, 4, 1), DIMS(1, 1, 1), DIMS(4), DIMS(1), DIMS(1),
        DIMS(0, 0), x);
  op_quant(t, &t->in[0], 1, &scale, &zero, -1);
  op_ints(t, "extend", 1, DIMS(0));
  op_f32(t, "scale", scale);
  op_int(t, "dequantized", dequantized);
  return op_run(t);
}

// Tenths added in float32: what they give for a tie depends on their order.
SMR_TEST(dequantized_average) {
  static const struct {
    int8_t x[4], integer, dequantized;
  } ties[] = {
      {{0, 2, 13, 3}, 4, 5},  // 4.5000005
      {{3, 2, 0, 13}, 4, 4},  // 4.5
      {{0, 6, 15, 1}, 6, 5},  // 5.4999995
  };
  struct op_test t;
  for (size_t i = 0; i < sizeof ties / sizeof *ties; i++)
    for (int d = 0; d < 2; d++) {
      if (CHECK_EQ_INT(run_four(&t, ties[i].x, d, 0.1f), SAMARA_OK))
        CHECK_EQ_INT(((const int8_t *)t.out[0].data)[0], d ? ties[i].dequantized : ties[i].integer);
      op_end(&t);
    }
  CHECK_EQ_INT(run_four(&t, ties[0].x, 0, 0x1p65f), SAMARA_OK);
  op_end(&t);
  CHECK_EQ_INT(run_four(&t, ties[0].x, 1, 0x1p64f), SAMARA_OK);
  op_end(&t);
  CHECK_EQ_INT(run_four(&t, ties[0].x, 1, 0x1p65f), SAMARA_BAD_SHAPE);  // sums might overflow
  op_end(&t);
}

SMR_TEST_MAIN(RUN(quantized_average); RUN(dequantized_average); RUN(answers_like_onnxruntime);
              RUN(geometry_with_strided_pixels); RUN(windows_of_padding_alone);
              RUN(extension_is_not_counted); RUN(halves_and_empty_tensors); RUN(refuses))
