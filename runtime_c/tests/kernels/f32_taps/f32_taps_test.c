// SPDX-License-Identifier: Apache-2.0
// Kernels over pixels that lie anywhere, of every ISA this CPU has, against sums in double.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_taps/f32_taps.h"

#include <math.h>

enum { TAPS = 5 };

// The last pixel ends where the buffer ends; two taps share one.
static void check_pixels(const struct smr_f32_taps_kernels *k, size_t n) {
  const size_t offsets[TAPS] = {n + 3, 0, 3 * n + 1, 0, 2 * n};
  const size_t all = 4 * n + 1;
  uint32_t seed = (uint32_t)n + 9;
  float *x = kernel_floats(all, &seed), *y = kernel_floats(n, &seed);
  float *weights = kernel_floats(TAPS, &seed), *sum = (float *)kernel_alloc(n * sizeof *sum, 4);
  k->sum(n, TAPS, offsets, weights, x, sum);
  for (size_t i = 0; i < n; i++) {
    double want = 0;
    for (size_t t = 0; t < TAPS; t++) want += (double)weights[t] * (double)x[offsets[t] + i];
    CHECK_NEAR(sum[i], want, 5e-7);
  }
  k->sum(n, 0, offsets, weights, x, sum);
  for (size_t i = 0; i < n; i++) CHECK(sum[i] == 0);
  for (size_t i = 0; i < n; i++) sum[i] = i % 3 ? -INFINITY : 0.25f;
  k->largest(n, TAPS, offsets, weights, x, sum);
  for (size_t i = 0; i < n; i++) {
    float want = i % 3 ? -INFINITY : 0.25f;
    for (size_t t = 0; t < TAPS; t++) want = fmaxf(want, weights[t] * x[offsets[t] + i]);
    CHECK(sum[i] == want);
  }
  float dots[TAPS];
  k->dots(n, TAPS, offsets, x, y, dots);
  for (size_t t = 0; t < TAPS; t++) {
    double want = 0;
    for (size_t i = 0; i < n; i++) want += (double)x[offsets[t] + i] * (double)y[i];
    CHECK_NEAR(dots[t], want, 1e-6 * (double)(n + 4));
  }
  double *want = (double *)malloc(all * sizeof *want);
  if (want == NULL) abort();
  for (size_t i = 0; i < all; i++) want[i] = (double)x[i];
  for (size_t t = 0; t < TAPS; t++)
    for (size_t i = 0; i < n; i++) want[offsets[t] + i] += (double)weights[t] * (double)y[i];
  k->spread(n, TAPS, offsets, weights, y, x);
  for (size_t i = 0; i < all; i++) CHECK_NEAR(x[i], want[i], 1e-6);
  free(want);
  kernel_free(x, 4);
  kernel_free(y, 4);
  kernel_free(weights, 4);
  kernel_free(sum, 4);
}

// NaN wins, wherever it comes from.
static void check_nan(const struct smr_f32_taps_kernels *k, size_t n) {
  uint32_t seed = (uint32_t)n;
  const size_t offsets[TAPS] = {0, n, 0, n, 0};
  float *x = kernel_floats(2 * n, &seed), *y = kernel_floats(n, &seed);
  float *weights = kernel_floats(TAPS, &seed);
  for (size_t i = 0; i < n; i++) {
    if (i % 2 == 0) x[i + n] = NAN;
    if (i % 3 == 0) y[i] = NAN;
  }
  k->largest(n, TAPS, offsets, weights, x, y);
  for (size_t i = 0; i < n; i++) CHECK((y[i] != y[i]) == (i % 2 == 0 || i % 3 == 0));
  kernel_free(x, 4);
  kernel_free(y, 4);
  kernel_free(weights, 4);
}

static void check_kernels(const struct smr_f32_taps_kernels *k, size_t lanes) {
  for (size_t n = 3; n <= 3 * lanes + 4; n++) {
    check_pixels(k, n);
    check_nan(k, n);
  }
}

SMR_TEST(every_table) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_kernels(smr_f32_taps_kernels(bit), lanes);
#include "kernels/float.inc"
#undef SMR_UKERNEL
  CHECK_STR(smr_f32_taps_kernels(SMR_ISA_NONE)->name, "f32_taps__scalar");
}

SMR_TEST_MAIN(RUN(every_table))
