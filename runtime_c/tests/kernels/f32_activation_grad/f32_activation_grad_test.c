// SPDX-License-Identifier: Apache-2.0
// Gradients of activations: every table this CPU can run against the formulas in double.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_activation_grad/f32_activation_grad.h"

#include "harness.h"
#include "kernels/kernel_data.h"

#include <math.h>
#include <stdlib.h>

static double logistic(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

// f'(v) where it is no case of its own.
static double slope(enum smr_f32_activation_grad f, double v) {
  const double root = 0.79788456080286536, t = tanh(root * (v + 0.044715 * v * v * v));
  switch ((int)f) {
    case SMR_F32_ACTIVATION_GRAD_SIGMOID:
      return v * (1 - v);
    case SMR_F32_ACTIVATION_GRAD_TANH:
      return 1 - v * v;
    case SMR_F32_ACTIVATION_GRAD_GELU:
      return 0.5 * (1 + erf(v * 0.70710678118654752)) + v * exp(-0.5 * v * v) * 0.39894228040143268;
    case SMR_F32_ACTIVATION_GRAD_GELU_TANH:
      return 0.5 * (1 + t + v * root * (1 + 3 * 0.044715 * v * v) * (1 - t * t));
    case SMR_F32_ACTIVATION_GRAD_SILU:
      return logistic(v) * (1 + v * (1 - logistic(v)));
    default:
      return logistic(v);
  }
}

static const float params_of[SMR_F32_ACTIVATION_GRAD_COUNT][2] = {
    [SMR_F32_ACTIVATION_GRAD_LEAKY_RELU] = {0.125f, 0},
    [SMR_F32_ACTIVATION_GRAD_ELU] = {1.5f, 0},
    [SMR_F32_ACTIVATION_GRAD_HARD_SIGMOID] = {0.2f, 0.5f},
    [SMR_F32_ACTIVATION_GRAD_CLAMP] = {-1.5f, 2.0f}};

static double exact(enum smr_f32_activation_grad f, double g, double v) {
  const double a = (double)params_of[f][0], b = (double)params_of[f][1];
  switch ((int)f) {
    case SMR_F32_ACTIVATION_GRAD_RELU:
      return v <= 0 ? 0 : g;
    case SMR_F32_ACTIVATION_GRAD_LEAKY_RELU:
      return v > 0 ? g : g * a;
    case SMR_F32_ACTIVATION_GRAD_ELU:
      return v <= 0 ? g * a * exp(v) : g;
    case SMR_F32_ACTIVATION_GRAD_HARD_SIGMOID:
      return v > 0 && v < 1 ? g * a : 0;
    case SMR_F32_ACTIVATION_GRAD_HARD_SWISH:
      return v <= -3 ? 0 : v < 3 ? g * (v / 3 + 0.5) : g;
    case SMR_F32_ACTIVATION_GRAD_CLAMP:
      return a <= v && v <= b ? g : 0;
    default:
      return g * slope(f, v);
  }
}

static void check_value(const char *table, enum smr_f32_activation_grad f, float g, float v,
                        float dx) {
  const double want = exact(f, (double)g, (double)v);
  if (isnan(want) ? isnan(dx) : (double)dx == want) return;
  // The rational pieces round a few times; the others take functions within a few ulp of 1, which
  // x multiplies.
  const double reach = fabs((double)v) < 8 ? fabs((double)v) : 8;
  const double tolerance = fabs(want) * 6e-7 + fabs((double)g) * 3e-7 * (1 + reach * reach);
  if (fabs((double)dx - want) <= tolerance) return;
  if (smr_test_reports())
    fprintf(stderr, "%s function %d of %.9g, %.9g: ", table, (int)f, (double)g, (double)v);
  CHECK_NEAR(dx, want, tolerance);
}

static uint32_t random_state;
static float random_float(float reach) {
  random_state = random_state * 1664525u + 1013904223u;
  return ((float)(random_state >> 8) * 0x1p-23f - 1.0f) * reach;
}

static void check_table(const char *name, uint32_t isa, size_t lanes) {
  static const float special[] = {0.0f, -0.0f, 1.0f,  -1.0f, 3.0f,  -3.0f,    2.0f,     -1.5f,
                                  NAN,  20.0f, -20.f, 90.0f, -90.f, INFINITY, -INFINITY};
  random_state = 1;
  for (int k = 0; k < SMR_F32_ACTIVATION_GRAD_COUNT; k++) {
    const enum smr_f32_activation_grad f = (enum smr_f32_activation_grad)k;
    const smr_f32_activation_grad_ukernel kernel = smr_f32_activation_grad_kernel(isa, f);
    // Results of sigmoid and tanh lie within -1 and 1.
    const float reach =
        f == SMR_F32_ACTIVATION_GRAD_SIGMOID || f == SMR_F32_ACTIVATION_GRAD_TANH ? 1.0f : 6.0f;
    for (size_t n = 1; n <= 3 * lanes + 1; n++) {
      const size_t bytes = n * sizeof(float);
      float *g = malloc(bytes), *v = malloc(bytes), *dx = malloc(bytes);
      for (size_t i = 0; i < n; i++) g[i] = random_float(2.0f), v[i] = random_float(reach);
      kernel(n, g, v, dx, params_of[f]);
      for (size_t i = 0; i < n; i++) check_value(name, f, g[i], v[i], dx[i]);
      float *again = malloc(bytes);
      memcpy(again, v, bytes);
      kernel(n, g, again, again, params_of[f]);
      CHECK_MEM(again, dx, bytes);
      kernel(n, g, v, g, params_of[f]);
      CHECK_MEM(g, dx, bytes);
      free(g), free(v), free(dx), free(again);
    }
    for (int i = 0; i < 20000; i++) {
      const float g = random_float(2.0f), v = random_float(reach);
      float dx;
      kernel(1, &g, &v, &dx, params_of[f]);
      check_value(name, f, g, v, dx);
    }
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
      // x * 0 at infinity: defined by the formula only where it is finite.
      const bool smooth = f == SMR_F32_ACTIVATION_GRAD_SIGMOID ||
                          f == SMR_F32_ACTIVATION_GRAD_TANH || f == SMR_F32_ACTIVATION_GRAD_GELU ||
                          f == SMR_F32_ACTIVATION_GRAD_GELU_TANH ||
                          f == SMR_F32_ACTIVATION_GRAD_SILU;
      if (smooth && isinf(special[i])) continue;
      const float g = 0.75f;
      float dx;
      kernel(1, &g, &special[i], &dx, params_of[f]);
      check_value(name, f, g, special[i], dx);
    }
  }
}

