// SPDX-License-Identifier: Apache-2.0
// Elementwise float arithmetic: every table, every step, in place, exact buffers.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_vbinary/f32_vbinary.h"
#include "kernels/kernel_data.h"
#include "kernels/vbinary/vbinary.h"

#include <samara/samara.h>

#include "harness.h"

#include <math.h>

// In float64, rounded once; tests/ops holds that to NumPy and to ONNX.
static double exact(enum smr_f32_vbinary f, float a, float b) {
  const double wide_a = (double)a, wide_b = (double)b;
  const struct smr_vbinary_kernel kernel = smr_vbinary_kernel((enum smr_vbinary)f, SAMARA_FLOAT64);
  double y;
  smr_vbinary_run(&kernel, 1, &wide_a, 0, &wide_b, 0, &y);
  return y;
}

// Functions that round once are exact; all others have the op table's bound.
static int rounds_once(enum smr_f32_vbinary f) {
  return f == SMR_F32_VBINARY_ADD || f == SMR_F32_VBINARY_SUB || f == SMR_F32_VBINARY_MUL ||
         f == SMR_F32_VBINARY_DIV || f == SMR_F32_VBINARY_MIN || f == SMR_F32_VBINARY_MAX ||
         f == SMR_F32_VBINARY_PRELU;
}

static int close_enough(enum smr_f32_vbinary f, float y, double want) {
  const double tolerance = rounds_once(f) ? 0 : 1e-6 + 2e-6 * fabs(want);
  if (isnan(want)) return isnan(y);
  return y == (float)want || fabs((double)y - want) <= tolerance;
}

static void check_steps(const char *name, uint32_t isa, size_t n, size_t a_step, size_t b_step) {
  uint32_t state = (uint32_t)n;
  float *a = kernel_floats(a_step ? n : 1, &state), *b = kernel_floats(b_step ? n : 1, &state);
  if (n % 3 == 2) a[0] = NAN;
  if (n % 5 == 4) b[0] = NAN;
  for (int f = 0; f < SMR_F32_VBINARY_COUNT; f++) {
    const smr_f32_vbinary_ukernel kernel = smr_f32_vbinary_kernel(isa, (enum smr_f32_vbinary)f);
    float *y = kernel_alloc(n * sizeof *y, 4);
    kernel(n, a, a_step, b, b_step, y);
    for (size_t i = 0; i < n; i++) {
      const enum smr_f32_vbinary function = (enum smr_f32_vbinary)f;
      const double want = exact(function, a[i * a_step], b[i * b_step]);
      if (!CHECK(close_enough(function, y[i], want))) fprintf(stderr, "%s %d\n", name, f);
    }
    for (int operand = 0; operand < 2; operand++) {  // in place
      if (!(operand ? b_step : a_step)) continue;
      float *copy = kernel_alloc(n * sizeof *copy, 4);
      memcpy(copy, operand ? b : a, n * sizeof *copy);
      kernel(n, operand ? a : copy, a_step, operand ? copy : b, b_step, copy);
      CHECK_MEM(copy, y, n * sizeof *y);
      kernel_free(copy, 4);
    }
    kernel_free(y, 4);
  }
  kernel_free(a, 4), kernel_free(b, 4);
}

SMR_TEST(tables) {
#define SMR_UKERNEL(isa, suffix, lanes)                     \
  if (KERNEL_RUNS(isa, suffix)) {                           \
    for (size_t n = 1; n <= 3 * (lanes) + 1; n++)           \
      for (size_t steps = 0; steps < 4; steps++)            \
        check_steps(#suffix, isa, n, steps / 2, steps % 2); \
  }
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(nothing) {
  smr_f32_vbinary_kernel(smr_cpu_isa(), SMR_F32_VBINARY_ADD)(0, NULL, 1, NULL, 1, NULL);
  CHECK_STR(smr_f32_vbinary_kernel_name(0), "f32_vbinary__scalar");
}

SMR_TEST_MAIN(RUN(tables); RUN(nothing))
