// SPDX-License-Identifier: Apache-2.0
// Tests the integer functions of audio tables against libm.
#include "base/fp.h"

#include "media/audio_math.h"

#include "harness.h"

static double real(int64_t value) { return (double)value / 0x1p62; }

SMR_TEST(multiplies_and_divides) {
  CHECK(smr_audio_mul(SMR_AUDIO_ONE, 12345) == 12345);
  CHECK(smr_audio_mul(SMR_AUDIO_ONE + SMR_AUDIO_ONE / 2, SMR_AUDIO_ONE) ==
        SMR_AUDIO_ONE + SMR_AUDIO_ONE / 2);
  CHECK(smr_audio_muldiv(UINT64_MAX, 7, 7) == UINT64_MAX);
  CHECK(smr_audio_muldiv(UINT64_MAX, INT64_MAX, INT64_MAX) == UINT64_MAX);
  CHECK(smr_audio_muldiv(UINT64_C(1) << 60, 1000, 3000) == (UINT64_C(1) << 60) / 3);
  CHECK(smr_audio_muldiv(5, 3, 2) == 7);
}

SMR_TEST(sines_are_those_of_libm) {
  const double pi = 3.14159265358979323846;
  for (uint64_t b = 1; b < 3000; b = b * 3 / 2 + 1)
    for (uint64_t a = 0; a <= 2 * b; a++) {
      const double angle = 2 * pi * (double)a / (double)b;
      CHECK_NEAR(real(smr_audio_sine(a, b)), sin(angle), 1e-14);
      CHECK_NEAR(real(smr_audio_cosine(a, b)), cos(angle), 1e-14);
    }
  CHECK(smr_audio_cosine(0, 7) == (int64_t)SMR_AUDIO_ONE);
  CHECK(smr_audio_sine(3, 4) == -(int64_t)SMR_AUDIO_ONE);
}

SMR_TEST(logarithms_and_powers_are_those_of_libm) {
  for (uint64_t n = 1; n < UINT64_MAX / 7; n = n * 5 / 3 + 1)
    CHECK_NEAR((double)smr_audio_log2(n) / 0x1p48, log2((double)n), 1e-13);
  CHECK(smr_audio_log2(UINT64_MAX) < UINT64_C(64) << 48);
  for (uint64_t i = 0; i < 1000; i++) {
    const uint64_t fraction = i * (UINT64_C(1) << 48) / 1000;
    CHECK_NEAR(real((int64_t)smr_audio_exp2(fraction)), exp2((double)fraction / 0x1p48), 1e-15);
  }
}

SMR_TEST(roots_are_whole) {
  for (uint64_t r = 1; r < UINT32_MAX - 9; r = r * 9 / 7 + 1) {
    CHECK(smr_audio_root(r * r) == r);
    CHECK(smr_audio_root(r * r - 1) == r - 1);
    CHECK(smr_audio_root(r * r + 2 * r) == r);
  }
  CHECK(smr_audio_root(0) == 0);
  CHECK(smr_audio_root(UINT64_MAX) == UINT32_MAX);
}

SMR_TEST(floats_become_fixed) {
  CHECK(smr_audio_fixed(0.375f, 2) == 2);
  CHECK(smr_audio_fixed(0.25f, 1) == 1);
  CHECK(smr_audio_fixed(0x1p-27f, 1) == 0);
  CHECK(smr_audio_fixed(0x1p-120f, 40) == 0);
  CHECK(smr_audio_fixed(133.3333f, 32) == (int64_t)(133.3333f * 0x1p32));
  CHECK(smr_audio_fixed(96000.0f, 32) == INT64_C(96000) << 32);
  const struct smr_audio_power one = smr_audio_power_of(1.0f), none = smr_audio_power_of(0.0f);
  CHECK(one.m == UINT32_C(1) << 31 && one.e == -31);
  CHECK(none.m == 0 && none.e == 0);
  const struct smr_audio_power least = smr_audio_power_of(0x1p-126f);
  CHECK(least.m == UINT32_C(1) << 31 && least.e == -157);
}

SMR_TEST(powers_have_32_bits) {
  CHECK(smr_audio_normalised(0, 9).m == 0 && smr_audio_normalised(0, 9).e == 0);
  const struct smr_audio_power small = smr_audio_normalised(3, 5);
  CHECK(small.m == UINT32_C(3) << 30 && small.e == -25);
  const struct smr_audio_power large = smr_audio_normalised(UINT64_MAX, -7);
  CHECK(large.m == UINT32_MAX && large.e == 25);
  CHECK(smr_audio_bits(0) == 0 && smr_audio_bits(1) == 1 && smr_audio_bits(UINT64_MAX) == 64);
}

SMR_TEST_MAIN(RUN(multiplies_and_divides); RUN(sines_are_those_of_libm);
              RUN(logarithms_and_powers_are_those_of_libm); RUN(roots_are_whole);
              RUN(floats_become_fixed); RUN(powers_have_32_bits))
