// SPDX-License-Identifier: Apache-2.0
// Elementwise float functions: every table this CPU can run against the same formulas in double.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_vunary/f32_vunary.h"
#include "kernels/f64_vunary/f64_vunary.h"

#include "harness.h"
#include "kernels/kernel_data.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

// By the C library; tests/ops holds it to NumPy and to ONNX.
static double exact(enum smr_f32_vunary f, double x, const float *params) {
  double y;
  if (f == SMR_F32_ACOSH && x < 1) return (double)NAN;  // musl computes something there
  smr_f64_vunary_kernel(f)(1, &x, &y, params);
  return y;
}

// Allowed error in ulp of the exact value, and absolutely (functions that cancel near a zero).
static double allowed(enum smr_f32_vunary f, double want, double x) {
  double ulps = 3, absolute = 0;
  switch ((int)f) {
    case SMR_F32_NEG:
    case SMR_F32_ABS:
    case SMR_F32_SIGN:
    case SMR_F32_CEIL:
    case SMR_F32_FLOOR:
    case SMR_F32_ROUND:
    case SMR_F32_SQRT:
    case SMR_F32_RECIPROCAL:
    case SMR_F32_RELU:
    case SMR_F32_LEAKY_RELU:
    case SMR_F32_CLAMP:
      ulps = 0.5001;
      break;
    case SMR_F32_EXP:
    case SMR_F32_LOG:
    case SMR_F32_SIGMOID:
      ulps = 2;
      break;
    case SMR_F32_TANH:
    case SMR_F32_SOFTPLUS:
    case SMR_F32_ELU:
    case SMR_F32_ASIN:
    case SMR_F32_ACOS:
    case SMR_F32_ATAN:
    case SMR_F32_SINH:
    case SMR_F32_COSH:
    case SMR_F32_ASINH:
    case SMR_F32_ACOSH:
    case SMR_F32_ATANH:
      break;
    case SMR_F32_SILU:
      absolute = fabs(x) * 0x1p-149;
      break;  // of a subnormal sigmoid
    case SMR_F32_ERF:
      ulps = 2, absolute = 1e-7;
      break;
    case SMR_F32_GELU:
    case SMR_F32_GELU_TANH:
      absolute = 1.5e-7 * (fabs(x) + 1);
      break;
    case SMR_F32_RSQRT:
      ulps = 1.01;
      break;
    case SMR_F32_HARD_SIGMOID:
      ulps = 1, absolute = 1.2e-7;
      break;
    case SMR_F32_HARD_SWISH:
      ulps = 2, absolute = 1.2e-7 * fabs(x);
      break;
    case SMR_F32_SIN:
    case SMR_F32_COS:
      absolute = 1e-10;  // at the zeros far from 0
      break;
    case SMR_F32_TAN:
      absolute = 1e-10 * (1 + want * want);
      break;
    default:  // any other formula: terms as large as x may cancel
      ulps = 17, absolute = 1e-6 * (fabs(x) + 1);
  }
  const double magnitude = fabs(want) > (double)FLT_MIN ? fabs(want) : (double)FLT_MIN;
  return ulps * magnitude * 0x1p-23 + absolute;
}

static const float params_of[SMR_F32_VUNARY_COUNT][2] = {[SMR_F32_LEAKY_RELU] = {0.125f, 0},
                                                         [SMR_F32_ELU] = {1.0f, 0},
                                                         [SMR_F32_HARD_SIGMOID] = {0.2f, 0.5f},
                                                         [SMR_F32_CLAMP] = {-1.5f, 2.0f}};

static void check_value(const char *table, enum smr_f32_vunary f, float x, float y) {
  const double want = exact(f, (double)x, params_of[f]);
  const double rounded = fabs(want) > (double)FLT_MAX * (1 + 0x1p-25) ? want * INFINITY : want;
  const double tolerance = allowed(f, want, (double)x);
  // Values within the tolerance of overflow may be infinite or not.
  if (isinf((double)y) && fabs(want) > (double)FLT_MAX * (1 - 1e-6)) return;
  if (isnan(rounded) ? isnan(y) : fabs((double)y - rounded) <= tolerance || (double)y == rounded)
    return;
  if (smr_test_reports()) fprintf(stderr, "%s function %d of %.9g: ", table, (int)f, (double)x);
  CHECK_NEAR(y, rounded, tolerance);
}

