// SPDX-License-Identifier: Apache-2.0
// Tests the steps over arrays of pixels against their formulas to the bit, on every instruction
// set.
#include "base/fp.h"

#include "kernels/image_rows/image_rows.h"

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"

enum { SMALL = 131, ONE = 1 << SMR_IMAGE_WEIGHT_BITS, MOST_SUM = 255 << 7 };
static const size_t large_sizes[] = {1000, 16384 * 3};

static size_t rows_whole(size_t n) {
  return (n + SMR_IMAGE_STEP - 1) / SMR_IMAGE_STEP * SMR_IMAGE_STEP;
}

// ---- data: exactly as many whole steps as a kernel may touch ----

static int64_t rows_shift(int64_t sum, int bits) {
  const int64_t unit = (int64_t)1 << bits;
  return sum / unit - (sum % unit < 0);  // rounded down
}

static uint8_t rows_clip(int64_t x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x); }

// Many bytes at the ends of the range: sums are extreme there.
static uint8_t *rows_bytes(size_t n, uint32_t *seed) {
  uint8_t *x = kernel_alloc(rows_whole(n), 1);
  const uint32_t kind = kernel_random(seed) % 4;
  for (size_t i = 0; i < rows_whole(n); i++) {
    const uint32_t r = kernel_random(seed);
    const uint8_t end = r % 2 != 0 ? 255 : 0;
    x[i] = kind == 0 ? 255 : kind == 1 ? end : (uint8_t)(r >> 8);
  }
  return x;
}

static uint8_t *rows_copy(const uint8_t *x, size_t n) {
  uint8_t *copy = kernel_alloc(rows_whole(n), 1);
  memcpy(copy, x, rows_whole(n));
  return copy;
}

static int32_t *rows_sums(size_t n, uint32_t *seed) {
  int32_t *h = kernel_alloc(rows_whole(n) * sizeof *h, 4);
  for (size_t i = 0; i < rows_whole(n); i++) {
    const uint32_t r = kernel_random(seed);
    h[i] = (int32_t)(r % 3 == 0 ? MOST_SUM : r / 4 % (MOST_SUM + 1));
  }
  return h;
}

static int32_t *rows_ints(size_t n, int64_t least, int64_t most, uint32_t *seed) {
  int32_t *x = kernel_alloc(rows_whole(n) * sizeof *x, 4);
  for (size_t i = 0; i < rows_whole(n); i++)
    x[i] = (int32_t)(least + (int64_t)kernel_random(seed) * 256 % (most - least + 1));
  return x;
}

// Two weights of each pixel, whose sum is ONE, or for all pixels the same: 0 and ONE often.
static int32_t *rows_weights(size_t n, bool each, uint32_t *seed) {
  const size_t count = each ? rows_whole(n) : SMR_IMAGE_STEP;
  int32_t *w = kernel_alloc(count * sizeof *w, 4);
  for (size_t i = 0; i < count; i++) {
    const uint32_t r = kernel_random(seed);
    const int a = r % 4 == 0 ? 0 : r % 4 == 1 ? ONE : (int)(r / 4 % (ONE + 1));
    w[i] = each || i == 0 ? a | (ONE - a) << 16 : w[0];
  }
  return w;
}

static int64_t rows_taps(const int32_t *w, bool each, size_t i, int64_t a, int64_t b) {
  const int32_t pair = w[each ? i : 0];
  return (pair & 0xffff) * a + (pair >> 16) * b;
}

static const struct smr_image_colour rows_colours[] = {
    {16, 76309, 104597, -25675, -53279, 132201},
    {0, 65536, 91881, -22553, -46802, 116130},
    {16, 76309, 117489, -13975, -34925, 138438},
    {0, 65536, 103206, -12276, -30679, 121609},
};
enum { COLOURS = sizeof rows_colours / sizeof rows_colours[0] };

static void rows_new(uint8_t *x[3], size_t n) {
  for (int c = 0; c < 3; c++) x[c] = kernel_alloc(rows_whole(n), 1);
}

static void rows_drop(uint8_t *const x[3]) {
  for (int c = 0; c < 3; c++) kernel_free(x[c], 1);
}

// ---- one step each: whether n elements are right ----

