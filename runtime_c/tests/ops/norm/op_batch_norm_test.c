// SPDX-License-Identifier: Apache-2.0
// batch_norm and batch_norm_grad against the definition, in phases cut anywhere.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static double out_at(const struct op_test *t, uint32_t output, size_t i) {
  const void *data = t->out[output].data;
  return t->out[output].dtype == SAMARA_FLOAT16
             ? (double)smr_f16_to_f32(((const uint16_t *)data)[i])
             : (double)((const float *)data)[i];
}

struct batch {
  size_t pixels, channels;
  float *x, *dy, *scale, *bias, *mean, *var;
};

static struct batch batch_make(size_t pixels, size_t c) {
  struct batch b = {.pixels = pixels, .channels = c};
  b.x = linear_floats(pixels * c, 1), b.dy = linear_floats(pixels * c, 2);
  b.scale = linear_floats(c, 3), b.bias = linear_floats(c, 4);
  b.mean = linear_floats(c, 5), b.var = linear_floats(c, 6);
  for (size_t j = 0; j < c; j++) {
    double mean = 0, var = 0;
    for (size_t p = 0; p < pixels; p++) mean += (double)b.x[p * c + j] / (double)pixels;
    for (size_t p = 0; p < pixels; p++)
      var += pow((double)b.x[p * c + j] - mean, 2) / (double)pixels;
    b.mean[j] = (float)mean, b.var[j] = (float)var;
  }
  return b;
}

static void batch_free(const struct batch *b) {
  free(b->x), free(b->dy), free(b->scale), free(b->bias), free(b->mean), free(b->var);
}

static void begin(struct op_test *t, const char *op, const struct batch *b, uint8_t dtype,
                  uint32_t isa) {
  op_begin(t, op);
  t->job.isa &= isa;
  op_f32(t, "eps", 0.01f);
  const int64_t *dims = DIMS((int64_t)b->pixels, (int64_t)b->channels);
  op_out(t, dtype, 2, dims);
  for (int i = 0; i < 2; i++) op_out(t, dtype, 1, dims + 1);
}

static void forward_case(size_t pixels, size_t c, int affine, uint8_t dtype, uint32_t isa) {
  const struct batch b = batch_make(pixels, c);
  const double tolerance = dtype == SAMARA_FLOAT16 ? 4e-3 : 4e-6;
  const int64_t *dims = DIMS((int64_t)pixels, (int64_t)c);
  struct op_test t;
  begin(&t, "batch_norm", &b, dtype, isa);
  linear_in(&t, dtype, 2, dims, b.x);
  if (affine & 1) linear_in(&t, dtype, 1, dims + 1, b.scale);
  if (affine == 2) op_absent(&t);
  if (affine & 2) linear_in(&t, dtype, 1, dims + 1, b.bias);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    for (size_t i = 0; i < pixels * c; i++) {
      const size_t j = i % c;
      double y = ((double)b.x[i] - (double)b.mean[j]) / sqrt((double)b.var[j] + 0.01);
      if (affine & 1) y *= (double)b.scale[j];
      if (affine & 2) y += (double)b.bias[j];
      if (!CHECK_NEAR(out_at(&t, 0, i), y, tolerance)) break;
    }
    for (size_t j = 0; j < c; j++) {
      CHECK_NEAR(out_at(&t, 1, j), (double)b.mean[j], tolerance / 4);
      CHECK_NEAR(out_at(&t, 2, j), (double)b.var[j], tolerance / 4);
    }
  }
  op_end(&t);
  batch_free(&b);
}

static void grad_case(size_t pixels, size_t c, int scaled, uint8_t dtype, uint32_t isa) {
  const struct batch b = batch_make(pixels, c);
  const double tolerance = dtype == SAMARA_FLOAT16 ? 2e-2 : 1e-5;
  const int64_t *dims = DIMS((int64_t)pixels, (int64_t)c);
  struct op_test t;
  begin(&t, "batch_norm_grad", &b, dtype, isa);
  linear_in(&t, dtype, 2, dims, b.dy);
  linear_in(&t, dtype, 2, dims, b.x);
  linear_in(&t, dtype, 1, dims + 1, b.mean);
  linear_in(&t, dtype, 1, dims + 1, b.var);
  if (scaled) linear_in(&t, dtype, 1, dims + 1, b.scale);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t j = 0; j < c; j++) {
      const double r = 1 / sqrt((double)b.var[j] + 0.01), g = scaled ? (double)b.scale[j] : 1;
      double sum = 0, product = 0;
      for (size_t i = j; i < pixels * c; i += c) {
        sum += (double)b.dy[i];
        product += (double)b.dy[i] * ((double)b.x[i] - (double)b.mean[j]) * r;
      }
      CHECK_NEAR(out_at(&t, 1, j), product, tolerance * (1 + fabs(product)));
      CHECK_NEAR(out_at(&t, 2, j), sum, tolerance * (1 + fabs(sum)));
      for (size_t i = j; i < pixels * c; i += c) {
        const double unit = ((double)b.x[i] - (double)b.mean[j]) * r;
        const double n = (double)pixels;
        const double dx = g * r * ((double)b.dy[i] - sum / n - unit * product / n);
        if (!CHECK_NEAR(out_at(&t, 0, i), dx, tolerance)) break;
      }
    }
  op_end(&t);
  batch_free(&b);
}

static const size_t sizes[][2] = {{1, 1}, {7, 3}, {33, 8}, {3000, 4}, {200, 130}, {70, 64}};

SMR_TEST(forward) {
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int affine = 0; affine < 4; affine++)
      forward_case(sizes[i][0], sizes[i][1], affine, SAMARA_FLOAT32, affine & 1 ? ~0u : 0);
  forward_case(40, 5, 3, SAMARA_FLOAT16, ~0u);
}

SMR_TEST(backward) {
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int scaled = 0; scaled < 2; scaled++) {
      grad_case(sizes[i][0], sizes[i][1], scaled, SAMARA_FLOAT32, ~0u);
      grad_case(sizes[i][0], sizes[i][1], scaled, SAMARA_FLOAT32, 0);
    }
  grad_case(40, 5, 1, SAMARA_FLOAT16, ~0u);
}

// No pixels: statistics and sums are 0; no channels: nothing.
SMR_TEST(empty) {
  static const float zeros[3] = {0};
  struct op_test t;
  op_begin(&t, "batch_norm");
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(0, 2, 3), NULL);
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(0, 2, 3));
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(3));
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(3));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    op_expect_f32(&t, 1, zeros, 3, 0);
    op_expect_f32(&t, 2, zeros, 3, 0);
  }
  op_end(&t);
  op_begin(&t, "batch_norm_grad");
  for (int i = 0; i < 2; i++) op_in(&t, SAMARA_FLOAT32, 2, DIMS(4, 0), NULL);
  for (int i = 0; i < 2; i++) op_in(&t, SAMARA_FLOAT32, 1, DIMS(0), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(4, 0));
  for (int i = 0; i < 2; i++) op_out(&t, SAMARA_FLOAT32, 1, DIMS(0));
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  CHECK_EQ_INT(t.tiles, 0);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(forward); RUN(backward); RUN(empty))
