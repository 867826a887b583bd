// SPDX-License-Identifier: Apache-2.0
// Requantization by integers is requantization by floats, bit for bit: sums of every size, at and
// around every tie, multipliers from subnormal to infinite.
#include "base/fp.h"

#include "simd/requantize.h"

#include <float.h>
#include <stdbool.h>

#include "harness.h"

static uint64_t requantize_state = 0x243f6a8885a308d3;

static uint32_t requantize_random(void) {
  requantize_state ^= requantize_state << 13;
  requantize_state ^= requantize_state >> 7;
  requantize_state ^= requantize_state << 17;
  return (uint32_t)(requantize_state >> 32);
}

static float requantize_float(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static bool requantize_same(int32_t acc, float m, int32_t zero, int32_t lo, int32_t hi) {
  const float least = (float)(lo - zero), most = (float)(hi - zero);
  return smr_requantized_by_integers(acc, m, least, most, zero) ==
         smr_requantized_by_floats(acc, m, least, most, zero);
}

static bool rounded_same(float p, int32_t zero, int32_t lo, int32_t hi) {
  const float least = (float)(lo - zero), most = (float)(hi - zero);
  return smr_rounded_by_integers(p, least, most, zero) ==
         smr_rounded_by_floats(p, least, most, zero);
}

// A sum and a multiplier, and their neighbours.
static int requantize_around(int32_t acc, float m) {
  int wrong = 0;
  for (int64_t near = (int64_t)acc - 2; near <= (int64_t)acc + 2; near++) {
    if (near < INT32_MIN || near > INT32_MAX) continue;
    uint32_t bits = smr_float_bits(m);
    for (uint32_t step = 0; step < 3; step++) {
      const float close = requantize_float(bits - 1 + step);
      if (close != close) continue;
      wrong += !requantize_same((int32_t)near, close, 0, -128, 127);
      wrong += !requantize_same((int32_t)near, close, -128, -128, 127);
      wrong += !requantize_same((int32_t)near, close, 100, -20, 100);
    }
  }
  return wrong;
}

// What layers meet: sums of 8 to 31 bits, outputs around the range of a byte.
SMR_TEST(ordinary_sums) {
  int wrong = 0;
  for (int i = 0; i < 4000000; i++) {
    const int32_t acc = (int32_t)requantize_random() >> (requantize_random() % 24);
    const float target = (float)(requantize_random() % 6000) / 10.0f + 0.01f;
    const float m = acc != 0 ? target / fabsf((float)acc) : target;
    const int32_t zero = (int32_t)(requantize_random() % 256) - 128;
    wrong += !requantize_same(acc, m, zero, -128, 127);
  }
  CHECK_EQ_INT(wrong, 0);
}

// Bits of a multiplier at random: most products are far too small or too large.
SMR_TEST(any_multiplier) {
  int wrong = 0;
  for (int i = 0; i < 4000000; i++) {
    const int32_t acc = (int32_t)requantize_random() >> (requantize_random() % 32);
    const float m = requantize_float(requantize_random());  // negative ones too
    if (m != m || (isinf(m) && acc == 0)) continue;
    wrong += !requantize_same(acc, m, 3, -128, 127);
  }
  CHECK_EQ_INT(wrong, 0);
}

// acc * m close to a whole number and a half, so that both roundings decide.
SMR_TEST(ties) {
  int wrong = 0;
  for (int32_t twice = -601; twice <= 601; twice++) {
    const float half = (float)twice / 2;
    for (int shift = 0; shift < 31; shift++)  // exact ties, by powers of two
      if (fabsf(half) * (float)(INT64_C(1) << shift) <= 2147483520.0f &&
          (shift > 0 || twice % 2 == 0))
        wrong +=
            requantize_around((int32_t)(half * (float)(INT64_C(1) << shift)), ldexpf(1, -shift));
    for (int i = 0; i < 400; i++) {
      const int32_t acc = (int32_t)(requantize_random() >> (requantize_random() % 24) >> 1) + 1;
      wrong += requantize_around(acc, half / (float)acc);
    }
  }
  CHECK_EQ_INT(wrong, 0);
}

// Sums that float32 rounds, at their own ties; the least and the largest; no sum.
SMR_TEST(large_sums) {
  static const int32_t sums[] = {0,
                                 1,
                                 -1,
                                 (1 << 24) - 1,
                                 1 << 24,
                                 (1 << 24) + 1,
                                 (1 << 25) + 2,
                                 (1 << 25) + 6,
                                 0x7fffff80,
                                 0x7fffffbf,
                                 0x7fffffc0,
                                 INT32_MAX,
                                 INT32_MIN,
                                 INT32_MIN + 1};
  int wrong = 0;
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
    for (uint32_t exponent = 0; exponent < 255; exponent++)
      for (int k = 0; k < 50; k++) {
        const uint32_t fraction = k == 0 ? 0 : k == 1 ? 0x7fffff : requantize_random() >> 9;
        const float m = requantize_float(exponent << 23 | fraction);
        wrong += !requantize_same(sums[i], m, 0, -128, 127);
        wrong += !requantize_same(-(sums[i] / 2), m, 7, -128, 127);
      }
  CHECK_EQ_INT(wrong, 0);
  CHECK(requantize_same(5, FLT_MIN, 0, -128, 127));
  CHECK(requantize_same(INT32_MAX, FLT_TRUE_MIN, 0, -128, 127));
  CHECK(requantize_same(INT32_MIN, FLT_MAX, 0, -128, 127));
  CHECK(requantize_same(1, INFINITY, 0, -128, 127));
  CHECK(requantize_same(-1, INFINITY, 0, -128, 127));
}

SMR_TEST(known_values) {
  CHECK_EQ_INT(smr_requantized_by_integers(5, 0.5f, -128, 127, 0), 2);  // half to even
  CHECK_EQ_INT(smr_requantized_by_integers(7, 0.5f, -128, 127, 0), 4);
  CHECK_EQ_INT(smr_requantized_by_integers(-5, 0.5f, -128, 127, 0), -2);
  CHECK_EQ_INT(smr_requantized_by_integers(-7, 0.5f, -128, 127, 10), 6);
  CHECK_EQ_INT(smr_requantized_by_integers(1000, 1, -128, 127, 0), 127);
  CHECK_EQ_INT(smr_requantized_by_integers(-1000, 1, -100, 155, -28), -128);
  // 2^24 + 1 becomes 2^24 before it is multiplied.
  CHECK_EQ_INT(smr_requantized_by_integers((1 << 24) + 1, 0x1p-25f, -128, 127, 0), 0);
}

// Every 97th float, every one around small ties, NaN and infinity.
SMR_TEST(floats) {
  int wrong = 0;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 97)
    wrong += !rounded_same(requantize_float((uint32_t)bits), -5, -128, 127);
  for (int32_t twice = -520; twice <= 520; twice++) {
    const uint32_t bits = smr_float_bits((float)twice / 2);
    for (uint32_t step = 0; step < 9; step++)
      wrong += !rounded_same(requantize_float(bits - 4 + step), 1, -128, 127);
  }
  CHECK_EQ_INT(wrong, 0);
  CHECK(rounded_same(NAN, 0, -128, 127));
  CHECK(rounded_same(NAN, 50, 60, 127));
  CHECK(rounded_same(-NAN, 50, 60, 127));
  CHECK(rounded_same(INFINITY, 0, -128, 127));
  CHECK(rounded_same(-INFINITY, 0, -128, 127));
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(ordinary_sums);
  RUN(any_multiplier);
  RUN(ties);
  RUN(large_sums);
  RUN(known_values);
  RUN(floats);
  return SMR_TEST_END();
}
