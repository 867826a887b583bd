// SPDX-License-Identifier: Apache-2.0
// Philox kernels of every ISA this CPU has, against the known answers of Random123 and each other.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/philox/philox.h"

#include <math.h>

// kat_vectors of Random123 1.14: philox4x32 10.
static void check_known_answers(const struct smr_philox_kernels *k) {
  static const struct {
    struct smr_philox stream;
    uint32_t words[4];
  } known[] = {
      {{0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{UINT64_MAX, UINT64_MAX, UINT64_MAX}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint32_t words[4];
    k->words(4, &known[i].stream, words);
    CHECK_MEM(words, known[i].words, sizeof words);
  }
}

static void check_against_scalar(const struct smr_philox_kernels *k, size_t n) {
  // The block's number goes beyond 32 bits on the way.
  const struct smr_philox stream = {0x123456789abcdef0, UINT32_MAX - 2, n};
  uint32_t *words = (uint32_t *)kernel_alloc(n * 4, 4), *want = (uint32_t *)kernel_alloc(n * 4, 4);
  float *y = (float *)kernel_alloc(n * 4, 4);
  uint32_t seed = (uint32_t)n;
  float *x = kernel_floats(n, &seed);
  for (size_t i = 0; i < n; i += 4) {
    const struct smr_philox one = {stream.key, stream.block + i / 4, stream.high};
    smr_philox_kernels(SMR_ISA_NONE)->words(n - i < 4 ? n - i : 4, &one, want + i);
  }
  k->words(n, &stream, words);
  CHECK_MEM(words, want, n * 4);
  k->uniform(n, &stream, y);
  for (size_t i = 0; i < n; i++) CHECK(y[i] == (float)(want[i] >> 8) * 0x1p-24f && y[i] < 1);
  const int32_t threshold = 0x600000;
  k->dropout(n, &stream, threshold, 1.25f, x, y);
  for (size_t i = 0; i < n; i++)
    CHECK(y[i] == ((int32_t)(want[i] >> 8) >= threshold ? x[i] * 1.25f : 0.0f));
  k->dropout(n, &stream, threshold, 1.25f, x, x);
  CHECK_MEM(x, y, n * 4);
  kernel_free(words, 4);
  kernel_free(want, 4);
  kernel_free(x, 4);
  kernel_free(y, 4);
}

// What is dropped is 0, whatever it was.
static void check_ends(const struct smr_philox_kernels *k) {
  enum { ALL = 100 };
  const struct smr_philox stream = {1, 2, 0};
  float x[ALL], y[ALL];
  for (size_t i = 0; i < ALL; i++) x[i] = i % 2 ? INFINITY : NAN;
  k->dropout(ALL, &stream, 1 << 24, 0.0f, x, y);
  for (size_t i = 0; i < ALL; i++) CHECK(y[i] == 0.0f);
  for (size_t i = 0; i < ALL; i++) x[i] = (float)i;
  k->dropout(ALL, &stream, 0, 1.0f, x, y);
  CHECK_MEM(y, x, sizeof x);
}

static void check_kernels(const struct smr_philox_kernels *k, size_t lanes) {
  check_known_answers(k);
  check_ends(k);
  for (size_t n = 1; n <= 12 * lanes + 5; n++) check_against_scalar(k, n);
}

SMR_TEST(every_table) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_kernels(smr_philox_kernels(bit), lanes);
#include "kernels/training.inc"
#undef SMR_UKERNEL
  CHECK_STR(smr_philox_kernels(SMR_ISA_NONE)->name, "philox__scalar");
}

SMR_TEST_MAIN(RUN(every_table))
