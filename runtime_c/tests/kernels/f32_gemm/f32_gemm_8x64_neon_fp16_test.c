// SPDX-License-Identifier: Apache-2.0
// Tests the float product in float16 arithmetic: its bits, its errors, and what float16 cannot
// hold.
#include "base/fp.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_gemm/f32_gemm_data.h"

enum { HALF_ISA = SMR_ISA_NEON | SMR_ISA_NEON_FP16 };

// Any shape that fits a tile: plans leave small ones to float32.
static smr_f32_gemm_ukernel half_tile(void) {
  return smr_f32_gemm_config(HALF_ISA)->ukernel[SMR_GEMM_F16];
}

static void run_half(const struct smr_f32_gemm_args *args, uint32_t isa) {
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(smr_f32_gemm_config(isa), args, &plan);
  run_all(&plan, args);
}

// Sums of every length up to 100 and long ones, direct and through pointers of few channels.
SMR_TEST(half_sums_of_every_length) {
  if ((smr_cpu_isa() & HALF_ISA) != HALF_ISA) SKIP("this CPU lacks it");
  uint32_t seed = 6;
  for (size_t k = 1; k <= 102; k++) {
    const size_t depth = k == 101 ? 4097 : k == 102 ? 1000 : k;
    for (size_t indirect = 0; indirect < 2; indirect++) {
      const struct problem p = {.m = k % 2 ? 7 : 1,
                                .n = 18,
                                .k = depth,
                                .taps = indirect ? 3 : 1,
                                .batch = 1,
                                .f16_w = 1,
                                .bias = 1,
                                .indirect = (int)indirect};
      struct data d = make_data(&p, &seed);
      run_tile(half_tile(), &d.args);
      if (!CHECK(check_output(&d.args, HALF, 1))) report("half", &p);
      free_data(&d);
    }
  }
}

// Sums of random terms err by a thousandth of their size: chunks are short enough.
SMR_TEST(half_errors_are_small) {
  if ((smr_cpu_isa() & HALF_ISA) != HALF_ISA) SKIP("this CPU lacks it");
  uint32_t seed = 7;
  const struct problem p = {.m = 40, .n = 64, .k = 2048, .taps = 1, .batch = 1, .f16_w = 1};
  struct data d = make_data(&p, &seed);
  run_half(&d.args, HALF_ISA);
  double error = 0, size = 0;
  for (size_t i = 0; i < p.m; i++) {
    for (size_t j = 0; j < p.n; j++) {
      const double exact = expect(&d.args, 0, i, j, FUSED).exact;
      const double off = (double)((float *)d.out)[i * d.args.out_stride + j] - exact;
      error += off * off;
      size += exact * exact;
    }
  }
  CHECK(error > 0);
  CHECK(sqrt(error / size) < 1e-3);
  free_data(&d);
}

// Rows of any magnitude keep their precision: the kernel scales them by powers of two.
SMR_TEST(half_takes_every_magnitude) {
  if ((smr_cpu_isa() & HALF_ISA) != HALF_ISA) SKIP("this CPU lacks it");
  static const int exponents[] = {-149, -126, -60, -24, -1, 15, 16, 40, 126};
  uint32_t seed = 8;
  const struct problem p = {.m = 3, .n = 5, .k = 37, .taps = 1, .batch = 1, .f16_w = 1};
  struct data d = make_data(&p, &seed);
  for (size_t i = 0; i < 37 * 16; i++) {  // positive, and no sum beyond what a float holds
    uint16_t *w = (uint16_t *)d.w + i;
    *w = smr_f32_to_f16(fabsf(smr_f16_to_f32(*w)) * 0.02f);
  }
  for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
    for (size_t i = 0; i < p.m; i++) {
      for (size_t c = 0; c < p.k; c++) {
        d.a[i * d.args.a_stride + c] = ldexpf(1.0f + (float)(c % 8) * 0.125f, exponents[e]);
      }
    }
    run_tile(half_tile(), &d.args);
    for (size_t i = 0; i < p.m; i++) {
      for (size_t j = 0; j < p.n; j++) {
        const double exact = expect(&d.args, 0, i, j, FUSED).exact;
        const double got = (double)((float *)d.out)[i * d.args.out_stride + j];
        if (!CHECK(fabs(got - exact) <= 0x1p-7 * exact + 0x1p-148)) {
          fprintf(stderr, "  2^%d: %a, not %a\n", exponents[e], got, exact);
        }
      }
    }
  }
  free_data(&d);
}

