// SPDX-License-Identifier: Apache-2.0
// Launches of int8 operators other than products, against the CPU to the bit.
#include "base/fp.h"

#include "backends/one_node.h"
#include "harness.h"

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
      one_requantized(y, i == 2 ? 1.0f : 0.1f, i == 2 ? 0 : -9);
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
  one_requantized(y, 0.1f, 3);
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
  one_requantized(one_output(Q8, rank, shape), 0.06f, -7);
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
  one_requantized(one_output(Q8, DIMS(2, 9, 4, 19)), 0.06f, -7);
  one_check(0);
  one_begin("qresize");
  one_quantized(one_input(Q8, DIMS(2, 5, 3)), 0.05f, 3);
  taps(11, 5);
  one_requantized(one_output(Q8, DIMS(2, 11, 3)), 0.05f, 3);
  one_check(0);
  one_begin("qresize");
  one_quantized(one_input(Q8, DIMS(2, 5, 3)), 0.05f, 3);
  taps(11, 6);
  one_requantized(one_output(Q8, DIMS(2, 11, 3)), 0.05f, 3);
  one_refused("out of range");
}

SMR_TEST_MAIN(RUN(qbinary); RUN(qunary); RUN(qnorms); RUN(qresize))
