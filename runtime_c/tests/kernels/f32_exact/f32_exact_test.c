// SPDX-License-Identifier: Apache-2.0
// Exact float routines: the digests of bits.inc, which numpy computes, for every instruction set;
// then each routine beside its definition in the contract, element by element.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_exact/f32_exact.h"
#include "kernels/kernel_data.h"

#include "harness.h"

#include <math.h>
#include <stdio.h>

enum { LONGEST = 70, ROWS = 5 };

enum digest {
#define EXACT_BITS(name, bits) DIGEST_##name,
#include "kernels/f32_exact/bits.inc"
#undef EXACT_BITS
  DIGESTS
};

static const struct {
  const char *name;
  uint32_t bits;
} expected[DIGESTS] = {
#define EXACT_BITS(name, bits) {#name, bits},
#include "kernels/f32_exact/bits.inc"
#undef EXACT_BITS
};

// FNV-1a of the words; every NaN counts as one.
static void digest(uint32_t *to, size_t n, const float *y) {
  for (size_t i = 0; i < n; i++) {
    uint32_t word;
    memcpy(&word, &y[i], sizeof word);
    if (y[i] != y[i]) word = 0x7fc00000u;
    *to = (*to ^ word) * 0x01000193u;
  }
}

static float *wild_floats(size_t n, uint32_t *state) {
  float *p = kernel_alloc(n * sizeof *p, 4);
  for (size_t i = 0; i < n; i++) {
    const uint32_t high = kernel_random(state) & 0xffff, low = kernel_random(state) & 0xffff;
    const uint32_t word = high << 16 | low;
    memcpy(&p[i], &word, sizeof word);
  }
  return p;
}

static float *copy_floats(size_t n, const float *x, float factor) {
  float *p = kernel_alloc(n * sizeof *p, 4);
  for (size_t i = 0; i < n; i++) p[i] = x[i] * factor;
  return p;
}

static const float limits[2] = {-0.5f, 3.0f};  // of clamp

static void digest_value(uint32_t *to, float value) { digest(to, 1, &value); }

// The routines over n elements, in exact-size buffers, added to the digests.
static void run_length(const struct smr_f32_exact *k, size_t n, uint32_t *d) {
  uint32_t state = (uint32_t)n + 1;
  const size_t stride = n + 3;
  float *a = kernel_floats(n, &state), *b = kernel_floats(n, &state);
  float *wild = wild_floats(n, &state), *rows = kernel_floats(ROWS * stride, &state);
  float *large = copy_floats(n, a, 20), *y = copy_floats(n, b, 1), many[ROWS], w[ROWS];

  digest_value(&d[DIGEST_dot], k->dot(n, a, b));
  k->dots(ROWS, n, a, rows, stride, many);
  digest(&d[DIGEST_dots], ROWS, many);
  for (size_t r = 0; r < ROWS; r++) CHECK(k->dot(n, a, rows + r * stride) == many[r]);
  digest_value(&d[DIGEST_sum], k->sum(n, a));
  digest_value(&d[DIGEST_squares], k->squares(n, a, 0.25f));
  digest_value(&d[DIGEST_max], k->max(n, a));
  digest_value(&d[DIGEST_max_wild], k->max(n, wild));

  k->scale_add(n, 0.7f, a, y);
  digest(&d[DIGEST_scale_add], n, y);
  memcpy(y, b, n * sizeof *y);
  for (size_t r = 0; r < ROWS; r++) w[r] = rows[r * stride];
  k->scale_add_rows(ROWS, n, w, rows, stride, y);
  digest(&d[DIGEST_scale_add_rows], n, y);
  k->scale(n, 0.7f, a, y);
  digest(&d[DIGEST_scale], n, y);
  k->minus(n, a, 0.25f, 0.7f, y);
  digest(&d[DIGEST_minus], n, y);
  k->normalize(n, a, 0.25f, 0.7f, b, a, y);
  digest(&d[DIGEST_normalize], n, y);
  memcpy(y, large, n * sizeof *y);
  const float sum = k->exp_sum(n, y, 0.25f, y);
  digest(&d[DIGEST_exp_sum], n, y);
  digest_value(&d[DIGEST_exp_sum], sum);
  for (int f = 0; f < SMR_F32_EXACT_COUNT; f++) {
    k->function[f](n, large, y, limits);
    digest(&d[DIGEST_exp + f], n, y);
    memcpy(y, wild, n * sizeof *y);
    k->function[f](n, y, y, limits);
    digest(&d[DIGEST_exp + f], n, y);
  }
  kernel_free(a, 4), kernel_free(b, 4), kernel_free(wild, 4), kernel_free(rows, 4);
  kernel_free(large, 4), kernel_free(y, 4);
}