// Sums beyond float16 have the bits of the float32 kernel, and do not change their neighbours.
SMR_TEST(half_never_overflows) {
  if ((smr_cpu_isa() & HALF_ISA) != HALF_ISA) SKIP("this CPU lacks it");
  for (size_t m = 1; m <= 8; m += 7) {
    for (int what = 0; what < 4; what++) {
      uint32_t seed = 9;
      const struct problem p = {
          .m = m, .n = 70, .k = 70, .taps = 1, .batch = 1, .f16_w = 1, .bias = 1, .residual = 1};
      struct data d = make_data(&p, &seed);
      const size_t count = (p.m - 1) * d.args.out_stride + p.n;
      float *half = (float *)malloc(count * 4), *wide = (float *)malloc(count * 4);
      if (!CHECK(half && wide)) return;
      run_half(&d.args, HALF_ISA);
      memcpy(half, d.out, count * 4);
      float *a = d.a + (m - 1) * d.args.a_stride;
      uint16_t *w = (uint16_t *)d.w + 16;  // step 1 of the first panel
      const float values[] = {3e38f, INFINITY, NAN};
      if (what < 3) {
        a[1] = values[what];
        w[3] = smr_f32_to_f16(what == 1 ? 0.0f : 1e-3f);  // infinity times 0 is NaN
        a[2] = what == 0 ? -3e38f : 0.5f;
      } else {
        for (size_t s = 0; s < 40; s++) d.a[(m - 1) * d.args.a_stride + s] = 1.0f;
        for (size_t s = 0; s < 40; s++)
          w[s * 16 - 16 + 3] = smr_f32_to_f16(s % 2 ? -6e4f : 65504.0f);
        w[3] = w[3 + 16] = w[3 - 16];  // of one sign: beyond float16, far from float32's end
      }
      run_half(&d.args, SMR_ISA_NEON);
      memcpy(wide, d.out, count * 4);
      run_half(&d.args, HALF_ISA);
      const float *out = (const float *)d.out;
      for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < p.n; j++) {
          const size_t at = i * d.args.out_stride + j;
          if (what == 0 && i == m - 1) {
            // Finite exactly where float32 is, and within 1e-3 of the largest terms.
            CHECK_EQ_INT(isfinite(out[at]), isfinite(wide[at]));
          } else if (what < 3 && i == m - 1) {
            CHECK(!isfinite(out[at]));
            if (m > 1) CHECK(kernel_same_bits(out[at], wide[at]));
          } else if (what == 3 && i == m - 1 && j == 3) {
            CHECK(isfinite(out[at]) && fabsf(out[at]) > 65504.0f);
            CHECK(fabs((double)out[at] - (double)wide[at]) <= 0.25);
            if (m > 1) CHECK(kernel_same_bits(out[at], wide[at]));
          } else if (j != 3 && i != m - 1) {
            CHECK(kernel_same_bits(out[at], half[at]));
          }
        }
      }
      free(half);
      free(wide);
      free_data(&d);
    }
  }
}
// Float16 arithmetic is for float16 weights, and where its bit is set.
SMR_TEST(half_is_for_half_weights) {
  if (!SMR_ARCH_AARCH64) SKIP("another architecture");
  struct smr_f32_gemm_args args = {.batch = 1, .m = 5, .n = 500, .k = 32, .taps = 1};
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(smr_f32_gemm_config(HALF_ISA), &args, &plan);
  CHECK_STR(plan.kernel, "f32_gemm_8x16__neon");
  args.w_type = SMR_GEMM_F16;
  smr_f32_gemm_plan_make(smr_f32_gemm_config(HALF_ISA), &args, &plan);
  CHECK_STR(plan.kernel, "f32_gemm_8x64_f16w__neon_fp16");
  CHECK_EQ_INT(plan.units, 8);
  smr_f32_gemm_plan_make(smr_f32_gemm_config(SMR_ISA_NEON), &args, &plan);
  CHECK_STR(plan.kernel, "f32_gemm_8x16_f16w__neon");
  args.m = 1;
  smr_f32_gemm_plan_make(smr_f32_gemm_config(HALF_ISA), &args, &plan);
  CHECK_STR(plan.kernel, "f32_gemm_gemv_f16w__neon_fp16");
  CHECK_EQ_INT(plan.units, 8);
  args.k = 31;
  smr_f32_gemm_plan_make(smr_f32_gemm_config(HALF_ISA), &args, &plan);
  CHECK_STR(plan.kernel, "f32_gemm_gemv_f16w__neon");
  args.m = 5;
  args.k = 64;
  args.n = 16;
  smr_f32_gemm_plan_make(smr_f32_gemm_config(HALF_ISA), &args, &plan);
  CHECK_STR(plan.kernel, "f32_gemm_8x16_f16w__neon");
}

SMR_TEST_MAIN(RUN(half_sums_of_every_length); RUN(half_errors_are_small);
              RUN(half_takes_every_magnitude); RUN(half_never_overflows);
              RUN(half_is_for_half_weights))
