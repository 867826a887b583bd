// SPDX-License-Identifier: Apache-2.0
// Gradients of pools against the definition, and where the largest elements lie.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

struct pool_case {
  int64_t n, h, w, c, k, stride, dilation, pad, extend;
};

static const struct pool_case cases[] = {
    {1, 1, 1, 1, 1, 1, 1, 0, 0},    {2, 6, 8, 16, 2, 2, 1, 0, 0},   {2, 7, 9, 17, 3, 2, 1, 1, 0},
    {1, 8, 8, 5, 3, 1, 2, 1, 0},    {1, 9, 7, 3, 2, 3, 1, 0, 0},    {1, 4, 4, 2, 2, 1, 1, 2, 0},
    {1, 300, 5, 40, 3, 2, 1, 1, 0},  // several bands
    {1, 6, 7, 4, 3, 2, 1, 1, 1},    {1, 5, 5, 1100, 2, 1, 1, 0, 0},
};

static int64_t pooled(const struct pool_case *c, int64_t in) {
  return (in + 2 * c->pad + c->extend - (c->k - 1) * c->dilation - 1) / c->stride + 1;
}

static void pool_attrs(struct op_test *t, const struct pool_case *c) {
  op_ints(t, "kernel", 2, DIMS(c->k, c->k));
  op_ints(t, "strides", 2, DIMS(c->stride, c->stride));
  op_ints(t, "dilations", 2, DIMS(c->dilation, c->dilation));
  op_ints(t, "pads", 4, DIMS(c->pad, c->pad, c->pad, c->pad));
}

// The pixel under tap (ky, kx) of output (py, px): -1 outside; *padded says whether within pads.
static int64_t pixel_of(const struct pool_case *c, int64_t p, int64_t width, int64_t tap,
                        bool *padded) {
  const int64_t y = p / width * c->stride - c->pad + tap / c->k * c->dilation;
  const int64_t x = p % width * c->stride - c->pad + tap % c->k * c->dilation;
  *padded = y < c->h + c->pad && x < c->w + c->pad;
  return y >= 0 && y < c->h && x >= 0 && x < c->w ? y * c->w + x : -1;
}

static void run_max(const struct pool_case *c, bool halves) {
  const int64_t oh = pooled(c, c->h), ow = pooled(c, c->w), plane = c->h * c->w * c->c;
  const int64_t x_dims[] = {c->n, c->h, c->w, c->c}, y_dims[] = {c->n, oh, ow, c->c};
  const size_t xn = linear_count(x_dims, 4), yn = linear_count(y_dims, 4);
  float *x = linear_floats(xn, 7), *dy = linear_floats(yn, 8);
  for (size_t i = 0; i < xn; i++) x[i] = rintf(x[i] * 4);  // ties
  double *want = calloc(xn, sizeof *want);
  int64_t *places = malloc(yn * sizeof *places);
  for (size_t i = 0; i < yn; i++) {
    const int64_t ch = (int64_t)i % c->c, p = (int64_t)i / c->c % (oh * ow);
    const int64_t b = (int64_t)i / c->c / (oh * ow);
    places[i] = -1;
    for (int64_t tap = 0; tap < c->k * c->k; tap++) {
      bool padded;
      const int64_t at = pixel_of(c, p, ow, tap, &padded);
      if (at >= 0 &&
          (places[i] < 0 || x[b * plane + at * c->c + ch] > x[b * plane + places[i] * c->c + ch]))
        places[i] = at;
    }
    if (places[i] >= 0) want[b * plane + places[i] * c->c + ch] += (double)dy[i];
  }
  const uint8_t dtype = halves ? SAMARA_FLOAT16 : SAMARA_FLOAT32;
  struct op_test t;
  op_begin(&t, "max_pool_grad");
  linear_in(&t, dtype, 4, y_dims, dy);
  linear_in(&t, dtype, 4, x_dims, x);
  op_out(&t, dtype, 4, x_dims);
  pool_attrs(&t, c);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < xn; i++)
      if (!CHECK_NEAR(linear_out(&t, i), want[i], halves ? 4e-3 : 2e-6)) break;
  op_end(&t);
  op_begin(&t, "max_pool_indices");
  linear_in(&t, dtype, 4, x_dims, x);
  op_out(&t, SAMARA_INT64, 4, y_dims);
  pool_attrs(&t, c);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, places, yn * sizeof *places);
  op_end(&t);
  free(x), free(dy), free(want), free(places);
}

static void run_avg(const struct pool_case *c, bool include) {
  const int64_t oh = pooled(c, c->h), ow = pooled(c, c->w);
  const int64_t x_dims[] = {c->n, c->h, c->w, c->c}, y_dims[] = {c->n, oh, ow, c->c};
  const size_t xn = linear_count(x_dims, 4), yn = linear_count(y_dims, 4);
  float *dy = linear_floats(yn, 9);
  double *want = calloc(xn, sizeof *want);
  for (size_t i = 0; i < yn; i++) {
    const int64_t ch = (int64_t)i % c->c, p = (int64_t)i / c->c % (oh * ow);
    const int64_t b = (int64_t)i / c->c / (oh * ow);
    double count = 0;
    for (int pass = 0; pass < 2; pass++)
      for (int64_t tap = 0; tap < c->k * c->k; tap++) {
        bool padded;
        const int64_t at = pixel_of(c, p, ow, tap, &padded);
        if (pass == 0) count += include ? padded : at >= 0;
        if (pass == 1 && at >= 0) want[(b * c->h * c->w + at) * c->c + ch] += (double)dy[i] / count;
      }
  }
  struct op_test t;
  op_begin(&t, "avg_pool_grad");
  linear_in(&t, SAMARA_FLOAT32, 4, y_dims, dy);
  op_out(&t, SAMARA_FLOAT32, 4, x_dims);
  pool_attrs(&t, c);
  op_ints(&t, "extend", 2, DIMS(c->extend, c->extend));
  op_ints(&t, "size", 2, DIMS(c->h, c->w));
  op_int(&t, "count_include_pad", include);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < xn; i++)
      if (!CHECK_NEAR(linear_out(&t, i), want[i], 2e-6)) break;
  op_end(&t);
  free(dy), free(want);
}

SMR_TEST(against_the_definition) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (cases[i].extend == 0) run_max(&cases[i], false);
    if (cases[i].extend == 0) run_max(&cases[i], true);
    run_avg(&cases[i], false);
    run_avg(&cases[i], true);
  }
}

// As large as numbers in a file get: the window meets one element, nothing overflows.
SMR_TEST(huge_windows) {
  for (int avg = 0; avg < 2; avg++) {
    struct op_test t;
    op_begin(&t, avg ? "avg_pool_grad" : "max_pool_grad");
    op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 1), (const float[]){3});
    if (!avg) op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 1), (const float[]){5});
    op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 1));
    op_ints(&t, "kernel", 1, DIMS(INT32_MAX));
    op_ints(&t, "strides", 1, DIMS(INT32_MAX));
    op_ints(&t, "dilations", 1, DIMS(1));
    op_ints(&t, "pads", 2, DIMS(0, INT32_MAX - 1));
    if (avg) op_ints(&t, "extend", 1, DIMS(0));
    if (avg) op_ints(&t, "size", 1, DIMS(1));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){3}, 1, 0);
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(against_the_definition); RUN(huge_windows))
