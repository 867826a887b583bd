// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of one input: known answers, dtypes, tiles, in place.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

SMR_TEST(known_answers) {
  const float x[4] = {-1.5f, 0.0f, 0.5f, 2.0f};
  static const struct {
    const char *op;
    float y[4];
  } cases[] = {{"neg", {1.5f, 0, -0.5f, -2}},
               {"abs", {1.5f, 0, 0.5f, 2}},
               {"sign", {-1, 0, 1, 1}},
               {"ceil", {-1, 0, 1, 2}},
               {"floor", {-2, 0, 0, 2}},
               {"round", {-2, 0, 0, 2}},
               {"exp", {0.22313016f, 1, 1.6487213f, 7.3890561f}},
               {"sin", {-0.99749499f, 0, 0.47942554f, 0.90929743f}},
               {"cos", {0.070737202f, 1, 0.87758256f, -0.41614684f}},
               {"atan", {-0.98279372f, 0, 0.46364761f, 1.1071487f}},
               {"sinh", {-2.1292794f, 0, 0.52109531f, 3.6268604f}},
               {"tanh", {-0.90514825f, 0, 0.46211716f, 0.96402758f}},
               {"erf", {-0.96610515f, 0, 0.52049988f, 0.99532227f}},
               {"sigmoid", {0.18242552f, 0.5f, 0.62245933f, 0.88079708f}},
               {"relu", {0, 0, 0.5f, 2}},
               {"leaky_relu", {-0.015f, 0, 0.5f, 2}},
               {"elu", {-0.77686984f, 0, 0.5f, 2}},
               {"softplus", {0.20141328f, 0.69314718f, 0.97407698f, 2.126928f}},
               {"gelu", {-0.10021080f, 0, 0.34573123f, 1.9544997f}},
               {"hard_sigmoid", {0.2f, 0.5f, 0.6f, 0.9f}},
               {"hard_swish", {-0.375f, 0, 0.29166667f, 1.6666667f}},
               {"silu", {-0.27363828f, 0, 0.31122967f, 1.7615942f}},
               {"clamp", {-1.5f, 0, 0.5f, 2}},
               {"identity", {-1.5f, 0, 0.5f, 2}}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct op_test t;
    op_begin(&t, cases[i].op);
    op_in(&t, SAMARA_FLOAT32, 1, DIMS(4), x);
    op_out(&t, SAMARA_FLOAT32, 1, DIMS(4));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, cases[i].y, 4, 3e-7);
    op_end(&t);
  }
}

SMR_TEST(attributes) {
  struct op_test t;
  const float x[3] = {-2, 0.25f, 5};
  op_begin(&t, "clamp");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(3), x);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(3));
  op_f32(&t, "lo", -1);
  op_f32(&t, "hi", 4);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){-1, 0.25f, 4}, 3, 0);
  op_end(&t);
  op_begin(&t, "gelu");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(3), x);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(3));
  op_enum(&t, "approximate", "tanh");
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){-0.045402306f, 0.14967536f, 4.9999998f}, 3, 5e-7);
  op_end(&t);
}

SMR_TEST(integers_wrap) {
  struct op_test t;
  const int8_t x[4] = {-128, -1, 0, 127};
  static const struct {
    const char *op;
    int8_t y[4];
  } cases[] = {{"neg", {-128, 1, 0, -127}},
               {"abs", {-128, 1, 0, 127}},
               {"sign", {-1, -1, 0, 1}},
               {"relu", {0, 0, 0, 127}},
               {"bitwise_not", {127, 0, -1, -128}}};
  for (size_t i = 0; i < 5; i++) {
    op_begin(&t, cases[i].op);
    op_in(&t, SAMARA_INT8, 1, DIMS(4), x);
    op_out(&t, SAMARA_INT8, 1, DIMS(4));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, cases[i].y, 4);
    op_end(&t);
  }
  const int64_t wide[2] = {INT64_MIN, 5}, negated[2] = {INT64_MIN, -5};
  op_begin(&t, "neg");
  op_in(&t, SAMARA_INT64, 1, DIMS(2), wide);
  op_out(&t, SAMARA_INT64, 1, DIMS(2));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, negated, sizeof negated);
  op_end(&t);
}

