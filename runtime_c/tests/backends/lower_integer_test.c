// SPDX-License-Identifier: Apache-2.0
// Launches against the CPU: int8, to the bit.
#include "base/fp.h"

#include "backends/one_node.h"
#include "harness.h"

static void output(struct one_tensor *y, float scale, int32_t zero) {
  one_number("scale", scale);
  one_int("zero_point", zero);
  if (y->dtype == Q8) {
    y->scale = scale;
    y->zero_point = zero;
  }
}

static void per_channel(struct one_tensor *w, int32_t axis, float *scales, int32_t *zeros) {
  for (int64_t i = 0; i < w->shape[axis]; i++) {
    scales[i] = 0.01f + 0.001f * (float)(i % 7);
    zeros[i] = (int32_t)(i % 5) - 2;
  }
  w->scales = scales;
  w->zero_points = zeros;
  w->quant_axis = axis;
}

static void qconv(const char *op, int64_t n, int64_t h, int64_t w, int64_t c, int64_t o, int64_t k,
                  int64_t stride, int64_t dilation, int64_t pad, int64_t groups, int packed,
                  int variant) {
  float scales[128];
  int32_t zeros[128];
  const int spread = strcmp(op, "qconv_transpose") == 0;
  const int64_t e = (k - 1) * dilation + 1;
  const int64_t oh = spread ? (h - 1) * stride + e - 2 * pad : (h + 2 * pad - e) / stride + 1;
  const int64_t ow = spread ? (w - 1) * stride + e - 2 * pad : (w + 2 * pad - e) / stride + 1;
  one_begin(op);
  one_quantized(one_input(Q8, DIMS(n, h, w, c)), 0.05f, variant ? -11 : 0);
  struct one_tensor *weights = one_quantized(one_input(Q8, DIMS(o, k, k, c / groups)), 0.02f, 0);
  if (variant) per_channel(weights, 0, scales, zeros);
  if (packed) one_pack(weights, (uint32_t)groups, false);
  if (variant) one_fill(one_input(SAMARA_INT32, DIMS(o)), -9000.0f, 9000.0f);
  struct one_tensor *y = one_output(variant == 2 ? SAMARA_INT32 : Q8, DIMS(n, oh, ow, o));
  one_ints("strides", LIST(stride, stride));
  one_ints("dilations", LIST(dilation, dilation));
  one_ints("pads", LIST(pad, pad, pad, pad));
  if (spread) one_ints("output_padding", LIST(0, 0));
  one_int("groups", groups);
  if (variant == 2)
    one_int("to", SAMARA_INT32);
  else
    output(y, 0.4f, 5);
  if (variant == 1) one_int("lo", 5);
  one_check(0);
}

SMR_TEST(qconv) {
  for (int packed = 0; packed < 2; packed++) {
    for (int variant = 0; variant < 3; variant++) {
      qconv("qconv", 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, packed, variant);
      qconv("qconv", 2, 5, 7, 3, 17, 1, 1, 1, 0, 1, packed, variant);
      qconv("qconv", 1, 8, 9, 3, 16, 3, 2, 1, 1, 1, packed, variant);
      qconv("qconv", 1, 7, 7, 34, 35, 3, 1, 1, 1, 1, packed, variant);
      qconv("qconv", 1, 4, 4, 300, 20, 2, 1, 1, 0, 1, packed, variant);
      qconv("qconv", 1, 6, 6, 8, 12, 3, 1, 2, 2, 4, packed, variant);
      qconv("qconv", 1, 7, 8, 33, 33, 3, 2, 1, 1, 33, packed, variant);
      qconv("qconv", 2, 6, 6, 16, 16, 5, 1, 1, 2, 16, packed, variant);
      if (packed) continue;
      qconv("qconv_transpose", 1, 5, 4, 6, 9, 3, 2, 1, 1, 3, 0, variant);
      qconv("qconv_transpose", 2, 3, 4, 5, 17, 2, 2, 1, 0, 1, 0, variant);
    }
  }
}

static void qmatmul(int32_t rank_x, const int64_t *x, int32_t rank_w, const int64_t *w,
                    int32_t rank_y, const int64_t *y, int turned, int packed, int variant) {
  float scales[128];
  int32_t zeros[128];
  one_begin("qmatmul");
  one_quantized(one_input(Q8, rank_x, x), 0.05f, 7);
  struct one_tensor *weights = one_quantized(one_input(Q8, rank_w, w), 0.02f, 0);
  if (variant) per_channel(weights, rank_w - (turned & 2 ? 2 : 1), scales, zeros);
  if (packed) one_pack(weights, 1, (turned & 2) == 0);
  if (variant) one_fill(one_input(SAMARA_INT32, DIMS(y[rank_y - 1])), -900.0f, 900.0f);
  struct one_tensor *result = one_output(variant == 2 ? SAMARA_INT32 : Q8, rank_y, y);
  one_int("transpose_x", turned & 1);
  one_int("transpose_w", turned >> 1);
  if (variant == 2)
    one_int("to", SAMARA_INT32);
  else
    output(result, 0.3f, -4);
  one_check(0);
}

