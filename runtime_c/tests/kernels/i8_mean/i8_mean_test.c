// SPDX-License-Identifier: Apache-2.0
// Tests sums and means of int8 against naive ones to the bit.
#include "base/fp.h"

#include "kernels/i8_mean/i8_mean.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"

// Bytes at the ends of the range, so that sums of too many would leave int16.
static int8_t *draw(size_t n, int8_t fill, uint32_t *seed) {
  int8_t *x = (int8_t *)kernel_alloc(n, 1);
  for (size_t i = 0; i < n; i++) x[i] = fill ? fill : (int8_t)(uint8_t)kernel_random(seed);
  return x;
}

static void check_columns(const struct smr_i8_mean *config, size_t width, size_t rows, int8_t fill,
                          uint32_t *seed) {
  const size_t stride = width + 3;
  int8_t *x = draw((rows - 1) * stride + width, fill, seed);
  int32_t *sums = (int32_t *)kernel_alloc(width * 4, 4);
  int right = 1;
  for (size_t c = 0; c < width; c++) sums[c] = (int32_t)c - 5;
  config->columns(width, rows, stride, x, sums);
  for (size_t c = 0; c < width; c++) {
    int32_t expected = (int32_t)c - 5;
    for (size_t r = 0; r < rows; r++) expected += x[r * stride + c];
    right = right && sums[c] == expected;
  }
  if (!CHECK(right)) fprintf(stderr, "  %s %zu x %zu\n", config->name, rows, width);
  int32_t expected = 0;
  for (size_t i = 0; i < width; i++) expected += x[i];
  CHECK_EQ_INT(config->row(width, x), expected);
  kernel_free(x, 1);
  kernel_free(sums, 4);
}

static void check_finish(const struct smr_i8_mean *config, size_t n, uint32_t *seed) {
  const struct smr_i8_mean_end ends[] = {
      {.offset = 3, .multiplier = 0.5f, .zero = 0, .lo = -128, .hi = 127},  // ties
      {.offset = -7, .multiplier = 0x1p30f, .zero = -128, .lo = -128, .hi = 127},
      {.offset = 0, .multiplier = 0.31f, .zero = 127, .lo = -20, .hi = 33},
  };
  int32_t *sums = (int32_t *)kernel_alloc(n * 4, 4);
  int8_t *y = (int8_t *)kernel_alloc(n, 1);
  for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
    const struct smr_i8_mean_end *end = &ends[e];
    for (size_t i = 0; i < n; i++) sums[i] = (int32_t)(kernel_random(seed) % 1024) - 512;
    config->finish(n, sums, end, y);
    int right = 1;
    for (size_t i = 0; i < n; i++) {
      const float p = (float)(sums[i] - end->offset) * end->multiplier;
      const float within =
          fminf(fmaxf(p, (float)(end->lo - end->zero)), (float)(end->hi - end->zero));
      right = right && y[i] == (int32_t)rintf(within) + end->zero;
    }
    if (!CHECK(right)) fprintf(stderr, "  %s of %zu\n", config->name, n);
  }
  kernel_free(sums, 4);
  kernel_free(y, 1);
}

static void check_window(const struct smr_i8_mean *config, size_t channels, uint32_t *seed) {
  enum { TAPS = 2 * 3 * 4 };
  const size_t stride = channels + 1;
  int8_t *x = draw(TAPS * stride - 1, 0, seed), *y = draw(channels, 0, seed);
  const struct smr_pool_window window = {x, {2, 3, 2}, {12 * stride, 4 * stride, stride}};
  const struct smr_i8_mean_end end = {
      .offset = 12 * -9, .multiplier = 0.125f, .zero = 5, .lo = -100, .hi = 127};
  config->window(channels, &window, &end, y);
  int right = 1;
  for (size_t c = 0; c < channels; c++) {
    int32_t sum = -end.offset;
    for (size_t t = 0; t < TAPS; t++) sum += t % 4 < 2 ? x[t * stride + c] : 0;
    const float within = fminf(fmaxf((float)sum * 0.125f, -105.0f), 122.0f);
    right = right && y[c] == (int32_t)rintf(within) + 5;
  }
  if (!CHECK(right)) fprintf(stderr, "  %s, window of %zu channels\n", config->name, channels);
  kernel_free(x, 1);
  kernel_free(y, 1);
}

// Sums of 0.1f and the like: where they round, and in which order, decides how ties fall.
static void check_window_real(const struct smr_i8_mean *config, size_t channels, uint32_t *seed) {
  enum { TAPS = 2 * 3 * 4 };
  const struct smr_i8_mean_real means[] = {
      {.x_scale = 0.1f, .count = 12, .scale = 0.1f, .x_zero = 3, .lo = -128, .hi = 127},
      {.x_scale = 0.3f, .count = 4, .scale = 0.1f, .x_zero = -9, .zero = 5, .lo = -100, .hi = 90},
      {.x_scale = 0x1p64f, .count = 1, .scale = 0x1p-126f, .zero = -7, .lo = -90, .hi = 127},
  };
  const size_t stride = channels + 1;
  int8_t *x = draw(TAPS * stride - 1, 0, seed), *y = draw(channels, 0, seed);
  for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
    const struct smr_i8_mean_real *mean = &means[m];
    const struct smr_pool_window window = {x, {2, 3, 2}, {12 * stride, 4 * stride, stride}};
    config->window_real(channels, &window, mean, y);
    int right = 1;
    for (size_t c = 0; c < channels; c++) {
      volatile float sum = 0;  // rounded after each operation
      for (size_t t = 0; t < TAPS; t++) {
        volatile const float v = (float)(x[t * stride + c] - mean->x_zero) * mean->x_scale;
        if (t % 4 < 2) sum = sum + v;
      }
      volatile const float average = sum / mean->count;
      const float lo = (float)(mean->lo - mean->zero), hi = (float)(mean->hi - mean->zero);
      const float within = fminf(fmaxf(average / mean->scale, lo), hi);
      right = right && y[c] == (int32_t)rintf(within) + mean->zero;
    }
    if (!CHECK(right))
      fprintf(stderr, "  %s, mean %zu of %zu dequantized channels\n", config->name, m, channels);
    const struct smr_pool_window none = {NULL, {0, 0, 0}, {0, 0, 0}};
    config->window_real(channels, &none, mean, y);
    for (size_t c = 0; c < channels; c++) right = right && y[c] == mean->zero;
    CHECK(right);
  }
  kernel_free(x, 1);
  kernel_free(y, 1);
}

static void check_all(const struct smr_i8_mean *config) {
  uint32_t seed = 1;
  for (size_t width = 1; width <= 131; width++) {
    check_columns(config, width, 1 + width % 11, 0, &seed);
    check_finish(config, width, &seed);
    check_window(config, width, &seed);
    check_window_real(config, width, &seed);
  }
  for (size_t rows = 250; rows <= 700; rows += 75) {
    check_columns(config, 67, rows, -128, &seed);
    check_columns(config, 67, rows, 127, &seed);
  }
}

SMR_TEST(sums_and_means) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_all(smr_i8_mean_config(isa));
#include "kernels/i8_mean/kernels.inc"
#undef SMR_UKERNEL
  CHECK_STR(smr_i8_mean_config(0)->name, "i8_mean__scalar");
}

SMR_TEST_MAIN(RUN(sums_and_means))
