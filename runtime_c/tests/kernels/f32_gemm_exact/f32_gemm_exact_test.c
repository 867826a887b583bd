// SPDX-License-Identifier: Apache-2.0
// Exact float products: every instruction set against the definition in the contract, bit by bit.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_gemm_exact/f32_gemm_exact.h"
#include "kernels/kernel_data.h"

#include "harness.h"

#include <math.h>

enum { PARTIALS = 16, MOST_ROWS = 9, MOST_COLUMNS = 37 };

static float weight(const void *w, size_t at, int f16) {
  return f16 ? smr_f16_to_f32(((const uint16_t *)w)[at]) : ((const float *)w)[at];
}

static float defined(size_t k, const float *a, const void *panel, size_t column, int f16,
                     const float *bias, const float *residual, float lo, float hi) {
  float p[PARTIALS] = {0};
  for (size_t c = 0; c < k; c++) {
    const float product = a[c] * weight(panel, c * SMR_PANEL + column, f16);
    p[c % PARTIALS] += product;
  }
  for (size_t half = PARTIALS / 2; half; half /= 2)
    for (size_t j = 0; j < half; j++) p[j] += p[j + half];
  float y = p[0];
  if (bias) y += *bias;
  if (residual) y += *residual;
  y = y < lo ? lo : y;
  return y > hi ? hi : y;
}

static void check_product(const struct smr_f32_gemm_config *config, size_t m, size_t n, size_t k,
                          int f16, int more) {
  uint32_t state = (uint32_t)(m * 1000 + n * 70 + k);
  const size_t element = f16 ? 2 : 4, stride = smr_panel_stride_bytes(k, element);
  const size_t padded = smr_panels(n) * SMR_PANEL;
  float *a = kernel_floats(m * k, &state), *bias = kernel_floats(padded, &state);
  float *residual = kernel_floats(m * n, &state), *out = kernel_alloc(m * n * sizeof *out, 4);
  unsigned char *w = kernel_alloc(smr_panels(n) * stride, 0);
  kernel_fill_panels(w, n, k, stride, f16, &state);
  const float lo = more ? -0.5f : -INFINITY, hi = more ? 1.5f : INFINITY;
  const struct smr_f32_gemm_args args = {.batch = 1,
                                         .m = m,
                                         .n = n,
                                         .k = k,
                                         .taps = 1,
                                         .a = a,
                                         .a_stride = k,
                                         .w = w,
                                         .w_type = f16 ? SMR_GEMM_F16 : SMR_GEMM_F32,
                                         .panel_stride_bytes = stride,
                                         .bias = more ? bias : NULL,
                                         .out = out,
                                         .out_stride = n,
                                         .residual = more ? residual : NULL,
                                         .residual_stride = n,
                                         .lo = lo,
                                         .hi = hi};
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(config, &args, &plan);
  smr_f32_gemm_run(&plan, &args, 0, plan.units);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++)
      CHECK(kernel_same_bits(out[i * n + j], defined(k, a + i * k, w + j / SMR_PANEL * stride,
                                                     j % SMR_PANEL, f16, more ? bias + j : NULL,
                                                     more ? residual + i * n + j : NULL, lo, hi)));
  kernel_free(a, 4), kernel_free(bias, 4), kernel_free(residual, 4), kernel_free(out, 4);
  kernel_free(w, 0);
}

static void check_table(const struct smr_f32_gemm_config *config) {
  static const size_t rows[] = {1, 2, 5, MOST_ROWS}, columns[] = {1, 16, 17, MOST_COLUMNS};
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 4; j++)
      for (size_t k = 0; k <= 70; k += k < 34 ? 1 : 9)
        check_product(config, rows[i], columns[j], k, (i + j + k) % 3 == 0, (int)(k % 2));
}

SMR_TEST(products_are_those_of_the_definition) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_table(smr_f32_gemm_exact_config(isa));
#include "kernels/f32_gemm_exact/kernels.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(products_are_those_of_the_definition))
