// SPDX-License-Identifier: Apache-2.0
// sgd and rmsprop: what they refuse. Results: tests/ops/test_tiles.py.
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

SMR_TEST(refused) {
  fill();
  struct op_test t;
  sgd_begin(&t, true);  // a buffer, but no momentum
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  sgd_begin(&t, false);
  op_f32(&t, "momentum", 0.5f);
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  sgd_begin(&t, false);
  op_out(&t, SAMARA_FLOAT32, 1, dims);  // one output too many
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  sgd_begin(&t, false);
  t.in[1].dims[0] = N - 1;
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  sgd_begin(&t, false);
  t.in[2].dtype = SAMARA_INT32;  // a learning rate of integers
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  rmsprop_begin(&t, false, true);
  op_int(&t, "centered", 1);
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
}

SMR_TEST_MAIN(RUN(refused))
