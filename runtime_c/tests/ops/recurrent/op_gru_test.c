// SPDX-License-Identifier: Apache-2.0
// gru: answers of ONNX Runtime for three steps, two entries, two inputs and two hidden units.
#include "base/fp.h"

#include "ops/recurrent/recurrent_data.h"

static const double tolerance = 5e-7;

static struct recurrent_case small(const char *direction) {
  return (struct recurrent_case){"gru", 3, 2, 2, 2, .direction = direction};
}

static void expect(struct op_test *t, const float *y, size_t n, const float *h, size_t states) {
  if (CHECK_EQ_INT(op_run(t), SAMARA_OK)) {
    op_expect_f32(t, 0, y, n, tolerance);
    op_expect_f32(t, 1, h, states, tolerance);
  }
  op_end(t);
}

SMR_TEST(forward) {
  const struct recurrent_case c = small(NULL);
  struct op_test t;
  recurrent_begin(&t, &c);
  expect(&t,
         (const float[]){0.081493229f, 0.080093823f, -0.45895776f, -0.11970154f, -0.37779868f,
                         -0.039147444f, -0.14539003f, -0.22313827f, -0.11382044f, -0.021190763f,
                         -0.010717489f, -0.0030036718f},
         12, (const float[]){-0.11382044f, -0.021190763f, -0.010717489f, -0.0030036718f}, 4);
}

SMR_TEST(both_directions_with_lengths_and_states) {
  struct recurrent_case c = small("bidirectional");
  c.lengths = (const int32_t[]){3, 1};
  c.states = true;
  struct op_test t;
  recurrent_begin(&t, &c);
  expect(&t, (const float[]){-0.28250381f, 0.31602198f,   -0.5590831f, -0.25714445f,
                             0.75243366f,  0.011741087f,  0.19718379f, 0.90605938f,
                             -0.39956155f, 0.13078848f,   0,           0,
                             0.65464449f,  -0.090037525f, 0,           0,
                             -0.11079007f, 0.067952745f,  0,           0,
                             0.66910243f,  -0.29257685f,  0,           0},
         24,
         (const float[]){-0.11079007f, 0.067952745f, -0.5590831f, -0.25714445f, 0.75243366f,
                         0.011741087f, 0.19718379f, 0.90605938f},
         8);
}

SMR_TEST(linear_before_reset) {
  struct recurrent_case c = small(NULL);
  c.states = true;
  struct op_test t;
  recurrent_begin(&t, &c);
  op_int(&t, "linear_before_reset", 1);
  expect(&t,
         (const float[]){-0.18938784f, 0.31918925f, -0.54091334f, -0.25458521f, -0.26815763f,
                         0.12462761f, -0.02020815f, -0.27585572f, 0.10787439f, 0.046086717f,
                         0.14565538f, -0.089973927f},
         12, (const float[]){0.10787439f, 0.046086717f, 0.14565538f, -0.089973927f}, 4);
}

SMR_TEST(clip) {
  const struct recurrent_case c = small(NULL);
  struct op_test t;
  recurrent_begin(&t, &c);
  op_f32(&t, "clip", 0.3f);
  expect(&t,
         (const float[]){0.081493229f, 0.083667293f, -0.16734235f, -0.12397026f, -0.1326623f,
                         -0.075908214f, -0.026880458f, -0.19518405f, 0.0060782582f, -0.084975787f,
                         0.052346636f, -0.0079138651f},
         12, (const float[]){0.0060782582f, -0.084975787f, 0.052346636f, -0.0079138651f}, 4);
}

SMR_TEST(reverse_with_everything) {
  const struct recurrent_case c = small("reverse");
  struct op_test t;
  recurrent_begin(&t, &c);
  op_f32(&t, "clip", 0.3f);
  op_int(&t, "linear_before_reset", 1);
  expect(&t,
         (const float[]){0.068816386f, -0.013275906f, -0.072806954f, -0.16741598f, -0.10139558f,
                         -0.16987689f, 0.22214483f, -0.075631082f, 0.15496559f, -0.079915099f,
                         0.12877807f, 0.084149733f},
         12, (const float[]){0.068816386f, -0.013275906f, -0.072806954f, -0.16741598f}, 4);
}

SMR_TEST_MAIN(RUN(forward); RUN(both_directions_with_lengths_and_states); RUN(linear_before_reset);
              RUN(clip); RUN(reverse_with_everything))