static bool splits(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  uint8_t *pixels = rows_bytes(rows_whole(n) * 4, seed);
  const uint32_t bgra[3] = {16, 8, 0}, others[3] = {0, 24, 8};
  const uint32_t *shifts = n % 2 != 0 ? bgra : others;
  uint8_t *x[3];
  rows_new(x, n);
  rows->split(n, pixels, shifts, x[0], x[1], x[2]);
  bool right = true;
  for (size_t i = 0; i < n; i++)
    for (int c = 0; c < 3; c++) right = right && x[c][i] == pixels[4 * i + shifts[c] / 8];
  kernel_free(pixels, 1), rows_drop(x);
  return right;
}

static bool colour_is_right(const struct smr_image_colour *f, uint8_t y, uint16_t uv, bool v_first,
                            uint8_t r, uint8_t g, uint8_t b) {
  const int64_t light = (int64_t)f->cy * (y - f->offset);
  const int64_t du = (v_first ? uv / 256 : uv & 255) - 128;
  const int64_t dv = (v_first ? uv & 255 : uv / 256) - 128;
  return r == rows_clip(rows_shift(light + f->rv * dv + 32768, 16)) &&
         g == rows_clip(rows_shift(light + f->gu * du + f->gv * dv + 32768, 16)) &&
         b == rows_clip(rows_shift(light + f->bu * du + 32768, 16));
}

static bool colours(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  bool right = true;
  for (int k = 0; k < 2 * COLOURS; k++) {
    const struct smr_image_colour *f = &rows_colours[k / 2];
    const bool v_first = k % 2 != 0;
    uint8_t *y = rows_bytes(n, seed), *bytes = rows_bytes(2 * rows_whole(n), seed), *x[3];
    uint16_t *uv = kernel_alloc(rows_whole(n) * 2, 2);
    memcpy(uv, bytes, rows_whole(n) * 2);
    rows_new(x, n);
    rows->colour(n, y, uv, v_first, f, x[0], x[1], x[2]);
    for (size_t i = 0; i < n; i++)
      right = right && colour_is_right(f, y[i], uv[i], v_first, x[0][i], x[1][i], x[2][i]);
    kernel_free(y, 1), kernel_free(bytes, 1), kernel_free(uv, 2), rows_drop(x);
  }
  return right;
}

static bool brightness(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  bool right = true;
  for (int k = 0; k < COLOURS; k++) {
    const struct smr_image_colour f = rows_colours[k];
    uint8_t *x = rows_bytes(n, seed), *before = rows_copy(x, n);
    rows->brightness(n, &f, x);
    for (size_t i = 0; i < n; i++) {
      const int64_t sum = (int64_t)f.cy * (before[i] - f.offset);
      right = right && x[i] == rows_clip(rows_shift(sum + 32768, 16));
    }
    kernel_free(x, 1), kernel_free(before, 1);
  }
  return right;
}

static bool luma(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  uint8_t *r = rows_bytes(n, seed), *g = rows_bytes(n, seed), *b = rows_bytes(n, seed);
  uint8_t *before = rows_copy(r, n);
  rows->luma(n, r, g, b);
  bool right = true;
  for (size_t i = 0; i < n; i++)
    right = right && r[i] == (19595 * before[i] + 38470 * g[i] + 7471 * b[i] + 32768) / 65536;
  kernel_free(r, 1), kernel_free(g, 1), kernel_free(b, 1), kernel_free(before, 1);
  return right;
}

// Bytes beside each other to sums along rows.
static bool sums_along(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  uint8_t *x = rows_bytes(2 * rows_whole(n), seed);
  int32_t *w = rows_weights(n, true, seed), *sums = rows_ints(n, 0, 63, seed);
  int32_t *before = kernel_alloc(rows_whole(n) * 4, 4), *end = kernel_alloc(rows_whole(n) * 4, 4);
  int32_t *h = rows_sums(n, seed);
  memcpy(before, sums, rows_whole(n) * 4);
  rows->along(n, x, w, h), rows->along_add(n, x, w, sums);
  memcpy(end, sums, rows_whole(n) * 4);
  rows->along_end(n, end);
  bool right = true;
  for (size_t i = 0; i < n; i++) {
    const int64_t sum = rows_taps(w, true, i, x[2 * i], x[2 * i + 1]);
    right = right && h[i] == (sum + 64) / 128 && sums[i] == before[i] + sum &&
            end[i] == (sums[i] + 64) / 128;
  }
  kernel_free(x, 1), kernel_free(w, 4), kernel_free(sums, 4);
  kernel_free(before, 4), kernel_free(end, 4), kernel_free(h, 4);
  return right;
}