static void check_bits(const struct smr_f32_exact *k) {
  uint32_t d[DIGESTS];
  for (int i = 0; i < DIGESTS; i++) d[i] = 0x811c9dc5u;
  for (size_t n = 0; n <= LONGEST; n++) run_length(k, n, d);
  for (int i = 0; i < DIGESTS; i++) {
    char got[80], want[80];
    snprintf(got, sizeof got, "%s %s 0x%08x", k->name, expected[i].name, (unsigned)d[i]);
    snprintf(want, sizeof want, "%s %s 0x%08x", k->name, expected[i].name,
             (unsigned)expected[i].bits);
    CHECK_STR(got, want);
  }
}

SMR_TEST(bits_are_those_of_numpy) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_bits(smr_f32_exact_config(isa));
#include "kernels/f32_exact/kernels.inc"
#undef SMR_UKERNEL
}

static void check_special(const struct smr_f32_exact *k) {
  const float x[] = {0.0f, -0.0f, -INFINITY, INFINITY, NAN, -87.1f, 88.73f};
  float y[7];
  k->function[SMR_F32_EXACT_EXP](7, x, y, x);
  CHECK(y[0] == 1 && y[1] == 1 && y[2] == 0 && y[3] == INFINITY && y[4] != y[4] && y[5] == 0 &&
        y[6] == INFINITY);
  CHECK(!signbit(k->max(1, &x[1])) && k->max(0, x) == -INFINITY && k->max(4, x) == INFINITY);
  // NaN anywhere, in whole vectors and behind them.
  float many[67] = {0};
  for (size_t i = 0; i < 67; i++) {
    many[i] = NAN;
    const float best = k->max(67, many);
    CHECK(best != best);
    many[i] = 0;
  }
}

SMR_TEST(special_values) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_special(smr_f32_exact_config(isa));
#include "kernels/f32_exact/kernels.inc"
#undef SMR_UKERNEL
}

// The sum by its definition.
static float defined_dot(size_t n, const float *a, const float *b) {
  float p[SMR_F32_EXACT_PARTIALS] = {0};
  for (size_t i = 0; i < n; i++) {
    const float product = a[i] * b[i];
    p[i % SMR_F32_EXACT_PARTIALS] += product;
  }
  for (size_t half = SMR_F32_EXACT_PARTIALS / 2; half; half /= 2)
    for (size_t j = 0; j < half; j++) p[j] += p[j + half];
  return p[0];
}

static void check_long(const struct smr_f32_exact *k) {
  enum { LENGTH = 5003 };
  uint32_t state = 9;
  float *a = kernel_floats(LENGTH, &state), *b = kernel_floats(LENGTH, &state);
  for (size_t n = LENGTH - 40; n <= LENGTH; n++) CHECK(k->dot(n, a, b) == defined_dot(n, a, b));
  kernel_free(a, 4), kernel_free(b, 4);
}

SMR_TEST(long_sums) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_long(smr_f32_exact_config(isa));
#include "kernels/f32_exact/kernels.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(bits_are_those_of_numpy), RUN(special_values), RUN(long_sums))
