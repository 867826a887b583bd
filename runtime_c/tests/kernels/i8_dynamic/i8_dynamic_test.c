// SPDX-License-Identifier: Apache-2.0
// Rows of floats as int8 on every ISA this CPU has: the same bits as the definition.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/i8_dynamic/i8_dynamic.h"

static int8_t rounded(float p) {
  const float above = p < -127.0f ? -127.0f : p, within = above > 127.0f ? 127.0f : above;
  return (int8_t)lrintf(within);
}

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static void check_row(const struct smr_i8_dynamic_kernels *k, size_t n, float by) {
  uint32_t seed = (uint32_t)n + 3, peak = 0;
  float *x = kernel_floats(n, &seed);
  for (size_t i = 0; i < n; i++) {
    x[i] *= by;
    if (i % 5 == 0) x[i] = by * 0.5f * (float)(i % 11) / 254.0f;  // ties among them
    const uint32_t size = bits_of(x[i]) & 0x7fffffffu;
    if (size > peak) peak = size;
  }
  CHECK(k->peak(n, x) == peak);
  const struct smr_i8_dynamic_scale scale = smr_i8_dynamic_scale(peak);
  int8_t *q = (int8_t *)kernel_alloc(n, 1);
  smr_i8_dynamic_row(k, n, x, scale.inv, q);
  for (size_t i = 0; i < n; i++) CHECK(q[i] == (scale.inv > 0 ? rounded(x[i] * scale.inv) : 0));
  if (n > 0) {
    x[n / 2] = NAN;
    CHECK(k->peak(n, x) > 0x7f800000u);
    x[n / 2] = -INFINITY;
    CHECK(k->peak(n, x) == 0x7f800000u);
  }
  kernel_free(x, 4);
  kernel_free(q, 1);
}

static int32_t place_of(float x, float scale, int32_t zero) {
  const int32_t at = (int32_t)lrintf(x / scale) + zero;
  return at < -128 ? -128 : at > 127 ? 127 : at;
}

// Numbers from about `from` to `to`.
static void check_whole(const struct smr_i8_dynamic_kernels *k, size_t n, float from, float to) {
  uint32_t seed = (uint32_t)n + 7;
  float *x = kernel_floats(n, &seed), lo = 0.0f, hi = 0.0f;
  for (size_t i = 0; i < n; i++) {
    x[i] = from + (x[i] + 1.0f) * 0.5f * (to - from);
    lo = x[i] < lo ? x[i] : lo;
    hi = x[i] > hi ? x[i] : hi;
  }
  const size_t half = n / 2;
  const struct smr_i8_dynamic_range range =
      smr_i8_dynamic_join(k->find(half, x), k->find(n - half, x + half));
  CHECK(range.lo == lo && range.hi == hi && range.peak == k->peak(n, x));
  const struct smr_i8_dynamic_places places = smr_i8_dynamic_places(range);
  CHECK(places.zero >= -128 && places.zero <= 127);
  CHECK(hi == lo ? places.scale == 1.0f : places.scale == (hi - lo) / 255.0f);
  int8_t *q = (int8_t *)kernel_alloc(n, 1);
  k->place(n, x, places.scale, places.zero, q);
  for (size_t i = 0; i < n; i++) CHECK(q[i] == place_of(x[i], places.scale, places.zero));
  if (n > 0) {
    x[n / 2] = NAN;
    CHECK(isnan(smr_i8_dynamic_places(k->find(n, x)).scale));
    x[n / 2] = INFINITY;
    CHECK(isnan(smr_i8_dynamic_places(k->find(n, x)).scale));
  }
  kernel_free(x, 4);
  kernel_free(q, 1);
}

static void check_kernels(const struct smr_i8_dynamic_kernels *k) {
  for (size_t n = 0; n < 200; n += n < 70 ? 1 : 13) {
    check_row(k, n, 1.0f);
    check_row(k, n, 1e30f);
    check_row(k, n, 0.0f);
    check_row(k, n, 1e-39f);
    check_whole(k, n, -1.0f, 2.0f);
    check_whole(k, n, 0.5f, 3.0f);
    check_whole(k, n, -7.0f, -2.0f);
    check_whole(k, n, 0.0f, 0.0f);
  }
}

SMR_TEST(rows) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_kernels(smr_i8_dynamic_kernels(bit));
#include "kernels/int8.inc"
#undef SMR_UKERNEL
}

SMR_TEST(scales) {
  CHECK(smr_i8_dynamic_scale(0).scale == 0.0f && smr_i8_dynamic_scale(0).inv == 0.0f);
  CHECK(isnan(smr_i8_dynamic_scale(0x7f800000u).scale));
  CHECK(isnan(smr_i8_dynamic_scale(0x7fc00000u).scale));
  CHECK(smr_i8_dynamic_scale(bits_of(1e-38f)).scale == 0.0f);
  CHECK(smr_i8_dynamic_scale(bits_of(127.0f)).scale == 1.0f);
  CHECK(smr_i8_dynamic_scale(bits_of(127.0f)).inv == 1.0f);
}

SMR_TEST(places) {
  const struct smr_i8_dynamic_range wide = {.lo = -3e38f, .hi = 3e38f, .peak = bits_of(3e38f)};
  CHECK(isnan(smr_i8_dynamic_places(wide).scale) && smr_i8_dynamic_places(wide).zero == 0);
  const struct smr_i8_dynamic_range positive = {.hi = 255.0f, .peak = bits_of(255.0f)};
  CHECK(smr_i8_dynamic_places(positive).scale == 1.0f);
  CHECK(smr_i8_dynamic_places(positive).zero == -128);
  const struct smr_i8_dynamic_range negative = {.lo = -255.0f, .peak = bits_of(255.0f)};
  CHECK(smr_i8_dynamic_places(negative).zero == 127);
}

SMR_TEST_MAIN(RUN(rows); RUN(scales); RUN(places))
