// SPDX-License-Identifier: Apache-2.0
// Resize kernels of every ISA this CPU has, against sums in double.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_resize/f32_resize.h"
#include "simd/half.h"

static void check_blend(const struct smr_f32_resize_kernels *k, int half, size_t n) {
  uint32_t seed = (uint32_t)n + 1;
  const size_t element = half ? 2 : 4, rows = 3, outer = 2;
  const size_t total = ((outer - 1) * 4 + rows - 1) * (n + 3) + n;
  void *x = half ? (void *)kernel_halves(total, &seed) : (void *)kernel_floats(total, &seed);
  const float a[2] = {0.25f, 0.75f}, b[3] = {-0.1f, 0.9f, 0.2f};
  const struct smr_resize_rows set = {
      x, {outer, rows}, {4 * (n + 3) * element, (n + 3) * element}, {a, b}};
  float *y = (float *)kernel_alloc(n * sizeof *y, 4);
  k->blend[half](n, &set, y);
  for (size_t i = 0; i < n; i++) {
    double want = 0;
    for (size_t r = 0; r < outer; r++)
      for (size_t s = 0; s < rows; s++) {
        const size_t at = (r * 4 + s) * (n + 3) + i;
        want += (double)a[r] * (double)b[s] *
                (half ? (double)smr_f16_to_f32(((const uint16_t *)x)[at])
                      : (double)((const float *)x)[at]);
      }
    CHECK_NEAR(y[i], want, 4e-7);
  }
  kernel_free(y, 4);
  kernel_free(x, 4);
}

static void check_row(const struct smr_f32_resize_kernels *k, int half, size_t channels) {
  enum { PIXELS = 5, INPUTS = 6, WIDTH = 4 };
  static const int32_t first[PIXELS] = {0, 2, 5, 0, 3}, count[PIXELS] = {4, 3, 1, 0, 2};
  uint32_t seed = (uint32_t)channels;
  const size_t element = half ? 2 : 4, x_stride = channels + 2, y_stride = channels + 1;
  float *weights = kernel_floats(PIXELS * WIDTH, &seed);
  float *x = kernel_floats((INPUTS - 1) * x_stride + channels, &seed);
  unsigned char *y =
      (unsigned char *)kernel_alloc(((PIXELS - 1) * y_stride + channels) * element, 4);
  const struct smr_resize_axis axis = {first, count, weights, WIDTH};
  k->row[half](PIXELS, channels, &axis, x, x_stride, y, y_stride);
  for (size_t p = 0; p < PIXELS; p++)
    for (size_t c = 0; c < y_stride && p * y_stride + c < (PIXELS - 1) * y_stride + channels; c++) {
      const size_t at = p * y_stride + c;
      if (c == channels || count[p] == 0) {  // gaps and pixels outside are not written
        for (size_t b = 0; b < element; b++) CHECK_EQ_INT(y[at * element + b], 0xff);
        continue;
      }
      double want = 0;
      for (size_t t = 0; t < (size_t)count[p]; t++)
        want += (double)weights[p * WIDTH + t] * (double)x[((size_t)first[p] + t) * x_stride + c];
      const double got = half ? (double)smr_f16_to_f32(((const uint16_t *)(const void *)y)[at])
                              : (double)((const float *)(const void *)y)[at];
      CHECK_NEAR(got, want, half ? 2e-3 : 5e-7);
    }
  kernel_free(y, 4);
  kernel_free(x, 4);
  kernel_free(weights, 4);
}

static void check_kernels(const struct smr_f32_resize_kernels *k, size_t lanes) {
  for (size_t n = 1; n <= 8 * lanes + 3; n += n < 3 * lanes ? 1 : 3)
    for (int half = 0; half < 2; half++) {
      check_blend(k, half, n);
      check_row(k, half, n);
    }
}

SMR_TEST(every_table) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_kernels(smr_f32_resize_kernels(bit), lanes);
#include "kernels/float.inc"
#undef SMR_UKERNEL
  CHECK_STR(smr_f32_resize_kernels(SMR_ISA_NONE)->name, "f32_resize__scalar");
}

SMR_TEST_MAIN(RUN(every_table))
