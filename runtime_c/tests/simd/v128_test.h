// SPDX-License-Identifier: Apache-2.0
// Tests vectors of 8-bit and 16-bit integers (simd/v128_bytes.h) and conversions to bytes
// (simd/bytes.h) of the 128-bit types; included by simd_test.c in their region.
#include "simd/bytes.h"

// x[i] and y[i] with the ends of int16.
static void N(check_madd)(void) {
  static const int16_t ends[] = {INT16_MIN, INT16_MIN + 1, -255, -128, -1, 0, 1, 127, INT16_MAX};
  enum { ENDS = sizeof ends / sizeof *ends };
  for (size_t n = 0; n < ENDS * ENDS; n++) {
    int16_t x[8], y[8];
    for (size_t i = 0; i < 8; i++) {
      x[i] = ends[(n + i) % ENDS];
      y[i] = ends[(n / ENDS + 3 * i) % ENDS];
    }
    N(v8i16) a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    int32_t got[4];
    N(istore)(got, N(madd)(a, b));
    for (size_t i = 0; i < 4; i++) {
      const int64_t sum = (int64_t)x[2 * i] * y[2 * i] + (int64_t)x[2 * i + 1] * y[2 * i + 1];
      CHECK_EQ_INT(got[i], (int32_t)(uint32_t)(uint64_t)sum);
    }
  }
}

static void N(check_widths)(void) {
  int8_t bytes[24];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (int8_t)(i * 37 % 256 - 128);
  const N(v16i8) v = N(load_8)(bytes + 1);
  int16_t low[8], high[8], next[8];
  const N(v8i16) l = N(widen_low)(v), h = N(widen_high)(v), w = N(widen)(bytes + 3);
  memcpy(low, &l, sizeof low);
  memcpy(high, &h, sizeof high);
  memcpy(next, &w, sizeof next);
  for (size_t i = 0; i < 8; i++) {
    CHECK_EQ_INT(low[i], bytes[1 + i]);
    CHECK_EQ_INT(high[i], bytes[9 + i]);
    CHECK_EQ_INT(next[i], bytes[3 + i]);
  }
  int32_t a[4], b[4], sums[4];
  N(istore)(a, N(ints_low)(l));
  N(istore)(b, N(ints_high)(l));
  N(istore)(sums, N(pair_sums)(N(ints_low)(l), N(ints_high)(l)));
  for (size_t i = 0; i < 4; i++) {
    CHECK_EQ_INT(a[i], low[i]);
    CHECK_EQ_INT(b[i], low[4 + i]);
    CHECK_EQ_INT(sums[i], low[2 * i] + low[2 * i + 1]);
  }
  const N(v8i16) four = N(four_words)(low + 1);
  memcpy(next, &four, sizeof next);
  for (size_t i = 0; i < 8; i++) CHECK_EQ_INT(next[i], low[1 + i % 4]);
  // And back.
  const N(v8i16) first = N(words_of)(N(ints_low)(l), N(ints_high)(l));
  int8_t same[16];
  N(store_8)(same, N(bytes_of)(first, h));
  CHECK_MEM(same, bytes + 1, sizeof same);
}

static void N(check_tails)(void) {
  const int8_t bytes[17] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  for (size_t n = 0; n <= 16; n++) {
    int8_t got[17] = {0}, all[16];
    N(store_8)(all, N(load_8_n)(bytes, n));
    N(store_8_n)(got, N(load_8)(bytes), n);
    for (size_t i = 0; i < 17; i++) CHECK_EQ_INT(got[i], i < n ? bytes[i] : 0);
    for (size_t i = 0; i < 16; i++) CHECK_EQ_INT(all[i], i < n ? bytes[i] : 0);
  }
}

// Half to even, limits, and what portable C makes of every value.
static void N(check_store_i8)(void) {
  static const float values[] = {-INFINITY, -1e30f, -200.5f, -128.5f, -3.5f, -2.5f,
                                 -0.5f,     -0.0f,  0.0f,    0.5f,    1.5f,  2.5f,
                                 126.5f,    127.5f, 3e9f,    INFINITY};
  static const int32_t limits[][3] = {
      {-128, 127, 0}, {-128, 127, -128}, {-128, 127, 127}, {-3, 90, 5}, {7, 7, -20}};
  for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
    const int32_t lo = limits[k][0], hi = limits[k][1], zero = limits[k][2];
    const struct N(i8_limits) l = N(i8_limits)(lo, hi, zero);
    N(vf) p[4];
    for (size_t i = 0; i < 4; i++) p[i] = N(load)(values + 4 * i);
    for (size_t n = 1; n <= 16; n++) {
      int8_t got[16] = {0};
      N(store_i8)(got, p, &l, n);
      for (size_t i = 0; i < 16; i++) {
        const int32_t as_c = smr_rounded(values[i], (float)(lo - zero), (float)(hi - zero), zero);
        CHECK_EQ_INT(got[i], i < n ? as_c : 0);
      }
    }
  }
}

static void N(check_bytes)(void) {
  N(check_madd)();
  N(check_widths)();
  N(check_tails)();
  N(check_store_i8)();
}