SMR_TEST(qmatmul) {
  for (int variant = 0; variant < 3; variant++) {
    for (int packed = 0; packed < 2; packed++) {
      qmatmul(DIMS(7, 33), DIMS(33, 20), DIMS(7, 20), 0, packed, variant);
      qmatmul(DIMS(1, 600), DIMS(17, 600), DIMS(1, 17), 2, packed, variant);
      qmatmul(DIMS(9, 6), DIMS(9, 17), DIMS(6, 17), 1, packed, variant);
      qmatmul(DIMS(2, 3, 9), DIMS(9, 5), DIMS(2, 3, 5), 0, packed, variant);
    }
    qmatmul(DIMS(2, 3, 9), DIMS(2, 9, 5), DIMS(2, 3, 5), 0, 0, variant);
    qmatmul(DIMS(4, 9), DIMS(3, 17, 9), DIMS(3, 4, 17), 2, 0, variant);
  }
}

SMR_TEST(qbinary) {
  for (int add = 0; add < 2; add++) {
    for (int i = 0; i < 4; i++) {
      one_begin(add ? "qadd" : "qmul");
      struct one_tensor *y;
      if (i == 0) {
        one_quantized(one_input(Q8, DIMS(300)), 0.05f, 3);
        one_quantized(one_input(Q8, DIMS(300)), 0.02f, -20);
        y = one_output(Q8, DIMS(300));
      } else if (i == 1) {
        one_quantized(one_input(Q8, DIMS(3, 1, 5)), 0.05f, -128);
        one_quantized(one_input(Q8, DIMS(4, 5)), 0.02f, 127);
        y = one_output(Q8, DIMS(3, 4, 5));
      } else {
        one_quantized(one_input(Q8, DIMS(256)), 0.5f, 0);
        one_quantized(one_input(Q8, DIMS(256)), 0.5f, 0);
        y = one_output(Q8, DIMS(256));
      }
      if (add) {
        one_int("a_multiplier", i == 2 ? 1 << 19 : 500007);
        one_int("b_multiplier", i == 2 ? 1 << 19 : -200003);
        one_int("shift", i == 3 ? 22 : 20);
      }
      output(y, i == 2 ? 1.0f : 0.1f, i == 2 ? 0 : -9);
      if (i == 3) one_int("hi", 50);
      one_check(0);
    }
  }
}

SMR_TEST(qunary) {
  static const float values[] = {0.5f,      1.5f,  2.5f,   -0.5f,      NAN,    INFINITY,
                                 -INFINITY, 0.1f,  -12.7f, 12.75f,     1e-40f, -1e38f,
                                 0.15f,     0.25f, -0.35f, 0.45000002f};
  for (int i = 0; i < 4; i++) {
    const float scale = i == 0 ? 0.1f : i == 1 ? 0.05f : i == 2 ? 1.0f : 1.2e-38f;
    one_begin("quantize");
    struct one_tensor *x = one_input(i == 3 ? F32 : i % 2 ? F16 : F32, DIMS(2000));
    if (i % 2 == 0) {
      one_fill(x, -13.0f, 13.0f);
      memcpy(x->data, values, sizeof values);
    }
    if (i == 3) one_fill(x, -1e-37f, 1e-37f);
    struct one_tensor *y = one_output(Q8, DIMS(2000));
    y->scale = scale;
    y->zero_point = 5;
    one_scale("scales", scale);
    one_ints("zero_points", LIST(5));
    one_check(0);
  }
  one_begin("dequantize");
  one_quantized(one_input(Q8, DIMS(256)), 0.0371f, 9);
  one_output(F32, DIMS(256));
  one_check(0);
  one_begin("requantize");
  one_quantized(one_input(Q8, DIMS(256)), 0.05f, 9);
  struct one_tensor *y = one_output(Q8, DIMS(256));
  y->scale = 0.03f;
  y->zero_point = -3;
  one_scale("scales", 0.03f);
  one_ints("zero_points", LIST(-3));
  one_check(0);
  one_begin("reinterpret");
  one_input(SAMARA_UINT8, DIMS(77));
  y = one_output(Q8, DIMS(77));
  y->scale = 0.5f;
  y->zero_point = 1;
  one_int("to", Q8);
  one_scale("scales", 0.5f);
  one_ints("zero_points", LIST(1));
  one_check(0);
  one_begin("qlookup");
  one_quantized(one_input(Q8, DIMS(400)), 0.05f, 9);
  one_fill(one_input(SAMARA_INT8, DIMS(256)), -128.0f, 127.0f);
  y = one_output(Q8, DIMS(400));
  output(y, 0.1f, 3);
  one_check(0);
  for (int64_t axis = 0; axis < 3; axis++) {
    one_begin("qsoftmax");
    one_quantized(one_input(Q8, DIMS(3, 300, 4)), 0.05f, 3);
    struct one_tensor *table = one_input(SAMARA_UINT32, DIMS(256));
    for (int i = 0; i < 256; i++)
      ((uint32_t *)table->data)[i] = (uint32_t)lrint(exp(-0.05 * i) * 16777216.0);
    y = one_output(Q8, DIMS(3, 300, 4));
    y->scale = 1.0f / 256.0f;
    y->zero_point = -128;
    one_int("axis", axis);
    one_check(0);
  }
}

