// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of every ISA this CPU has, against the sums that define them, in double.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_fft/f32_fft.h"

#include <math.h>

static struct smr_f32_fft_parts parts(float *at, size_t n) {
  return (struct smr_f32_fft_parts){at, at + n};
}

static void check_element(struct smr_f32_fft_parts x, struct smr_f32_fft_parts y, size_t n,
                          size_t s, size_t k, size_t lane) {
  double re = 0, im = 0;
  for (size_t j = 0; j < n; j++) {
    const double angle = -6.283185307179586 * (double)(j * k % n) / (double)n;
    const double a = (double)x.re[j * s + lane], b = (double)x.im[j * s + lane];
    re += a * cos(angle) - b * sin(angle);
    im += a * sin(angle) + b * cos(angle);
  }
  const double tolerance = 3e-7 * sqrt((double)n) * (1 + log2((double)n));
  CHECK_NEAR(y.re[k * s + lane], re, tolerance);
  CHECK_NEAR(y.im[k * s + lane], im, tolerance);
}

// n with side-by-side transforms s; the bits of one do not depend on its neighbours.
static void check_length(const struct smr_f32_fft_kernels *kernels, size_t n, size_t s) {
  struct smr_f32_fft_plan plan;
  CHECK(smr_f32_fft_plan_make(n, &plan));
  uint32_t seed = (uint32_t)(n * 31 + s);
  float *given = kernel_floats(2 * n * s, &seed), *roots = kernel_floats(2 * n, &seed);
  float *x = kernel_floats(2 * n * s, &seed), *work = kernel_floats(2 * n * s, &seed);
  memcpy(x, given, 2 * n * s * sizeof *x);
  smr_f32_fft_roots(n, parts(roots, n));
  const struct smr_f32_fft_parts y =
      smr_f32_fft_run(kernels, &plan, s, parts(roots, n), parts(x, n * s), parts(work, n * s));
  for (size_t k = 0; k < n; k += n / 40 + 1) check_element(parts(given, n * s), y, n, s, k, k % s);
  float *one = kernel_floats(2 * n, &seed), *other = kernel_floats(2 * n, &seed);
  const size_t lane = s - 1;
  for (size_t j = 0; j < n; j++) {
    one[j] = given[j * s + lane];
    one[n + j] = given[(n + j) * s + lane];
  }
  const struct smr_f32_fft_parts alone =
      smr_f32_fft_run(kernels, &plan, 1, parts(roots, n), parts(one, n), parts(other, n));
  for (size_t k = 0; k < n; k++) {
    CHECK(kernel_same_bits(alone.re[k], y.re[k * s + lane]));
    CHECK(kernel_same_bits(alone.im[k], y.im[k * s + lane]));
  }
  kernel_free(given, 4), kernel_free(roots, 4), kernel_free(x, 4), kernel_free(work, 4);
  kernel_free(one, 4), kernel_free(other, 4);
}

static void check_scale(const struct smr_f32_fft_kernels *kernels, size_t n, size_t s) {
  uint32_t seed = (uint32_t)(n + s);
  float *w = kernel_floats(2 * n, &seed), *x = kernel_floats(2 * n * s, &seed);
  float *given = kernel_floats(2 * n * s, &seed);
  memcpy(given, x, 2 * n * s * sizeof *x);
  kernels->scale(n, s, parts(w, n), parts(x, n * s));
  for (size_t i = 0; i < n * s; i++) {
    const double a = (double)given[i], b = (double)given[n * s + i];
    const double c = (double)w[i / s], d = (double)w[n + i / s];
    CHECK_NEAR(x[i], a * c - b * d, 3e-7);
    CHECK_NEAR(x[n * s + i], a * d + b * c, 3e-7);
  }
  kernel_free(w, 4), kernel_free(x, 4), kernel_free(given, 4);
}

static void check_kernels(const struct smr_f32_fft_kernels *kernels) {
  static const size_t lengths[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,   11,  12,  13,  15,
                                   16, 20, 29, 31, 60, 64, 77, 100, 243, 400, 512, 961, 1000};
  static const size_t sides[] = {1, 2, 7, 16, 17, 33};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
    for (size_t j = 0; j < sizeof sides / sizeof sides[0]; j++)
      check_length(kernels, lengths[i], sides[j]);
  for (size_t s = 1; s <= 37; s++) check_scale(kernels, 5, s);
}

SMR_TEST(every_kernel) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_kernels(smr_f32_fft_kernels((bit)));
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(plans) {
  struct smr_f32_fft_plan plan;
  CHECK(smr_f32_fft_plan_make(1, &plan) && plan.passes == 0);
  CHECK(smr_f32_fft_plan_make(128, &plan) && plan.passes == 4 && plan.radix[3] == 2);
  CHECK(smr_f32_fft_plan_make(31 * 30, &plan) && plan.passes == 4);
  CHECK(!smr_f32_fft_plan_make(37 * 4, &plan));
  CHECK(!smr_f32_fft_plan_make(1009, &plan));
  CHECK(smr_f32_fft_plan_make((size_t)1 << 31, &plan) && plan.passes <= SMR_F32_FFT_PASSES);
}

// Far from the start of the table, too, roots are those of double.
SMR_TEST(roots) {
  enum { N = 99991 };
  static float table[2 * N];
  smr_f32_fft_roots(N, parts(table, N));
  for (size_t k = 0; k < N; k += 7) {
    const double angle = -6.283185307179586 * (double)k / (double)N;
    CHECK_NEAR(table[k], cos(angle), 3.1e-8);
    CHECK_NEAR(table[N + k], sin(angle), 3.1e-8);
  }
}

SMR_TEST_MAIN(RUN(every_kernel); RUN(plans); RUN(roots))
