// SPDX-License-Identifier: Apache-2.0
// Tests the 64-bit fixed-point transforms against naive ones to the bit, at the ends of their
// range.
#include "base/fp.h"

#include "kernels/i64_signal/i64_signal.h"

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"

// A number of 128 bits, two's complement.
struct wide {
  uint64_t high, low;
};

static struct wide wide_sum(struct wide a, struct wide b) {
  const uint64_t low = a.low + b.low;
  return (struct wide){a.high + b.high + (low < a.low), low};
}

static struct wide wide_product(int64_t a, int64_t b) {
  const uint64_t a0 = (uint32_t)a, a1 = (uint64_t)a >> 32;
  const uint64_t b0 = (uint32_t)b, b1 = (uint64_t)b >> 32;
  const uint64_t p01 = a0 * b1, p10 = a1 * b0;
  struct wide p = {a1 * b1, a0 * b0};
  p = wide_sum(p, (struct wide){p01 >> 32, p01 << 32});
  p = wide_sum(p, (struct wide){p10 >> 32, p10 << 32});
  // A negative factor was taken as 2^64 more than it is.
  p.high -= (a < 0 ? (uint64_t)b : 0) + (b < 0 ? (uint64_t)a : 0);
  return p;
}

// floor((a * b + c * d + 2^(bits - 1)) / 2^bits), bits < 64.
static int64_t exact(int64_t a, int64_t b, int64_t c, int64_t d, unsigned bits) {
  const struct wide half = {0, UINT64_C(1) << (bits - 1)};
  const struct wide sum = wide_sum(wide_sum(wide_product(a, b), wide_product(c, d)), half);
  return (int64_t)(sum.high << (64 - bits) | sum.low >> bits);
}

// Of any size up to 2^43, often one of the ends.
static int64_t value(uint32_t *seed, int bits) {
  const uint32_t r = kernel_random(seed);
  const int64_t end = (INT64_C(1) << bits) - 1;
  if (r % 8 == 0) return end;
  if (r % 8 == 1) return -end;
  const int64_t any = (int64_t)kernel_random(seed) * kernel_random(seed) % end;
  return r % 2 == 0 ? any >> r % 40 : -(any >> r % 40);
}

// Magnitudes of complex numbers must stay below 2^43.
static int64_t *values(size_t n, int bits, uint32_t *seed) {
  int64_t *x = (int64_t *)kernel_alloc(n * 8, 8);
  for (size_t i = 0; i < n; i++) x[i] = value(seed, bits);
  return x;
}

// Points of the unit circle.
static void circle(size_t n, uint32_t *seed, int64_t **re, int64_t **im) {
  *re = (int64_t *)kernel_alloc(n * 8, 8);
  *im = (int64_t *)kernel_alloc(n * 8, 8);
  for (size_t i = 0; i < n; i++) {
    const double angle = (double)kernel_random(seed) * (i % 3 == 0 ? 0 : 1e-5);
    (*re)[i] = (int64_t)(cos(angle) * 0x1p40);
    (*im)[i] = (int64_t)(-sin(angle) * 0x1p40);
  }
}

static void check_window(const struct smr_i64_signal *config, size_t n, uint32_t *seed) {
  int64_t *x = values(n, 43, seed), *w = values(n, 40, seed), *y = values(n, 43, seed);
  const unsigned bits = 40 + (unsigned)(n % 8);
  int right = 1;
  config->window(n, x, w, bits, y);
  for (size_t i = 0; i < n; i++) right = right && y[i] == exact(x[i], w[i], 0, 0, bits);
  config->window(n, x, w, bits, x);
  CHECK(n == 0 || memcmp(x, y, n * 8) == 0);
  if (!CHECK(right)) fprintf(stderr, "  window of %s, %zu values\n", config->name, n);
  kernel_free(x, 8), kernel_free(w, 8), kernel_free(y, 8);
}