static uint64_t random_state;
static float random_float(void) {  // any finite magnitude up to 2^7, now and then anything
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  const uint32_t bits = (uint32_t)(random_state >> 32);
  const uint32_t exponent = bits % 16 == 0 ? (bits >> 8) % 255 : 107 + (bits >> 8) % 27;
  const uint32_t word = (bits & 0x80000000u) | exponent << 23 | ((bits * 2654435761u) & 0x7fffffu);
  float x;
  memcpy(&x, &word, sizeof x);
  return x;
}

static void check_table(const char *name, uint32_t isa, size_t lanes) {
  static const float special[] = {
      0.0f,    -0.0f,   1.0f,       -1.0f,  0.5f,    -0.5f,    2.5f,     -2.5f,   1e-40f,
      -1e-40f, 88.7f,   88.73f,     -87.4f, -103.9f, -105.0f,  1e30f,    -1e30f,  3e38f,
      -3e38f,  0x1p23f, 8388609.0f, 0.625f, 4.0f,    -4.0f,    0.70711f, 1.4143f, 0x1p-126f,
      NAN,     1e-20f,  20.0f,      -20.0f, 89.5f,   INFINITY, -INFINITY};
  random_state = 1;
  for (int f = 0; f < SMR_F32_VUNARY_COUNT; f++) {
    const smr_f32_vunary_ukernel kernel = smr_f32_vunary_kernel(isa, (enum smr_f32_vunary)f);
    const float *params = params_of[f];
    for (size_t n = 1; n <= 3 * lanes + 1; n++) {
      float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
      for (size_t i = 0; i < n; i++) x[i] = random_float();
      kernel(n, x, y, params);
      for (size_t i = 0; i < n; i++) check_value(name, (enum smr_f32_vunary)f, x[i], y[i]);
      kernel(n, x, x, params);
      CHECK_MEM(x, y, n * sizeof *x);
      free(x), free(y);
    }
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
      float y;
      kernel(1, &special[i], &y, params);
      check_value(name, (enum smr_f32_vunary)f, special[i], y);
    }
    for (int i = 0; i < 20000; i++) {
      float x[16], y[16];
      for (int j = 0; j < 16; j++) x[j] = random_float();
      kernel(16, x, y, params);
      for (int j = 0; j < 16; j++) check_value(name, (enum smr_f32_vunary)f, x[j], y[j]);
    }
  }
}

SMR_TEST(tables) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_table(#suffix, isa, lanes);
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

// Around the point where sin, cos and tan change their reduction, around multiples of pi / 2 near
// and far, and around the ends and seams of the others.
SMR_TEST(seams) {
  static const float near[] = {8192.0f, 8191.9f,     1.5707964f, 3.1415927f,
                               355.0f,  16367182.0f, 1e6f,       6381956970095103.0f * 0x1p119f,
                               1e38f,   0.5f,        1.0f,       0x1p-1f,
                               89.4f,   88.0f,       1.00001f,   0x1p-30f};
  for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
    for (int f = 0; f < SMR_F32_VUNARY_COUNT; f++)
      for (int step = -3; step <= 3; step++)
        for (int sign = -1; sign <= 1; sign += 2) {
          float x = near[i], y;
          for (int k = 0; k < abs(step); k++) x = nextafterf(x, step < 0 ? 0 : INFINITY);
          x *= (float)sign;
          smr_f32_vunary_kernel(smr_cpu_isa(), (enum smr_f32_vunary)f)(1, &x, &y, params_of[f]);
          check_value("seams", (enum smr_f32_vunary)f, x, y);
        }
}

SMR_TEST(dispatch) { CHECK_STR(smr_f32_vunary_kernel_name(0, SMR_F32_EXP), "f32_vunary__scalar"); }

SMR_TEST_MAIN(RUN(tables); RUN(seams); RUN(dispatch))