SMR_TEST(predicates) {
  const float x[5] = {NAN, INFINITY, -INFINITY, 0, 3e38f};
  static const struct {
    const char *op;
    int negative, positive;
    uint8_t y[5];
  } cases[] = {{"isnan", 1, 1, {1, 0, 0, 0, 0}},
               {"isinf", 1, 1, {0, 1, 1, 0, 0}},
               {"isinf", 0, 1, {0, 1, 0, 0, 0}},
               {"isinf", 1, 0, {0, 0, 1, 0, 0}},
               {"isinf", 0, 0, {0, 0, 0, 0, 0}}};
  for (size_t i = 0; i < 5; i++) {
    struct op_test t;
    op_begin(&t, cases[i].op);
    op_in(&t, SAMARA_FLOAT32, 1, DIMS(5), x);
    op_out(&t, SAMARA_BOOL, 1, DIMS(5));
    if (i > 0) {
      op_int(&t, "negative", cases[i].negative);
      op_int(&t, "positive", cases[i].positive);
    }
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, cases[i].y, 5);
    op_end(&t);
  }
}

// More than one tile, and float16 in more than one chunk; in place gives the same.
SMR_TEST(many_elements) {
  enum { N = 3 * 8192 + 5 };
  static float x[N];
  static uint16_t half[N];
  for (int i = 0; i < N; i++) {
    x[i] = (float)(i % 1000) / 250.0f - 2.0f;
    half[i] = smr_f32_to_f16(x[i]);
  }
  struct op_test t;
  op_begin(&t, "tanh");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(N, 1), x);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(N, 1));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    CHECK_EQ_INT(t.tiles, 4);
    const float *y = (const float *)t.out[0].data;
    for (int i = 0; i < N; i++) CHECK_NEAR(y[i], tanh((double)x[i]), 3e-7);
    float *copy = malloc(sizeof x);
    memcpy(copy, y, sizeof x);
    op_test_free_outputs(&t);
    t.in_place = true;
    CHECK_EQ_INT(op_test_once(&t, 0), SAMARA_OK);
    CHECK_MEM((const char *)t.out[0].data, (const char *)copy, sizeof x);
    free(copy);
  }
  op_end(&t);
  op_begin(&t, "tanh");
  op_in(&t, SAMARA_FLOAT16, 1, DIMS(N), half);
  op_out(&t, SAMARA_FLOAT16, 1, DIMS(N));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const uint16_t *y = (const uint16_t *)t.out[0].data;
    for (int i = 0; i < N; i++)
      CHECK_NEAR(smr_f16_to_f32(y[i]), tanh((double)smr_f16_to_f32(half[i])), 5e-4);
  }
  op_end(&t);
}

static samara_status bitcast_status(uint8_t from, uint8_t to, int64_t attr) {
  const uint64_t x[2] = {0x3ff0000000000000u, 1};
  struct op_test t;
  op_begin(&t, "bitcast");
  op_in(&t, from, 1, DIMS(2), x);
  op_out(&t, to, 1, DIMS(2));
  op_int(&t, "to", attr);
  const samara_status status = op_run(&t);
  if (status == SAMARA_OK) op_expect_bytes(&t, 0, x, t.out[0].size_bytes);
  op_end(&t);
  return status;
}

SMR_TEST(bits) {
  CHECK_EQ_INT(bitcast_status(SAMARA_INT64, SAMARA_FLOAT64, SAMARA_FLOAT64), SAMARA_OK);
  CHECK_EQ_INT(bitcast_status(SAMARA_UINT16, SAMARA_FLOAT16, SAMARA_FLOAT16), SAMARA_OK);
  CHECK_EQ_INT(bitcast_status(SAMARA_INT64, SAMARA_FLOAT32, SAMARA_FLOAT32), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT(bitcast_status(SAMARA_INT64, SAMARA_FLOAT64, SAMARA_UINT64), SAMARA_BAD_SHAPE);
}

SMR_TEST(doubles) {
  const double x[4] = {-1.5, 0, 0.5, NAN};
  const uint8_t nan[4] = {0, 0, 0, 1};
  struct op_test t;
  op_begin(&t, "isnan");
  op_in(&t, SAMARA_FLOAT64, 1, DIMS(4), x);
  op_out(&t, SAMARA_BOOL, 1, DIMS(4));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, nan, 4);
  op_end(&t);
  op_begin(&t, "abs");
  op_in(&t, SAMARA_FLOAT64, 1, DIMS(3), x);
  op_out(&t, SAMARA_FLOAT64, 1, DIMS(3));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_bytes(&t, 0, (const double[]){1.5, 0, 0.5}, 3 * sizeof(double));
  op_end(&t);
}

SMR_TEST(nothing) {
  struct op_test t;
  op_begin(&t, "exp");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(3, 0), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(3, 0));
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  CHECK_EQ_INT(t.tiles, 0);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(known_answers); RUN(attributes); RUN(integers_wrap); RUN(predicates);
              RUN(many_elements); RUN(bits); RUN(doubles); RUN(nothing))