static void check_transform(const struct smr_i64_signal *config, size_t n, uint32_t *seed) {
  int64_t *re = values(n, 36, seed), *im = values(n, 36, seed), *wr, *wi;
  int64_t *nr = (int64_t *)kernel_alloc(n * 8, 8), *ni = (int64_t *)kernel_alloc(n * 8, 8);
  circle(n - 4, seed, &wr, &wi);
  memcpy(nr, re, n * 8), memcpy(ni, im, n * 8);
  config->transform(n, wr, wi, re, im);
  size_t at = 0;
  for (size_t half = 1; half < n; half *= 2) {
    for (size_t i = 0; i < n; i++) {
      if ((i & half) != 0) continue;
      const size_t k = i % (2 * half), j = i + half;
      const int64_t one = INT64_C(1) << 40;
      const int64_t r = half >= 4 ? wr[at + k] : k == 0 ? one : 0;
      const int64_t m = half >= 4 ? wi[at + k] : k == 0 ? 0 : -one;
      const int64_t tr = exact(nr[j], r, -ni[j], m, 40), ti = exact(nr[j], m, ni[j], r, 40);
      nr[j] = nr[i] - tr, ni[j] = ni[i] - ti;
      nr[i] += tr, ni[i] += ti;
    }
    if (half >= 4) at += half;
  }
  CHECK_EQ_INT(at, n - 4);
  if (!CHECK(memcmp(re, nr, n * 8) == 0 && memcmp(im, ni, n * 8) == 0))
    fprintf(stderr, "  transform of %s, %zu numbers\n", config->name, n);
  kernel_free(re, 8), kernel_free(im, 8), kernel_free(nr, 8), kernel_free(ni, 8);
  kernel_free(wr, 8), kernel_free(wi, 8);
}

static void check_unfold(const struct smr_i64_signal *config, size_t n, uint32_t *seed) {
  int64_t *zr = values(n + 1, 41, seed), *zi = values(n + 1, 41, seed), *wr, *wi;
  int64_t *yr = values(n + 1, 41, seed), *yi = values(n + 1, 41, seed);
  int right = 1;
  circle(n + 1, seed, &wr, &wi);
  config->unfold(n, wr, wi, zr, zi, yr, yi);
  for (size_t k = 0; k <= n; k++) {
    const int64_t br = zr[k] - zr[n - k], bi = zi[k] + zi[n - k];
    const int64_t tr = exact(br, wr[k], -bi, wi[k], 40), ti = exact(br, wi[k], bi, wr[k], 40);
    right = right && yr[k] == zr[k] + zr[n - k] + ti && yi[k] == zi[k] - zi[n - k] - tr;
  }
  if (!CHECK(right)) fprintf(stderr, "  unfold of %s, %zu numbers\n", config->name, n);
  kernel_free(zr, 8), kernel_free(zi, 8), kernel_free(wr, 8), kernel_free(wi, 8);
  kernel_free(yr, 8), kernel_free(yi, 8);
}

static void check_dot(const struct smr_i64_signal *config, size_t n, uint32_t *seed) {
  int64_t *x = values(n, 41, seed), high = 0, low = 0;
  int32_t *w = (int32_t *)kernel_alloc(n * 4, 4);
  for (size_t i = 0; i < n; i++) {
    w[i] = (int32_t)value(seed, 31);
    high += (x[i] >> 16) * w[i];
    low += (x[i] & 0xffff) * w[i];
  }
  if (!CHECK(config->dot(n, x, w) == (high + (low >> 16) + (1 << 14)) >> 15))
    fprintf(stderr, "  dot of %s, %zu values\n", config->name, n);
  kernel_free(x, 8), kernel_free(w, 4);
}

static void check(const struct smr_i64_signal *config) {
  uint32_t seed = 1;
  for (size_t n = 0; n <= 70; n++) {
    check_window(config, n, &seed);
    check_dot(config, n, &seed);
    check_unfold(config, n + 1, &seed);
  }
  for (size_t n = 8; n <= 4096; n *= 2)
    for (int i = 0; i < 5; i++) check_transform(config, n, &seed);
}

SMR_TEST(is_exact) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check(smr_i64_signal_config(isa));
#include "kernels/int8.inc"
#undef SMR_UKERNEL
  CHECK_STR(smr_i64_signal_config(0)->name, "i64_signal__scalar");
}

SMR_TEST_MAIN(RUN(is_exact))