static void qnorm(bool centred, int32_t rank, const int64_t *shape, int64_t axis, float eps,
                  float spread, bool bias, int flat) {
  one_begin(centred ? "qlayer_norm" : "qrms_norm");
  struct one_tensor *x = one_input(Q8, rank, shape);
  one_quantized(x, 0.05f, 3);
  if (flat) memset(x->data, flat == 1 ? 3 : -128, x->size_bytes);
  one_fill(one_input(F32, rank - (int32_t)axis, shape + axis), -spread, spread);
  if (centred && bias) one_fill(one_input(F32, rank - (int32_t)axis, shape + axis), -9.0f, 9.0f);
  output(one_output(Q8, rank, shape), 0.06f, -7);
  one_int("axis", axis);
  one_number("eps", eps);
  if (bias) one_int("lo", -60);
  one_check(0);
}

SMR_TEST(qnorms) {
  static const float epsilons[] = {1e-5f, 0.37f, 1e-38f, 1e30f, 3e38f};
  for (int centred = 0; centred < 2; centred++) {
    for (int i = 0; i < 20; i++) {
      const int flat = i < 15 ? 0 : i % 3;
      qnorm(centred, DIMS(300, 17), 1, epsilons[i % 5], 40.0f * (float)(centred ? 1 : 4), i & 1,
            flat);
      qnorm(centred, DIMS(7, 3, 129), 1, epsilons[i % 5], 90.0f, i & 1, flat);
    }
    qnorm(centred, DIMS(3, 20000), 1, 1e-5f, 5000.0f, true, 0);
    qnorm(centred, DIMS(5), 0, 1e-5f, 30.0f, false, 0);
  }
}

static struct one_tensor *taps(int64_t out, int64_t size) {
  struct one_tensor *t = one_input(SAMARA_INT32, DIMS(out, 3));
  t->constant = true;
  for (int64_t i = 0; i < out; i++) {
    int32_t *tap = (int32_t *)t->data + 3 * i;
    tap[0] = (int32_t)(i * size / out);
    tap[1] = (int32_t)(tap[0] + 1 < size ? tap[0] + 1 : tap[0]);
    tap[2] = (int32_t)(i * 517 % 2049);
  }
  return t;
}

SMR_TEST(qresize) {
  one_begin("qresize");
  one_quantized(one_input(Q8, DIMS(2, 5, 6, 19)), 0.05f, 3);
  taps(9, 5);
  taps(4, 6);
  output(one_output(Q8, DIMS(2, 9, 4, 19)), 0.06f, -7);
  one_check(0);
  one_begin("qresize");
  one_quantized(one_input(Q8, DIMS(2, 5, 3)), 0.05f, 3);
  taps(11, 5);
  output(one_output(Q8, DIMS(2, 11, 3)), 0.05f, 3);
  one_check(0);
  one_begin("qresize");
  one_quantized(one_input(Q8, DIMS(2, 5, 3)), 0.05f, 3);
  taps(11, 6);
  output(one_output(Q8, DIMS(2, 11, 3)), 0.05f, 3);
  one_refused("out of range");
}

SMR_TEST_MAIN(RUN(qconv); RUN(qmatmul); RUN(qbinary); RUN(qunary); RUN(qnorms); RUN(qresize))