SMR_TEST(tables) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_table(#suffix, isa, lanes);
#include "kernels/training.inc"
#undef SMR_UKERNEL
}

SMR_TEST(blocked_gradients_stay_zero) {
  const float g[2] = {INFINITY, NAN}, v[2] = {-1.0f, 0.0f};
  float dx[2];
  smr_f32_activation_grad_kernel(smr_cpu_isa(), SMR_F32_ACTIVATION_GRAD_RELU)(2, g, v, dx,
                                                                              params_of[0]);
  CHECK(dx[0] == 0 && dx[1] == 0);
}

// Far out x^3 and x^2 leave the floats one after the other; the gradient is 1 or 0 all along.
SMR_TEST(far_gelu_tanh) {
  const float g[4] = {1.0f, 1.0f, 1.0f, 1.0f}, v[4] = {1e9f, 1e15f, -1e15f, -1e18f};
  float dx[4];
  smr_f32_activation_grad_kernel(smr_cpu_isa(), SMR_F32_ACTIVATION_GRAD_GELU_TANH)(4, g, v, dx,
                                                                                   params_of[0]);
  CHECK(dx[0] == 1 && dx[1] == 1);
  CHECK(dx[2] == 0 && dx[3] == 0);
}

SMR_TEST(dispatch) {
  CHECK_STR(smr_f32_activation_grad_kernel_name(0), "f32_activation_grad__scalar");
}

SMR_TEST_MAIN(RUN(tables); RUN(blocked_gradients_stay_zero); RUN(far_gelu_tanh); RUN(dispatch))
