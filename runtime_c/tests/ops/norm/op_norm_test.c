// SPDX-License-Identifier: Apache-2.0
// layer_norm, rms_norm, instance_norm and lrn against the definition.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

// Groups of n elements `stride` apart, group g starting at start(g); affine index of element i.
static void expect_group(const struct op_test *t, const float *x, size_t at, size_t n,
                         size_t stride, bool centred, const float *scale, const float *bias,
                         size_t affine_step, size_t affine_at) {
  double mean = 0, variance = 0;
  for (size_t i = 0; centred && i < n; i++) mean += (double)x[at + i * stride] / (double)n;
  for (size_t i = 0; i < n; i++) {
    const double d = (double)x[at + i * stride] - mean;
    variance += d * d / (double)n;
  }
  for (size_t i = 0; i < n; i++) {
    double y = ((double)x[at + i * stride] - mean) / sqrt(variance + 1e-5);
    const size_t a = affine_at + i * affine_step;
    if (scale != NULL) y *= (double)scale[a];
    if (bias != NULL) y += (double)bias[a];
    if (!CHECK_NEAR(linear_out(t, at + i * stride), y,
                    t->out[0].dtype == SAMARA_FLOAT16 ? 4e-3 : 3e-6))
      return;
  }
}

static void row_case(const char *op, int64_t groups, int64_t n, int affine, uint8_t dtype,
                     uint32_t isa) {
  float *x = linear_floats((size_t)(groups * n), 1), *scale = linear_floats((size_t)n, 2);
  float *bias = linear_floats((size_t)n, 3);
  const bool centred = strcmp(op, "layer_norm") == 0;
  struct op_test t;
  op_begin(&t, op);
  t.job.isa &= isa;
  linear_in(&t, dtype, 3, DIMS(groups, n, 1), x);
  if (affine > 0) linear_in(&t, dtype, 2, DIMS(n, 1), scale);
  if (affine > 1 && centred) linear_in(&t, dtype, 2, DIMS(n, 1), bias);
  op_out(&t, dtype, 3, DIMS(groups, n, 1));
  op_int(&t, "axis", 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (int64_t g = 0; g < groups; g++)
      expect_group(&t, x, (size_t)(g * n), (size_t)n, 1, centred, affine > 0 ? scale : NULL,
                   affine > 1 && centred ? bias : NULL, 1, 0);
  op_end(&t);
  free(x), free(scale), free(bias);
}

SMR_TEST(rows) {
  static const int64_t sizes[] = {1, 7, 16, 33, 1000, 20000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int affine = 0; affine < 3; affine++) {
      row_case("layer_norm", 5, sizes[i], affine, SAMARA_FLOAT32, ~0u);
      row_case("rms_norm", 5, sizes[i], affine, SAMARA_FLOAT32, ~0u);
      row_case("layer_norm", 3, sizes[i], affine, SAMARA_FLOAT32, 0);
    }
  row_case("layer_norm", 3, 40, 2, SAMARA_FLOAT16, ~0u);
  row_case("rms_norm", 3, 40, 1, SAMARA_FLOAT16, ~0u);
}

static void instance_case(int64_t n, int64_t pixels, int64_t c, uint8_t dtype, uint32_t isa) {
  float *x = linear_floats((size_t)(n * pixels * c), 1);
  float *scale = linear_floats((size_t)c, 2), *bias = linear_floats((size_t)c, 3);
  struct op_test t;
  op_begin(&t, "instance_norm");
  t.job.isa &= isa;
  linear_in(&t, dtype, 3, DIMS(n, pixels, c), x);
  linear_in(&t, dtype, 1, DIMS(c), scale);
  linear_in(&t, dtype, 1, DIMS(c), bias);
  op_out(&t, dtype, 3, DIMS(n, pixels, c));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (int64_t i = 0; i < n * c; i++)
      expect_group(&t, x, (size_t)(i / c * pixels * c + i % c), (size_t)pixels, (size_t)c, true,
                   scale, bias, 0, (size_t)(i % c));
  op_end(&t);
  free(x), free(scale), free(bias);
}

SMR_TEST(channels) {
  instance_case(1, 1, 1, SAMARA_FLOAT32, ~0u);
  instance_case(2, 35, 17, SAMARA_FLOAT32, ~0u);
  instance_case(2, 35, 130, SAMARA_FLOAT32, 0);
  instance_case(1, 4000, 130, SAMARA_FLOAT32, ~0u);
  instance_case(2, 12, 5, SAMARA_FLOAT16, ~0u);
}

SMR_TEST(lrn) {
  struct op_test t;
  const float x[5] = {1, 2, 3, 4, 5};
  op_begin(&t, "lrn");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(1, 5), x);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(1, 5));
  op_int(&t, "size", 4);  // one channel before, two after
  op_f32(&t, "alpha", 2);
  op_f32(&t, "beta", 0.5f);
  op_f32(&t, "bias", 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const double sums[5] = {14, 30, 54, 50, 41};
    for (int i = 0; i < 5; i++)
      CHECK_NEAR(linear_out(&t, (size_t)i), (double)x[i] / sqrt(1 + 0.5 * sums[i]), 1e-6);
  }
  op_end(&t);
}

// The definition, in the operator's own arithmetic.
static void expect_lrn(const struct op_test *t, const float *x, size_t pixels, size_t channels,
                       size_t size) {
  const size_t before = (size - 1) / 2, after = size - 1 - before;
  for (size_t i = 0; i < pixels * channels; i++) {
    const size_t c = i % channels, from = c > before ? c - before : 0;
    const size_t to = c + after < channels ? c + after : channels - 1;
    float sum = 0.0f;
    for (size_t k = i - c + from; k <= i - c + to; k++) sum += x[k] * x[k];
    const float y = x[i] / powf(1.0f + 0.5f / (float)size * sum, 0.75f);
    if (!CHECK_MEM((const char *)t->out[0].data + i * sizeof y, (const char *)&y, sizeof y)) return;
  }
}

SMR_TEST(a_tile_of_lrn_is_little_work) {
  static const struct {
    int64_t pixels, channels, size;
    size_t tiles;
  } cases[] = {
      {3, 100, 5, 3},                 // a pixel is one tile
      {2, 3000, 1001, 2 * 375},       // 8 channels of 1001 squares
      {1, 9000, 1 << 30, 9000},       // a channel each
      {2, 50, INT64_MAX / 2 + 1, 2},  // 50 squares of 50 channels
      {1, 1 << 22, 1, (1 << 22) / 8192},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const int64_t pixels = cases[i].pixels, channels = cases[i].channels;
    float *x = linear_floats((size_t)(pixels * channels), 7);
    struct op_test t;
    op_begin(&t, "lrn");
    op_in(&t, SAMARA_FLOAT32, 2, DIMS(pixels, channels), x);
    op_out(&t, SAMARA_FLOAT32, 2, DIMS(pixels, channels));
    op_int(&t, "size", cases[i].size);
    op_f32(&t, "alpha", 0.5f);
    op_f32(&t, "beta", 0.75f);
    op_f32(&t, "bias", 1);
    if (cases[i].channels < 9000) {
      if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
        expect_lrn(&t, x, (size_t)pixels, (size_t)channels, (size_t)cases[i].size);
    } else {
      CHECK_EQ_INT(op_test_plan(&t), SAMARA_OK);
    }
    CHECK_EQ_INT(t.job.tiles, cases[i].tiles);
    op_end(&t);
    free(x);
  }
}

SMR_TEST_MAIN(RUN(rows); RUN(channels); RUN(lrn); RUN(a_tile_of_lrn_is_little_work))
