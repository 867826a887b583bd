// SPDX-License-Identifier: Apache-2.0
// Rounding, clamping and parameters of the quantized elementwise kernels.
#include "base/fp.h"

#include "harness.h"
#include "kernels/kernel_data.h"
#include "base/isa.h"
#include "kernels/vquant/vquant.h"

#include <math.h>

// The kernels under test: every variant that this CPU runs, in turn.
static const struct smr_vquant *kernels;

static const float one_scale[] = {1.0f};
static const int32_t zero_three[] = {3};

SMR_TEST(quantize_rounds_half_to_even_and_saturates) {
  static const float x[] = {0.5f,   1.5f,  2.5f,    -0.5f,   -1.5f, 124.0f,
                            124.4f, 1e30f, -131.0f, -131.4f, -1e30f};
  static const int8_t want[] = {3, 5, 5, 3, 1, 127, 127, 127, -128, -128, -128};
  int8_t y[11];
  kernels->quantize(11, x, (struct smr_vquant_params){one_scale, zero_three, 0}, y);
  CHECK_MEM(y, want, sizeof y);
}

SMR_TEST(quantize_takes_infinities_and_nan) {
  const float x[] = {INFINITY, -INFINITY, NAN};
  static const int8_t want[] = {127, -128, 3};
  int8_t y[3];
  kernels->quantize(3, x, (struct smr_vquant_params){one_scale, zero_three, 0}, y);
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
      kernels->dequantize(1, &in, p, &real);
      CHECK_NEAR(real, 0.3 * (q - zero), 1e-5);
      kernels->quantize(1, &real, p, &back);
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
  kernels->quantize(3, x, p, y);
  CHECK_MEM(y, want, sizeof y);
  kernels->dequantize(3, y, p, back);
  CHECK_MEM(back, x, sizeof x);
}

SMR_TEST(requantize_rounds_the_scaled_difference) {
  static const float half[] = {0.5f};
  static const int32_t none[] = {0};
  static const int8_t x[] = {4, 5,   6,
                             7, 127, -128};  // minus 3, times one half: .5 1 1.5 2 62 -65.5
  static const int8_t want[] = {0, 1, 2, 2, 62, -66};
  int8_t y[6];
  kernels->requantize(6, x, (struct smr_vquant_params){half, zero_three, 0},
                      (struct smr_vquant_params){one_scale, none, 0}, y);
  CHECK_MEM(y, want, sizeof y);
  memcpy(y, x, sizeof y);  // in place
  kernels->requantize(6, y, (struct smr_vquant_params){half, zero_three, 0},
                      (struct smr_vquant_params){one_scale, none, 0}, y);
  CHECK_MEM(y, want, sizeof y);
}

// Lengths around blocks and vectors, buffers of exactly that length.
SMR_TEST(every_length_agrees_with_single_elements) {
  static const float scales[] = {0.37f, 1.9f};
  static const int32_t zeros[] = {-5, 77};
  static const size_t lengths[] = {0, 1, 7, 8, 9, 31, 33, 255, 256, 257, 515};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t n = lengths[k];
    float *x = malloc(n * sizeof *x + 1), *real = malloc(n * sizeof *real + 1);
    int8_t *y = malloc(n + 1), *z = malloc(n + 1);
    REQUIRE(x && real && y && z);
    const struct smr_vquant_params a = {&scales[0], &zeros[0], 0}, b = {&scales[1], &zeros[1], 0};
    for (size_t i = 0; i < n; i++)
      x[i] = i % 50 == 7 ? NAN : (float)((int)(i * 7919 % 1001) - 500) * 0.173f;
    kernels->quantize(n, x, a, y);
    kernels->dequantize(n, y, a, real);
    kernels->requantize(n, y, a, b, z);
    for (size_t i = 0; i < n; i++) {
      const float number = isnan(x[i]) ? 0.0f : x[i] / 0.37f;
      const float q = fminf(fmaxf(rintf(number) - 5.0f, -128.0f), 127.0f);
      CHECK_EQ_INT(y[i], (int)q);
      const float back = (float)(y[i] + 5) * 0.37f, m = 0.37f / 1.9f;
      CHECK(memcmp(&real[i], &back, sizeof back) == 0);
      const float p = rintf((float)(y[i] + 5) * m) + 77.0f;
      CHECK_EQ_INT(z[i], (int)fminf(fmaxf(p, -128.0f), 127.0f));
    }
    free(x), free(real), free(y), free(z);
  }
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
#define SMR_UKERNEL(isa, suffix, lanes)              \
  if (KERNEL_RUNS(isa, suffix)) {                    \
    kernels = smr_vquant_config(isa);                \
    RUN(quantize_rounds_half_to_even_and_saturates); \
    RUN(quantize_takes_infinities_and_nan);          \
    RUN(every_integer_comes_back);                   \
    RUN(parameters_may_go_along_the_row);            \
    RUN(requantize_rounds_the_scaled_difference);    \
    RUN(every_length_agrees_with_single_elements);   \
  }
#include "kernels/vquant/kernels.inc"
#undef SMR_UKERNEL
  return SMR_TEST_END();
}
