// SPDX-License-Identifier: Apache-2.0
// sgd, adam and rmsprop: first steps, work in place, and what is refused.
#include "base/fp.h"

#include "ops/op_harness.h"

#include <math.h>

enum { N = 20000 };  // several tiles

static const int64_t dims[] = {N};
static float p[N], g[N], state[N];

static void fill(void) {
  for (size_t i = 0; i < N; i++) {
    p[i] = (float)(i % 17) - 8.0f;
    g[i] = (float)(i % 13) * 0.25f - 1.5f;
    state[i] = (float)(i % 5) * 0.5f;
  }
}

static void scalar(struct op_test *t, float value) { op_in(t, SAMARA_FLOAT32, 0, NULL, &value); }

static void sgd_begin(struct op_test *t, bool buffer) {
  op_begin(t, "sgd");
  op_in(t, SAMARA_FLOAT32, 1, dims, p);
  op_in(t, SAMARA_FLOAT32, 1, dims, g);
  scalar(t, 0.5f);
  if (buffer) op_in(t, SAMARA_FLOAT32, 1, dims, state);
  op_out(t, SAMARA_FLOAT32, 1, dims);
  if (buffer) op_out(t, SAMARA_FLOAT32, 1, dims);
}

SMR_TEST(sgd_steps) {
  fill();
  struct op_test t;
  sgd_begin(&t, false);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    CHECK(t.tiles > 1);
    for (size_t i = 0; i < N; i++) CHECK(((float *)t.out[0].data)[i] == p[i] - 0.5f * g[i]);
  }
  op_end(&t);
}

// The first step takes the gradient for the buffer; later ones are dampened.
SMR_TEST(sgd_dampens_from_the_second_step_on) {
  fill();
  for (int step = 1; step <= 2; step++) {
    struct op_test t;
    sgd_begin(&t, true);
    scalar(&t, (float)step);
    op_f32(&t, "momentum", 0.5f);
    op_f32(&t, "dampening", 0.25f);
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
      for (size_t i = 0; i < N; i++) {
        const float want = step == 1 ? g[i] : 0.5f * state[i] + 0.75f * g[i];
        CHECK(((float *)t.out[1].data)[i] == want);
        CHECK(((float *)t.out[0].data)[i] == p[i] - 0.5f * want);
      }
    op_end(&t);
  }
}

SMR_TEST(adam_corrects_its_bias) {
  fill();
  struct op_test t;
  op_begin(&t, "adam");
  op_in(&t, SAMARA_FLOAT32, 1, dims, p);
  op_in(&t, SAMARA_FLOAT32, 1, dims, g);
  op_in(&t, SAMARA_FLOAT32, 1, dims, NULL);
  op_in(&t, SAMARA_FLOAT32, 1, dims, NULL);
  scalar(&t, 0.125f);
  scalar(&t, 1.0f);
  op_f32(&t, "weight_decay", 0.5f);
  op_int(&t, "decoupled", 1);
  for (int i = 0; i < 3; i++) op_out(&t, SAMARA_FLOAT32, 1, dims);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < N; i++) {
      // The first step is as long as the learning rate, whatever the gradient.
      const float move = g[i] > 0 ? 0.125f : g[i] < 0 ? -0.125f : 0;
      CHECK_NEAR(((float *)t.out[0].data)[i], p[i] * 0.9375f - move, 1e-6);
      CHECK_NEAR(((float *)t.out[1].data)[i], 0.1f * g[i], 1e-7);
      CHECK_NEAR(((float *)t.out[2].data)[i], 0.001f * g[i] * g[i], 1e-7);
    }
  op_end(&t);
}

static void rmsprop_begin(struct op_test *t, bool centered, bool moves) {
  op_begin(t, "rmsprop");
  op_in(t, SAMARA_FLOAT32, 1, dims, p);
  op_in(t, SAMARA_FLOAT32, 1, dims, g);
  op_in(t, SAMARA_FLOAT32, 1, dims, NULL);
  scalar(t, 0.125f);
  if (centered)
    op_in(t, SAMARA_FLOAT32, 1, dims, NULL);
  else
    op_absent(t);
  if (moves) op_in(t, SAMARA_FLOAT32, 1, dims, state);
  op_int(t, "centered", centered);
  op_f32(t, "momentum", moves ? 0.5f : 0.0f);
  for (int i = 0; i < 2 + centered + moves; i++) op_out(t, SAMARA_FLOAT32, 1, dims);
}

SMR_TEST(rmsprop_keeps_its_states_in_order) {
  fill();
  for (int kind = 0; kind < 4; kind++) {
    const bool centered = kind & 1, moves = kind & 2;
    struct op_test t;
    rmsprop_begin(&t, centered, moves);
    op_f32(&t, "alpha", 0.75f);
    op_f32(&t, "epsilon", 1.0f);
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
      for (size_t i = 0; i < N; i++) {
        const double square = 0.25 * (double)(g[i] * g[i]), mean = 0.25 * (double)g[i];
        double q = (double)g[i] / (sqrt(centered ? square - mean * mean : square) + 1);
        CHECK_NEAR(((float *)t.out[1].data)[i], square, 1e-6);
        if (centered) CHECK_NEAR(((float *)t.out[2].data)[i], mean, 1e-6);
        if (moves) {
          q += 0.5 * (double)state[i];
          CHECK_NEAR(((float *)t.out[centered ? 3 : 2].data)[i], q, 1e-6);
        }
        CHECK_NEAR(((float *)t.out[0].data)[i], (double)p[i] - 0.125 * q, 2e-6);
      }
    op_end(&t);
  }
}

SMR_TEST(refused) {
  fill();
  struct op_test t;
  sgd_begin(&t, true);  // a buffer, but no momentum
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  sgd_begin(&t, false);
  op_f32(&t, "momentum", 0.5f);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  sgd_begin(&t, false);
  op_out(&t, SAMARA_FLOAT32, 1, dims);  // one output too many
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  sgd_begin(&t, false);
  t.in[1].dims[0] = N - 1;
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  sgd_begin(&t, false);
  t.in[2].dtype = SAMARA_INT32;  // a learning rate of integers
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  rmsprop_begin(&t, false, true);
  op_int(&t, "centered", 1);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(sgd_steps), RUN(sgd_dampens_from_the_second_step_on), RUN(adam_corrects_its_bias),
              RUN(rmsprop_keeps_its_states_in_order), RUN(refused))
