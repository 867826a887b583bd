// SPDX-License-Identifier: Apache-2.0
// conv_dynamic: every path against the definition, image by image.
#include "base/fp.h"

#include "ops/algorithm.h"
#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

struct conv_case {
  int64_t n, size, channels, outputs, groups, kernel, stride, pad;
};

// Sum of products of output pixel (y, x), channel o, as the table's definition has it.
static int32_t summed(const struct conv_case *c, const int8_t *q, const int8_t *w, int64_t y,
                      int64_t x, int64_t o, int32_t zero) {
  const int64_t per = c->channels / c->groups, group = o / (c->outputs / c->groups);
  int32_t acc = 0;
  for (int64_t ky = 0; ky < c->kernel; ky++)
    for (int64_t kx = 0; kx < c->kernel; kx++)
      for (int64_t i = 0; i < per; i++) {
        const int64_t iy = y * c->stride + ky - c->pad, ix = x * c->stride + kx - c->pad;
        if (iy < 0 || iy >= c->size || ix < 0 || ix >= c->size) continue;
        acc += q[(iy * c->size + ix) * c->channels + group * per + i] *
               (w[((o * c->kernel + ky) * c->kernel + kx) * per + i] - zero);
      }
  return acc;
}

static void check_case(const struct conv_case *c, bool constant, bool shifted, uint32_t isa) {
  const int64_t out = (c->size + 2 * c->pad - c->kernel) / c->stride + 1;
  const size_t image = (size_t)(c->size * c->size * c->channels);
  const size_t wide = (size_t)(c->kernel * c->kernel * c->channels / c->groups);
  float *x = malloc((size_t)c->n * image * sizeof *x), *bias = malloc((size_t)c->outputs * 4);
  int8_t *w = malloc((size_t)c->outputs * wide), *q = malloc(image);
  float *scales = malloc((size_t)c->outputs * 4);
  int32_t *zeros = malloc((size_t)c->outputs * 4);
  for (size_t i = 0; i < (size_t)c->n * image; i++)
    x[i] = (float)((int)(i * 7919 % 2001) - 1000) * (i < image ? 0.001f : 3.7f);
  for (size_t i = 0; i < (size_t)c->outputs * wide; i++) w[i] = (int8_t)((int)(i * 53 % 256) - 128);
  for (int64_t i = 0; i < c->outputs; i++) {
    scales[i] = 0.01f + 0.002f * (float)(i % 5);
    zeros[i] = shifted ? (int32_t)(i % 9) - 4 : 0;
    bias[i] = (float)i;
  }
  struct op_test t;
  op_begin(&t, "conv_dynamic");
  t.job.isa &= isa;
  op_in(&t, SAMARA_FLOAT32, 4, DIMS(c->n, c->size, c->size, c->channels), x);
  const int64_t *dims = DIMS(c->outputs, c->kernel, c->kernel, c->channels / c->groups);
  struct smr_tensor *in =
      constant ? op_constant(&t, SAMARA_QINT8, 4, dims, w) : op_in(&t, SAMARA_QINT8, 4, dims, w);
  op_quant(&t, in, (uint32_t)c->outputs, scales, zeros, 0);
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(c->outputs), bias);
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(c->n, out, out, c->outputs));
  op_ints(&t, "strides", 2, DIMS(c->stride, c->stride));
  op_ints(&t, "dilations", 2, DIMS(1, 1));
  op_ints(&t, "pads", 4, DIMS(c->pad, c->pad, c->pad, c->pad));
  op_int(&t, "groups", c->groups);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const float *got = t.out[0].data;
    for (int64_t n = 0; n < c->n; n++) {
      const float *from = x + (size_t)n * image;
      float peak = 0;
      for (size_t i = 0; i < image; i++) peak = fabsf(from[i]) > peak ? fabsf(from[i]) : peak;
      const float inv = 127.0f / peak;
      for (size_t i = 0; i < image; i++)
        q[i] = (int8_t)lrintf(fminf(fmaxf(from[i] * inv, -127), 127));
      for (int64_t i = 0; i < out * out * c->outputs; i++) {
        const int64_t o = i % c->outputs, at = i / c->outputs;
        const int32_t acc = summed(c, q, w, at / out, at % out, o, zeros[o]);
        const float m = peak / 127.0f * scales[o], product = (float)acc * m;
        CHECK(got[n * out * out * c->outputs + i] == product + bias[o]);
      }
    }
  }
  op_end(&t);
  free(x);
  free(bias);
  free(w);
  free(q);
  free(scales);
  free(zeros);
}

SMR_TEST(every_path) {
  static const struct conv_case cases[] = {
      {2, 5, 8, 17, 1, 1, 1, 0},    {2, 6, 4, 20, 1, 3, 1, 1}, {1, 7, 3, 16, 1, 3, 2, 1},
      {2, 5, 8, 12, 2, 3, 1, 1},    {1, 5, 6, 9, 3, 2, 1, 0},  {2, 6, 19, 19, 19, 3, 1, 1},
      {1, 30, 12, 100, 1, 3, 1, 1}, {3, 9, 8, 40, 2, 1, 1, 0}, {1, 21, 3, 16, 1, 7, 2, 3},
      {2, 7, 68, 24, 1, 3, 2, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int form = 0; form < 4; form++) {
      check_case(&cases[i], form & 1, form >> 1, UINT32_MAX);
      if (form != 1) check_case(&cases[i], form & 1, form >> 1, SMR_ISA_NONE);
    }
}

// 1x1 without padding is a product of rows, unless a resize may bring padding.
SMR_TEST(what_symbolic_dims_keep) {
  static const int8_t w[8 * 4] = {0};
  static const float x[6 * 6 * 4] = {0};
  for (int pads_vary = 0; pads_vary < 2; pads_vary++) {
    struct op_test t;
    struct smr_parts parts = {{0}};
    op_begin(&t, "conv_dynamic");
    op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 6, 6, 4), x);
    struct smr_tensor *weights = op_constant(&t, SAMARA_QINT8, 4, DIMS(8, 1, 1, 4), w);
    op_quant(&t, weights, 1, (const float[]){0.5f}, (const int32_t[]){0}, -1);
    op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 6, 6, 8));
    op_ints(&t, "strides", 2, DIMS(1, 1));
    op_ints(&t, "dilations", 2, DIMS(1, 1));
    op_ints(&t, "pads", 4, DIMS(0, 0, 0, 0));
    op_test_show(&t, false);
    t.job.dims_vary = true;
    t.job.parts = &parts;
    op_test_attr(&t, "pads")->varies = pads_vary;
    CHECK_EQ_INT(smr_op_prepare(&t.job), SAMARA_OK);
    CHECK_STR(t.job.algorithm->name, "point");
    CHECK_EQ_INT(smr_parts_have(&parts, SMR_PART_i8_gemm_windows), pads_vary);
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(what_symbolic_dims_keep); RUN(every_path))
