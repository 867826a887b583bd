// SPDX-License-Identifier: Apache-2.0
// Elementwise float arithmetic: every table, every step, in place, exact buffers.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_vbinary/f32_vbinary.h"
#include "kernels/kernel_data.h"

#include "harness.h"

static float exact(enum smr_f32_vbinary f, float a, float b) {
  switch (f) {
    case SMR_F32_VBINARY_ADD:
      return a + b;
    case SMR_F32_VBINARY_SUB:
      return a - b;
    case SMR_F32_VBINARY_MUL:
      return a * b;
    case SMR_F32_VBINARY_DIV:
      return a / b;
    case SMR_F32_VBINARY_MIN:
      return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    case SMR_F32_VBINARY_MAX:
      return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    default:
      return a >= 0 ? a : a * b;
  }
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
      const float want = exact((enum smr_f32_vbinary)f, a[i * a_step], b[i * b_step]);
      if (!CHECK(isnan(want) ? isnan(y[i]) : y[i] == want)) fprintf(stderr, "%s %d\n", name, f);
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
  const uint32_t have = smr_cpu_isa();
#define SMR_UKERNEL(isa, suffix, lanes)                     \
  if ((have & (isa)) == (isa)) {                            \
    for (size_t n = 1; n <= 3 * (lanes) + 1; n++)           \
      for (size_t steps = 0; steps < 4; steps++)            \
        check_steps(#suffix, isa, n, steps / 2, steps % 2); \
  } else {                                                  \
    NOT_RUN(#suffix, "this CPU lacks it");                  \
  }
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(nothing) {
  smr_f32_vbinary_kernel(smr_cpu_isa(), SMR_F32_VBINARY_ADD)(0, NULL, 1, NULL, 1, NULL);
  CHECK_STR(smr_f32_vbinary_kernel_name(0), "f32_vbinary__scalar");
}

SMR_TEST_MAIN(RUN(tables); RUN(nothing))
