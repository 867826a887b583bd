// SPDX-License-Identifier: Apache-2.0
// Rounding, clamping and parameters of the quantized elementwise kernels.
#include "base/fp.h"

#include "harness.h"
#include "kernels/vquant/vquant.h"

#include <math.h>

static const float one_scale[] = {1.0f};
static const int32_t zero_three[] = {3};

SMR_TEST(quantize_rounds_half_to_even_and_saturates) {
  static const float x[] = {0.5f,   1.5f,  2.5f,    -0.5f,   -1.5f, 124.0f,
                            124.4f, 1e30f, -131.0f, -131.4f, -1e30f};
  static const int8_t want[] = {3, 5, 5, 3, 1, 127, 127, 127, -128, -128, -128};
  int8_t y[11];
  smr_vquant_quantize(11, x, (struct smr_vquant_params){one_scale, zero_three, 0}, y);
  CHECK_MEM(y, want, sizeof y);
}

SMR_TEST(quantize_takes_infinities_and_nan) {
  const float x[] = {INFINITY, -INFINITY, NAN};
  static const int8_t want[] = {127, -128, 3};
  int8_t y[3];
  smr_vquant_quantize(3, x, (struct smr_vquant_params){one_scale, zero_three, 0}, y);
  CHECK_MEM(y, want, sizeof y);
}

SMR_TEST(every_integer_comes_back) {
  static const float scale[] = {0.3f};
  for (int32_t zero = -128; zero <= 127; zero += 51) {
    const struct smr_vquant_params p = {scale, &zero, 0};
    for (int q = -128; q <= 127; q++) {
      const int8_t in = (int8_t)q;
      float real;
      int8_t back;
      smr_vquant_dequantize(1, &in, p, &real);
      CHECK_NEAR(real, 0.3 * (q - zero), 1e-5);
      smr_vquant_quantize(1, &real, p, &back);
      CHECK_EQ_INT(back, q);
    }
  }
}

SMR_TEST(parameters_may_go_along_the_row) {
  static const float scales[] = {1.0f, 0.5f, 0.25f};
  static const int32_t zeros[] = {0, 10, -10};
  static const float x[] = {4.0f, 4.0f, 4.0f};
  static const int8_t want[] = {4, 18, 6};
  const struct smr_vquant_params p = {scales, zeros, 1};
  int8_t y[3];
  float back[3];
  smr_vquant_quantize(3, x, p, y);
  CHECK_MEM(y, want, sizeof y);
  smr_vquant_dequantize(3, y, p, back);
  CHECK_MEM(back, x, sizeof x);
}

SMR_TEST(requantize_rounds_the_scaled_difference) {
  static const float half[] = {0.5f};
  static const int32_t none[] = {0};
  static const int8_t x[] = {4, 5,   6,
                             7, 127, -128};  // minus 3, times one half: .5 1 1.5 2 62 -65.5
  static const int8_t want[] = {0, 1, 2, 2, 62, -66};
  int8_t y[6];
  smr_vquant_requantize(6, x, (struct smr_vquant_params){half, zero_three, 0},
                        (struct smr_vquant_params){one_scale, none, 0}, y);
  CHECK_MEM(y, want, sizeof y);
  memcpy(y, x, sizeof y);  // in place
  smr_vquant_requantize(6, y, (struct smr_vquant_params){half, zero_three, 0},
                        (struct smr_vquant_params){one_scale, none, 0}, y);
  CHECK_MEM(y, want, sizeof y);
}

SMR_TEST_MAIN(RUN(quantize_rounds_half_to_even_and_saturates);
              RUN(quantize_takes_infinities_and_nan); RUN(every_integer_comes_back);
              RUN(parameters_may_go_along_the_row); RUN(requantize_rounds_the_scaled_difference))
