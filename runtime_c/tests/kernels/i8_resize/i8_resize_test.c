// SPDX-License-Identifier: Apache-2.0
// Tests linear interpolation of int8 against a naive one to the bit.
#include "base/fp.h"

#include "kernels/i8_resize/i8_resize.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"

enum { WIDTH = 5, PIXELS = 7 };

static int32_t *ints(size_t n) { return (int32_t *)kernel_alloc(n * 4, 4); }

static int8_t *draw(size_t n, uint32_t *seed) {
  int8_t *x = (int8_t *)kernel_alloc(n, 1);
  for (size_t i = 0; i < n; i++) {
    const uint32_t r = kernel_random(seed);
    x[i] = r % 4 == 0 ? INT8_MIN : r % 4 == 1 ? INT8_MAX : (int8_t)(uint8_t)(r >> 8);
  }
  return x;
}

static int8_t expect(int32_t sum, const struct smr_i8_resize_end *end) {
  const float p = (float)sum * end->multiplier;
  const float low = (float)(end->lo - end->zero), high = (float)(end->hi - end->zero);
  return (int8_t)((int32_t)rintf(fminf(fmaxf(p, low), high)) + end->zero);
}

static void check_row(const struct smr_i8_resize *config, size_t channels, uint32_t *seed) {
  const struct smr_i8_resize_end ends[] = {{0x1p-22f, -3, -128, 127}, {0x1p-20f, 127, -100, 90}};
  const struct smr_i8_resize_end *end = &ends[channels % 2];
  const int32_t weight = (int32_t)(kernel_random(seed) % (SMR_I8_RESIZE_ONE + 1));
  const int32_t x_zero = channels % 3 == 0 ? -128 : 17;
  const size_t n = WIDTH * channels;
  int8_t *a = draw(n, seed), *b = draw(n, seed), *y = draw(PIXELS * channels, seed);
  int32_t *row = ints(n), *taps = ints(PIXELS * 3);
  int right = 1;
  config->centre(n, a, x_zero, row);
  for (size_t i = 0; i < n; i++) right = right && row[i] == a[i] - x_zero;
  config->blend(n, a, b, weight, x_zero, row);
  for (size_t i = 0; i < n; i++)
    right = right &&
            row[i] == (a[i] - x_zero) * (SMR_I8_RESIZE_ONE - weight) + (b[i] - x_zero) * weight;
  for (size_t i = 0; i < PIXELS * 3; i++)
    taps[i] = (int32_t)(kernel_random(seed) % (i % 3 == 2 ? SMR_I8_RESIZE_ONE + 1u : WIDTH + 0u));
  config->row(PIXELS, channels, taps, row, end, y);
  for (size_t i = 0; i < PIXELS * channels; i++) {
    const int32_t *tap = taps + i / channels * 3;
    const int32_t sum =
        row[(size_t)tap[0] * channels + i % channels] * (SMR_I8_RESIZE_ONE - tap[2]) +
        row[(size_t)tap[1] * channels + i % channels] * tap[2];
    right = right && y[i] == expect(sum, end);
  }
  if (!CHECK(right)) fprintf(stderr, "  %s with %zu channels\n", config->name, channels);
  kernel_free(a, 1), kernel_free(b, 1), kernel_free(y, 1);
  kernel_free(row, 4), kernel_free(taps, 4);
}

SMR_TEST(interpolates) {
  uint32_t seed = 1;
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix))         \
    for (size_t c = 1; c <= 131; c++) check_row(smr_i8_resize_config(isa), c, &seed);
#include "kernels/int8.inc"
#undef SMR_UKERNEL
  CHECK_STR(smr_i8_resize_config(0)->name, "i8_resize__scalar");
}

SMR_TEST_MAIN(RUN(interpolates))