// Pixels of four bytes likewise, which may lie at any address.
static bool sums_of_fours(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  uint8_t *block = rows_bytes(8 * rows_whole(n) + 1, seed), *x = block + 1;
  int32_t *w = rows_weights(n, true, seed), *h[3];
  for (int c = 0; c < 3; c++) h[c] = rows_sums(n, seed);
  rows->along_four(n, x, w, h);
  bool right = true;
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < 3; c++)
      right =
          right && h[c][i] == (rows_taps(w, true, i, x[8 * i + c], x[8 * i + 4 + c]) + 64) / 128;
  kernel_free(block, 1), kernel_free(w, 4);
  for (int c = 0; c < 3; c++) kernel_free(h[c], 4);
  return right;
}

// Bytes of two arrays to sums over rows.
static bool sums_over(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  uint8_t *a = rows_bytes(n, seed), *b = rows_bytes(n, seed);
  int32_t *w = rows_weights(n, false, seed), *sums = rows_ints(n, 0, 63, seed);
  int32_t *before = kernel_alloc(rows_whole(n) * 4, 4);
  int16_t *h = kernel_alloc(rows_whole(n) * 2, 2), *end = kernel_alloc(rows_whole(n) * 2, 2);
  memcpy(before, sums, rows_whole(n) * 4);
  rows->over(n, a, b, w, h), rows->over_add(n, a, b, w, sums), rows->over_end(n, sums, end);
  bool right = true;
  for (size_t i = 0; i < n; i++) {
    const int64_t sum = rows_taps(w, false, i, a[i], b[i]);
    right = right && h[i] == (sum + 64) / 128 && sums[i] == before[i] + sum &&
            end[i] == (sums[i] + 64) / 128;
  }
  kernel_free(a, 1), kernel_free(b, 1), kernel_free(w, 4), kernel_free(sums, 4);
  kernel_free(before, 4), kernel_free(h, 2), kernel_free(end, 2);
  return right;
}

// Sums of rows to pixels: pairs of 16 bits, or two arrays of 32.
static bool pixels(const struct smr_image_rows *rows, size_t n, bool beside, uint32_t *seed) {
  int32_t *a = rows_sums(n, seed), *b = rows_sums(n, seed);
  int16_t *x = kernel_alloc(2 * rows_whole(n) * sizeof *x, 4);  // pairs are read as int32
  int32_t *w = rows_weights(n, beside, seed), *sums = rows_ints(n, 0, 100, seed);
  int32_t *before = kernel_alloc(rows_whole(n) * 4, 4);
  uint8_t *y = rows_bytes(n, seed), *end = rows_bytes(n, seed);
  for (size_t i = 0; i < rows_whole(n); i++) x[2 * i] = (int16_t)a[i], x[2 * i + 1] = (int16_t)b[i];
  memcpy(before, sums, rows_whole(n) * 4);
  if (beside)
    rows->fold(n, x, w, y), rows->fold_add(n, x, w, sums);
  else
    rows->down(n, a, b, w, y), rows->down_add(n, a, b, w, sums);
  rows->down_end(n, sums, end);
  bool right = true;
  for (size_t i = 0; i < n; i++) {
    const int64_t sum = rows_taps(w, beside, i, a[i], b[i]);
    right = right && y[i] == (sum + (1 << 20)) >> 21 && sums[i] == before[i] + sum &&
            end[i] == (sums[i] + (1 << 20)) >> 21;
  }
  kernel_free(a, 4), kernel_free(b, 4), kernel_free(x, 4), kernel_free(w, 4);
  kernel_free(sums, 4), kernel_free(before, 4), kernel_free(y, 1), kernel_free(end, 1);
  return right;
}

