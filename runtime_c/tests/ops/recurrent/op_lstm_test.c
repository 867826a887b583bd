// SPDX-License-Identifier: Apache-2.0
// lstm: answers of ONNX Runtime for three steps, two entries, two inputs and two hidden units.
#include "base/fp.h"

#include "ops/recurrent/recurrent_data.h"

static const double tolerance = 5e-7;

static struct recurrent_case small(const char *direction) {
  return (struct recurrent_case){"lstm", 3, 2, 2, 2, .direction = direction};
}

static void expect(struct op_test *t, const float *y, size_t n, const float *h, const float *c,
                   size_t states) {
  if (CHECK_EQ_INT(op_run(t), SAMARA_OK)) {
    op_expect_f32(t, 0, y, n, tolerance);
    op_expect_f32(t, 1, h, states, tolerance);
    op_expect_f32(t, 2, c, states, tolerance);
  }
  op_end(t);
}

SMR_TEST(forward) {
  const struct recurrent_case c = small(NULL);
  struct op_test t;
  recurrent_begin(&t, &c);
  expect(&t,
         (const float[]){-0.0074373162f, -0.0037118876f, 0.10773183f, 0.17236096f, 0.13914827f,
                         0.15551342f, 0.064569607f, -0.088694856f, 0.082857087f, 0.025196271f,
                         0.086853832f, -0.00519069f},
         12, (const float[]){0.082857087f, 0.025196271f, 0.086853832f, -0.00519069f},
         (const float[]){0.19367048f, 0.047173008f, 0.16709468f, -0.012500331f}, 4);
}

SMR_TEST(both_directions_with_lengths_and_states) {
  struct recurrent_case c = small("bidirectional");
  c.lengths = (const int32_t[]){3, 1};
  c.states = true;
  struct op_test t;
  recurrent_begin(&t, &c);
  expect(&t,
         (const float[]){-0.25306267f,
                         0.0098753544f,
                         -0.35932076f,
                         0.20557562f,
                         0.12984391f,
                         0.079428159f,
                         -0.024474068f,
                         -0.65318936f,
                         -0.24985495f,
                         0.14494458f,
                         0,
                         0,
                         -0.032473523f,
                         -0.30645996f,
                         0,
                         0,
                         -0.14843734f,
                         0.019705128f,
                         0,
                         0,
                         0.068981268f,
                         -0.35189357f,
                         0,
                         0},
         24,
         (const float[]){-0.14843734f, 0.019705128f, -0.35932076f, 0.20557562f, 0.12984391f,
                         0.079428159f, -0.024474068f, -0.65318936f},
         (const float[]){-0.39558682f, 0.037166685f, -0.47284654f, 0.79441273f, 0.20611951f,
                         0.11487055f, -0.097018801f, -1.0238632f},
         8);
  CHECK_EQ_INT(t.tiles, 2);
}

SMR_TEST(peepholes) {
  struct recurrent_case c = small(NULL);
  c.peepholes = c.states = true;
  struct op_test t;
  recurrent_begin(&t, &c);
  expect(&t,
         (const float[]){-0.35924199f, 0.00125338f, -0.22649777f, 0.19930892f, -0.16133001f,
                         0.13530554f, -0.1034902f, -0.094177604f, -0.10662735f, -0.012488221f,
                         -0.14788754f, -0.023567664f},
         12, (const float[]){-0.10662735f, -0.012488221f, -0.14788754f, -0.023567664f},
         (const float[]){-0.23865648f, -0.023603007f, -0.26833159f, -0.0569814f}, 4);
}

SMR_TEST(clip) {
  const struct recurrent_case c = small(NULL);
  struct op_test t;
  recurrent_begin(&t, &c);
  op_f32(&t, "clip", 0.3f);
  expect(&t,
         (const float[]){-0.0074373162f, -0.0037118876f, 0.070851199f, 0.07055641f, 0.065966159f,
                         0.069067687f, 0.061000988f, -0.052608117f, 0.043406375f, -0.034843072f,
                         0.049062893f, -0.001633896f},
         12, (const float[]){0.043406375f, -0.034843072f, 0.049062893f, -0.001633896f},
         (const float[]){0.098519713f, -0.067564845f, 0.09514688f, -0.0038394444f}, 4);
}

SMR_TEST(input_forget) {
  const struct recurrent_case c = small(NULL);
  struct op_test t;
  recurrent_begin(&t, &c);
  op_int(&t, "input_forget", 1);
  expect(&t,
         (const float[]){-0.0074373162f, -0.0037118876f, 0.10773183f, 0.17236096f, 0.13869277f,
                         0.15552732f, 0.057844251f, -0.028737992f, 0.067136124f, 0.067116715f,
                         0.047399383f, 0.0011950093f},
         12, (const float[]){0.067136124f, 0.067116715f, 0.047399383f, 0.0011950093f},
         (const float[]){0.15626913f, 0.12623031f, 0.092802718f, 0.002797192f}, 4);
}

SMR_TEST(reverse_with_everything) {
  struct recurrent_case c = small("reverse");
  c.peepholes = c.states = true;
  struct op_test t;
  recurrent_begin(&t, &c);
  op_f32(&t, "clip", 0.3f);
  expect(&t,
         (const float[]){-0.06929832f, 0.010653353f, -0.013887614f, 0.052646346f, -0.078636065f,
                         0.070741542f, -0.10738248f, -0.057839002f, -0.18839185f, 0.00056759012f,
                         -0.22328265f, 0.047472492f},
         12, (const float[]){-0.06929832f, 0.010653353f, -0.013887614f, 0.052646346f},
         (const float[]){-0.13877955f, 0.023518894f, -0.024180524f, 0.12434848f}, 4);
}

SMR_TEST_MAIN(RUN(forward); RUN(both_directions_with_lengths_and_states); RUN(peepholes); RUN(clip);
              RUN(input_forget); RUN(reverse_with_everything))
