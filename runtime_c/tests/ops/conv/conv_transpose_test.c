// SPDX-License-Identifier: Apache-2.0
// Which algorithm computes a transposed convolution, and that operators with an epilogue take all
// of them.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "ops/matmul/linear_data.h"

struct conv_transpose_case {
  int64_t c, o, groups, k, stride, pad;
  uint8_t dtype;
  const char *algorithm;
};

static const struct conv_transpose_case cases[] = {
    {5, 20, 1, 1, 1, 0, SAMARA_FLOAT32, "point"},
    {6, 9, 3, 1, 1, 0, SAMARA_FLOAT32, "point"},
    {5, 20, 1, 3, 1, 1, SAMARA_FLOAT32, "indirect"},
    {5, 20, 1, 3, 1, 1, SAMARA_FLOAT16, "indirect"},
    {5, 20, 1, 1, 1, 1, SAMARA_FLOAT32, "indirect"},
    {5, 20, 1, 3, 2, 1, SAMARA_FLOAT32, "phases"},
    {6, 6, 6, 3, 1, 1, SAMARA_FLOAT32, "depthwise"},
    {6, 6, 6, 3, 2, 1, SAMARA_FLOAT32, "depthwise"},
    {6, 6, 6, 3, 3, 2, SAMARA_FLOAT32, "depthwise"},
    {6, 6, 6, 2, 3, 0, SAMARA_FLOAT32, "depthwise_phases"},
    {6, 6, 6, 3, 1, 1, SAMARA_FLOAT16, "indirect"},
};

// conv_transpose with everything, in images of 4 by 5: post(clamp(sum + bias + residual)).
static void run_case(const struct conv_transpose_case *c, bool constant) {
  const int64_t h = 3 * c->stride + c->k - 2 * c->pad, w = 4 * c->stride + c->k - 2 * c->pad;
  const int64_t x_dims[] = {2, 4, 5, c->c}, w_dims[] = {c->o, c->k, c->k, c->c / c->groups};
  const int64_t y_dims[] = {2, h, w, c->o}, depth = c->c / c->groups, each = c->o / c->groups;
  float *x = linear_floats(linear_count(x_dims, 4), 1),
        *k = linear_floats(linear_count(w_dims, 4), 2);
  float *bias = linear_floats((size_t)c->o, 3), *more = linear_floats(linear_count(y_dims, 4), 4);
  struct op_test t;
  op_begin(&t, "conv_transpose");
  linear_in(&t, c->dtype, 4, x_dims, x);
  linear_in(&t, c->dtype, 4, w_dims, k)->constant = constant ? 1 : -1;
  linear_in(&t, c->dtype, 1, &c->o, bias)->constant = constant ? 2 : -1;
  linear_in(&t, c->dtype, 4, y_dims, more);
  op_out(&t, c->dtype, 4, y_dims);
  op_ints(&t, "strides", 2, (const int64_t[]){c->stride, c->stride});
  op_ints(&t, "dilations", 2, (const int64_t[]){1, 1});
  op_ints(&t, "pads", 4, (const int64_t[]){c->pad, c->pad, c->pad, c->pad});
  op_ints(&t, "output_padding", 2, (const int64_t[]){0, 0});
  op_int(&t, "groups", c->groups);
  op_f32(&t, "lo", -0.5f);
  op_enum(&t, "post", "tanh");
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    CHECK_STR(t.job.algorithm->name, c->algorithm);
    const double tolerance = c->dtype == SAMARA_FLOAT16 ? 4e-3 : 1e-5;
    for (int64_t i = 0; i < 2 * h * w * c->o; i++) {
      const int64_t o = i % c->o, px = i / c->o % w, py = i / c->o / w % h, b = i / c->o / w / h;
      double v = (double)bias[o] + (double)more[i];
      for (int64_t tap = 0; tap < c->k * c->k; tap++) {
        const int64_t sy = py + c->pad - tap / c->k, sx = px + c->pad - tap % c->k;
        if (sy < 0 || sx < 0 || sy % c->stride || sx % c->stride) continue;
        if (sy / c->stride >= 4 || sx / c->stride >= 5) continue;
        for (int64_t j = 0; j < depth; j++)
          v +=
              (double)
                  x[((b * 4 + sy / c->stride) * 5 + sx / c->stride) * c->c + o / each * depth + j] *
              (double)k[(o * c->k * c->k + tap) * depth + j];
      }
      if (!CHECK_NEAR(linear_out(&t, (size_t)i), tanh(v > -0.5 ? v : -0.5), tolerance)) break;
    }
  } else {
    fprintf(stderr, "%s\n", t.error.text);
  }
  op_end(&t);
  free(x), free(k), free(bias), free(more);
}

SMR_TEST(every_path) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int constant = 0; constant < 2; constant++) run_case(&cases[i], constant);
}

SMR_TEST_MAIN(RUN(every_path))