// Nothing beyond n elements is touched: they are the caller's tensor.
static bool scale(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  uint8_t *v = kernel_alloc(n, 1);
  float mean[SMR_IMAGE_PERIOD], factor[SMR_IMAGE_PERIOD], *y = kernel_floats(n, seed);
  for (size_t i = 0; i < n; i++) v[i] = (uint8_t)kernel_random(seed);
  for (int i = 0; i < SMR_IMAGE_PERIOD; i++)
    mean[i] = 128.0f * kernel_random_float(seed), factor[i] = kernel_random_float(seed);
  rows->scale(n, v, mean, factor, y);
  bool right = true;
  for (size_t i = 0; i < n; i++) {
    const float x = (float)v[i] - mean[i % SMR_IMAGE_PERIOD];
    right = right && kernel_same_bits(y[i], x * factor[i % SMR_IMAGE_PERIOD]);
  }
  kernel_free(v, 1), kernel_free(y, 4);
  return right;
}

// Sums down columns to elements, likewise.
static bool down_scale(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  int32_t *a = rows_sums(n, seed), *b = rows_sums(n, seed), *w = rows_weights(n, false, seed);
  float mean[SMR_IMAGE_STEP], factor[SMR_IMAGE_STEP], *y = kernel_floats(n, seed);
  uint8_t *v = rows_bytes(n, seed);
  mean[0] = 128.0f * kernel_random_float(seed), factor[0] = kernel_random_float(seed);
  for (int i = 1; i < SMR_IMAGE_STEP; i++) mean[i] = mean[0], factor[i] = factor[0];
  rows->down(n, a, b, w, v), rows->down_scale(n, a, b, w, mean, factor, y);
  bool right = true;
  for (size_t i = 0; i < n; i++) {
    const float x = (float)v[i] - mean[0];
    right = right && kernel_same_bits(y[i], x * factor[0]);
  }
  kernel_free(a, 4), kernel_free(b, 4), kernel_free(w, 4), kernel_free(y, 4), kernel_free(v, 1);
  return right;
}

// ---- every instruction set ----

static void check(const struct smr_image_rows *rows, size_t n, uint32_t *seed) {
  const bool right = CHECK(splits(rows, n, seed)) & CHECK(colours(rows, n, seed)) &
                     CHECK(brightness(rows, n, seed)) & CHECK(luma(rows, n, seed)) &
                     CHECK(sums_along(rows, n, seed)) & CHECK(sums_of_fours(rows, n, seed)) &
                     CHECK(sums_over(rows, n, seed)) & CHECK(pixels(rows, n, true, seed)) &
                     CHECK(pixels(rows, n, false, seed)) & CHECK(scale(rows, n, seed)) &
                     CHECK(down_scale(rows, n, seed));
  if (!right) fprintf(stderr, "  %s with %zu elements\n", rows->name, n);
}

SMR_TEST(steps) {
  uint32_t seed = 1;
#define SMR_UKERNEL(isa, suffix, lanes)                                                      \
  if (KERNEL_RUNS(isa, suffix)) {                                                            \
    for (size_t n = 1; n <= SMALL; n++) check(smr_image_rows_config(isa), n, &seed);         \
    for (size_t k = 0; k < 2; k++) check(smr_image_rows_config(isa), large_sizes[k], &seed); \
  }
#include "kernels/float.inc"
#undef SMR_UKERNEL
  CHECK_STR(smr_image_rows_config(0)->name, "image_rows__scalar");
}

// All of Y, U and V, on the best kernels.
SMR_TEST(every_colour) {
  const struct smr_image_rows *rows = smr_image_rows_config(smr_cpu_isa());
  uint8_t y[256], r[256], g[256], b[256];
  uint16_t uv[256];
  bool right = true;
  for (int i = 0; i < 256; i++) y[i] = (uint8_t)i;
  for (uint32_t pair = 0; pair < 65536; pair++) {
    for (int i = 0; i < 256; i++) uv[i] = (uint16_t)pair;
    const struct smr_image_colour *f = &rows_colours[pair % COLOURS];
    const bool v_first = pair / COLOURS % 2 != 0;
    rows->colour(256, y, uv, v_first, f, r, g, b);
    for (int i = 0; i < 256; i++)
      right = right && colour_is_right(f, y[i], uv[i], v_first, r[i], g[i], b[i]);
  }
  CHECK(right);
}

SMR_TEST_MAIN(RUN(steps); RUN(every_colour))
