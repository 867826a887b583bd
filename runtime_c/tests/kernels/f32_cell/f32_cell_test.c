// SPDX-License-Identifier: Apache-2.0
// Recurrent cells of every ISA this CPU has, against the formulas in double.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_cell/kernels.h"

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double clipped(double x, double clip) { return x > clip ? clip : x < -clip ? -clip : x; }

static float *scaled(size_t n, float by, uint32_t *seed) {
  float *p = kernel_floats(n, seed);
  for (size_t i = 0; i < n; i++) p[i] *= by;
  return p;
}

static void check_lstm(const struct smr_f32_cell_kernels *k, size_t n, bool peep, bool coupled,
                       float clip) {
  uint32_t seed = (uint32_t)n;
  float *gates = scaled(4 * n, 6, &seed), *p = kernel_floats(3 * n, &seed);
  float *c = scaled(n, 2, &seed), *h = (float *)kernel_alloc(n * sizeof *h, 4);
  float *c0 = (float *)kernel_alloc(n * sizeof *c0, 4);
  memcpy(c0, c, n * sizeof *c0);
  k->lstm(n, gates, &(struct smr_lstm_options){clip, coupled, peep ? p : NULL}, c, h);
  for (size_t j = 0; j < n; j++) {
    const double pi = peep ? (double)p[j] : 0, po = peep ? (double)p[n + j] : 0;
    const double pf = peep ? (double)p[2 * n + j] : 0, old = (double)c0[j], cut = (double)clip;
    const double i = sigmoid(clipped((double)gates[j] + pi * old, cut));
    const double f = coupled ? 1 - i : sigmoid(clipped((double)gates[2 * n + j] + pf * old, cut));
    const double state = f * old + i * tanh(clipped((double)gates[3 * n + j], cut));
    const double o = sigmoid(clipped((double)gates[n + j] + po * state, cut));
    CHECK_NEAR(c[j], state, 1e-6);
    CHECK_NEAR(h[j], o * tanh(state), 1e-6);
  }
  kernel_free(gates, 4);
  kernel_free(p, 4);
  kernel_free(c, 4);
  kernel_free(c0, 4);
  kernel_free(h, 4);
}

static void check_gru(const struct smr_f32_cell_kernels *k, size_t n, bool linear, float clip) {
  uint32_t seed = (uint32_t)n + 77;
  float *zr = scaled(2 * n, 6, &seed), *input = scaled(n, 3, &seed), *state = scaled(n, 3, &seed);
  float *h = kernel_floats(n, &seed), *reset_h = (float *)kernel_alloc(n * sizeof *h, 4);
  float *zr0 = (float *)kernel_alloc(2 * n * sizeof *zr0, 4);
  float *h0 = (float *)kernel_alloc(n * sizeof *h0, 4);
  memcpy(zr0, zr, 2 * n * sizeof *zr);
  memcpy(h0, h, n * sizeof *h);
  k->gru_gates(n, clip, zr, h, linear ? NULL : reset_h);
  k->gru(n, clip, zr, input, linear ? state : NULL, h);
  for (size_t j = 0; j < n; j++) {
    const double z = sigmoid(clipped((double)zr0[j], (double)clip));
    const double r = sigmoid(clipped((double)zr0[n + j], (double)clip));
    const double x = (double)input[j] + (linear ? r * (double)state[j] : 0);
    const double fresh = tanh(clipped(x, (double)clip));
    if (!linear) CHECK_NEAR(reset_h[j], r * (double)h0[j], 3e-7);
    CHECK_NEAR(h[j], (1 - z) * fresh + z * (double)h0[j], 6e-7);
  }
  kernel_free(zr, 4);
  kernel_free(input, 4);
  kernel_free(state, 4);
  kernel_free(h, 4);
  kernel_free(reset_h, 4);
  kernel_free(zr0, 4);
  kernel_free(h0, 4);
}

static void check_kernels(const struct smr_f32_cell_kernels *k, size_t lanes) {
  for (size_t n = 1; n <= 3 * lanes + 1; n++)
    for (int flags = 0; flags < 8; flags++) {
      const float clip = flags & 4 ? 0.75f : INFINITY;
      check_lstm(k, n, flags & 1, flags & 2, clip);
      check_gru(k, n, flags & 1, clip);
    }
}

// Saturated gates keep or replace the state exactly, and NaN stays where it is.
static void check_limits(const struct smr_f32_cell_kernels *k) {
  const struct smr_lstm_options options = {.clip = INFINITY};
  // Element 0: forget all, let in tanh(inf). 1: keep all. 2: NaN.
  const float gates[12] = {200, -200, 0, 200, 200, 0, -200, 200, NAN, INFINITY, 0, 0};
  float c[3] = {5, -3, 1}, h[3];
  k->lstm(3, gates, &options, c, h);
  CHECK_NEAR(c[0], 1, 1e-6);
  CHECK_NEAR(c[1], -3, 0);
  CHECK(isnan(c[2]) && isnan(h[2]));
  CHECK_NEAR(h[0], tanh(1.0), 1e-6);
  CHECK_NEAR(h[1], tanh(-3.0), 1e-6);
}

SMR_TEST(every_table) {
  const uint32_t have = smr_cpu_isa();
#define SMR_UKERNEL(bit, suffix, lanes)                     \
  if ((have & (bit)) == (bit)) {                            \
    check_kernels(&smr_f32_cell_ukernels__##suffix, lanes); \
    check_limits(&smr_f32_cell_ukernels__##suffix);         \
  } else {                                                  \
    NOT_RUN(#suffix, "this CPU lacks it");                  \
  }
#include "kernels/f32_cell/kernels.inc"
#undef SMR_UKERNEL
  CHECK(smr_f32_cell_kernels(SMR_ISA_NONE) == &smr_f32_cell_ukernels__scalar);
}

SMR_TEST_MAIN(RUN(every_table))
