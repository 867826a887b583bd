// SPDX-License-Identifier: Apache-2.0
// lstm_grad: answers of PyTorch's autograd for three steps, two entries, two inputs and two hidden
// units. The gradients of the gates are told by their sums, those of the bias.
#include "base/fp.h"

#include "ops/recurrent/recurrent_data.h"

static const double tolerance = 1e-6;

static struct recurrent_case small(const char *direction) {
  return (struct recurrent_case){"lstm_train", 3, 2, 2, 2, .direction = direction};
}

static void expect(const struct recurrent_case *c, float clip, bool input_forget, const float *bias,
                   const float *dh0, const float *dc0, size_t states) {
  struct op_test train, grad;
  recurrent_begin(&train, c);
  op_f32(&train, "clip", clip);
  op_int(&train, "input_forget", input_forget);
  if (!CHECK_EQ_INT(op_run(&train), SAMARA_OK)) return;
  recurrent_grad_begin(&grad, c, &train);
  op_f32(&grad, "clip", clip);
  op_int(&grad, "input_forget", input_forget);
  if (CHECK_EQ_INT(op_run(&grad), SAMARA_OK)) {
    recurrent_expect_sums(&grad, 0, bias, tolerance);
    op_expect_f32(&grad, 1, dh0, states, tolerance);
    op_expect_f32(&grad, 2, dc0, states, tolerance);
  }
  op_end(&train);
  op_end(&grad);
}

SMR_TEST(forward) {
  const struct recurrent_case c = small(NULL);
  expect(&c, 0, false,
         (const float[]){-0.18915695f, -0.017450431f, -0.054642766f, -0.026308998f, -0.053190318f,
                         0.13819869f, -0.8924982f, 0.90095649f},
         (const float[]){0.056408233f, -0.084579074f, 0.073221274f, 0.065316037f},
         (const float[]){0.052192377f, 0.080406188f, -1.029693f, -0.0017117233f}, 4);
}

SMR_TEST(both_directions_with_lengths_and_states) {
  struct recurrent_case c = small("bidirectional");
  c.lengths = (const int32_t[]){3, 1};
  c.states = true;
  expect(&c, 0, false,
         (const float[]){-0.11988153f, -0.0066127502f, 0.13612088f, 0.09457611f, 0.39519028f,
                         0.077973301f, -0.17846429f, 0.39440857f, 0.15332176f, 0.12307526f,
                         0.066517683f, 0.093421141f, -0.010366971f, 0.26143113f, 1.476055f,
                         -0.34793907f},
         (const float[]){-0.077792633f, -0.052372579f, 0.027368334f, 0.042011295f, -0.059219766f,
                         -0.035999321f, -0.074966368f, 0.32525637f},
         (const float[]){-0.1862328f, 0.16262478f, -0.94715877f, 0.018073094f, -0.03955137f,
                         0.13885677f, 0.18080827f, -0.76947208f},
         8);
}

SMR_TEST(reverse_with_peepholes_and_clip) {
  struct recurrent_case c = small("reverse");
  c.peepholes = c.states = true;
  expect(&c, 0.3f, false,
         (const float[]){0.01153278f, -0.0022500879f, 0.021010921f, 0.0058052661f, 0, 0.077424465f,
                         -0.53328113f, 0.4943175f},
         (const float[]){-0.02422654f, 0.00078940134f, 0, 0},
         (const float[]){0.042803752f, 0.20721195f, -0.38866559f, 0.032207095f}, 4);
}

SMR_TEST(input_forget) {
  const struct recurrent_case c = small(NULL);
  expect(&c, 0, true,
         (const float[]){-0.039876163f, -0.16546848f, -0.034951968f, -0.010505833f, 0, 0,
                         -0.76360745f, 0.94372033f},
         (const float[]){0.081110413f, -0.10315772f, 0.036932552f, 0.074739462f},
         (const float[]){0.065516034f, 0.10183904f, -0.88113854f, -0.012928936f}, 4);
}

SMR_TEST_MAIN(RUN(forward); RUN(both_directions_with_lengths_and_states);
              RUN(reverse_with_peepholes_and_clip); RUN(input_forget))
