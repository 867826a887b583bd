// SPDX-License-Identifier: Apache-2.0
// gru_grad: answers of PyTorch's autograd for three steps, two entries, two inputs and two hidden
// units. The gradients of the gates are told by their sums, those of both halves of the bias.
#include "base/fp.h"

#include "ops/recurrent/recurrent_data.h"

static const double tolerance = 1e-6;

static struct recurrent_case small(const char *direction) {
  return (struct recurrent_case){"gru_train", 3, 2, 2, 2, .direction = direction};
}

static void expect(const struct recurrent_case *c, float clip, bool linear, const float *bias_w,
                   const float *bias_r, const float *dh0, size_t states) {
  struct op_test train, grad;
  recurrent_begin(&train, c);
  op_f32(&train, "clip", clip);
  op_int(&train, "linear_before_reset", linear);
  if (!CHECK_EQ_INT(op_run(&train), SAMARA_OK)) return;
  recurrent_grad_begin(&grad, c, &train);
  op_f32(&grad, "clip", clip);
  op_int(&grad, "linear_before_reset", linear);
  if (CHECK_EQ_INT(op_run(&grad), SAMARA_OK)) {
    recurrent_expect_sums(&grad, 0, bias_w, tolerance);
    recurrent_expect_sums(&grad, 1, bias_r, tolerance);
    op_expect_f32(&grad, 2, dh0, states, tolerance);
  }
  op_end(&train);
  op_end(&grad);
}

SMR_TEST(linear_before_reset) {
  const struct recurrent_case c = small(NULL);
  expect(&c, 0, true,
         (const float[]){0.18632579f, -0.11980622f, 0.1638563f, 0.032233373f, -0.97537772f,
                         0.88313219f},
         (const float[]){0.18632579f, -0.11980622f, 0.1638563f, 0.032233373f, -0.62485182f,
                         0.47258721f},
         (const float[]){-0.35166409f, 0.46840116f, -0.0039463383f, -0.48675859f}, 4);
}

SMR_TEST(both_directions_with_lengths_and_states) {
  struct recurrent_case c = small("bidirectional");
  c.lengths = (const int32_t[]){3, 1};
  c.states = true;
  expect(&c, 0, true,
         (const float[]){-0.23173312f, 0.041655867f, 0.064088381f, 0.053640101f, -0.46637388f,
                         0.37288921f, -0.06825228f, 0.046665602f, 0.05603729f, 0.021950546f,
                         0.38919823f, -0.42633322f},
         (const float[]){-0.23173312f, 0.041655867f, 0.064088381f, 0.053640101f, -0.40322562f,
                         0.19822552f, -0.06825228f, 0.046665602f, 0.05603729f, 0.021950546f,
                         0.19338318f, -0.14838481f},
         (const float[]){-0.47481058f, 0.47987224f, 0.24107083f, -0.12037072f, -0.29185815f,
                         0.057252616f, 0.56911403f, -0.72258268f},
         8);
}

SMR_TEST(reset_meets_the_state) {
  struct recurrent_case c = small("bidirectional");
  c.lengths = (const int32_t[]){3, 1};
  c.states = true;
  const float bias[] = {-0.24126052f,  0.044394362f, 0.061906178f,  0.010181988f,
                        -0.46935898f,  0.38400738f,  -0.097070834f, 0.04642802f,
                        -0.064395506f, 0.015560109f, 0.31273327f,   -0.53577935f};
  expect(&c, 0, false, bias, bias,
         (const float[]){-0.43137008f, 0.38158976f, 0.20902322f, 0.030432725f, -0.21484145f,
                         -0.0089946224f, 0.45089652f, -0.70502384f},
         8);
}

SMR_TEST(reverse_with_clip) {
  struct recurrent_case c = small("reverse");
  c.states = true;
  const float bias[] = {0, -0.050737884f, 0.058742017f, 0.0070094275f, -0.55657534f, 0.44216431f};
  expect(&c, 0.3f, false, bias, bias,
         (const float[]){-0.0097485861f, 0.38051105f, -0.13029488f, -0.068796831f}, 4);
}

SMR_TEST_MAIN(RUN(linear_before_reset); RUN(both_directions_with_lengths_and_states);
              RUN(reset_meets_the_state); RUN(reverse_with_clip))
