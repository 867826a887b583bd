// SPDX-License-Identifier: Apache-2.0
// Dim expressions: exact values, failures, and intervals that hold every value.
#include "model/model.h"

#include "harness.h"

// op(a, b, c) over constants; `ok` false when it must fail.
static int64_t evaluate(uint32_t op, int64_t a, int64_t b, int64_t c, bool *ok) {
  const struct smr_expr e = {.op = op, .a = 0, .b = 1, .c = 2};
  const int64_t values[] = {a, b, c};
  int64_t out = 12345;
  const char *why = "";
  *ok = smr_expr_evaluate(&e, 0, values, &out, &why);
  if (!*ok) CHECK(why[0] != '\0');
  return out;
}

static void check(uint32_t op, int64_t a, int64_t b, int64_t expected) {
  bool ok;
  const int64_t got = evaluate(op, a, b, 7, &ok);
  CHECK(ok);
  CHECK_EQ_INT(got, expected);
}

static void check_fails(uint32_t op, int64_t a, int64_t b) {
  bool ok;
  evaluate(op, a, b, 7, &ok);
  CHECK(!ok);
}

static int64_t bits(float value) {
  uint32_t pattern;
  memcpy(&pattern, &value, sizeof pattern);
  return pattern;
}

SMR_TEST(exact_values) {
  check(SMR_EXPR_ADD, 3, -5, -2);
  check(SMR_EXPR_SUB, 3, -5, 8);
  check(SMR_EXPR_MUL, 3, -5, -15);
  check(SMR_EXPR_MIN, 3, -5, -5);
  check(SMR_EXPR_MAX, 3, -5, 3);
  check(SMR_EXPR_EQ, 3, 3, 1);
  check(SMR_EXPR_EQ, 3, 4, 0);
  check(SMR_EXPR_LT, 3, 4, 1);
  check(SMR_EXPR_LT, 4, 4, 0);
  check(SMR_EXPR_SELECT, 1, 5, 5);
  check(SMR_EXPR_SELECT, -1, 5, 5);
  check(SMR_EXPR_SELECT, 0, 5, 7);
  const struct smr_expr constant = {.op = SMR_EXPR_CONST, .k = -8};
  int64_t out = 0;
  const char *why;
  CHECK(smr_expr_evaluate(&constant, 0, NULL, &out, &why));
  CHECK_EQ_INT(out, -8);
}

// As Python's // and %, and -(-a // b).
SMR_TEST(division_rounds_as_said) {
  static const int64_t rows[][5] = {
      // a, b, floor, ceil, mod
      {7, 2, 3, 4, 1},    {-7, 2, -4, -3, 1}, {7, -2, -4, -3, -1},
      {-7, -2, 3, 4, -1}, {6, 3, 2, 2, 0},    {-6, 3, -2, -2, 0},
      {0, 5, 0, 0, 0},    {0, -5, 0, 0, 0},   {1, 10, 0, 1, 1},
      {-1, 10, -1, 0, 9}, {5, -1, -5, -5, 0}, {INT64_MAX, 1, INT64_MAX, INT64_MAX, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check(SMR_EXPR_FLOORDIV, rows[i][0], rows[i][1], rows[i][2]);
    check(SMR_EXPR_CEILDIV, rows[i][0], rows[i][1], rows[i][3]);
    check(SMR_EXPR_MOD, rows[i][0], rows[i][1], rows[i][4]);
  }
  check(SMR_EXPR_MOD, INT64_MIN, -1, 0);
}

SMR_TEST(failures) {
  check_fails(SMR_EXPR_ADD, INT64_MAX, 1);
  check_fails(SMR_EXPR_SUB, INT64_MIN, 1);
  check_fails(SMR_EXPR_MUL, INT64_MAX, 2);
  check_fails(SMR_EXPR_FLOORDIV, 1, 0);
  check_fails(SMR_EXPR_CEILDIV, 1, 0);
  check_fails(SMR_EXPR_MOD, 1, 0);
  check_fails(SMR_EXPR_FLOORDIV, INT64_MIN, -1);
  check_fails(SMR_EXPR_READ, 0, 0);
  check_fails(SMR_EXPR_BORN, 0, 0);
  check_fails(SMR_EXPR_INPUT_DIM, 0, 0);
  check_fails(SMR_EXPR_COUNT, 0, 0);
}

SMR_TEST(float_scale) {
  check(SMR_EXPR_SCALE_F32, 10, bits(2.5f), 25);
  check(SMR_EXPR_SCALE_F32, 3, bits(0.5f), 1);
  check(SMR_EXPR_SCALE_F32, -3, bits(0.5f), -2);
  check(SMR_EXPR_SCALE_F32, 7, bits(1.2857143f), 9);
  // 0.7f is below 7/10, and 10 * 0.7f below 7, but nothing of float32 lies between: it rounds.
  check(SMR_EXPR_SCALE_F32, 10, bits(0.7f), 7);
  check(SMR_EXPR_SCALE_F32, 16777217, bits(1.0f), 16777216);
  check_fails(SMR_EXPR_SCALE_F32, 1, bits(INFINITY));
  check_fails(SMR_EXPR_SCALE_F32, 1, bits(NAN));
  check_fails(SMR_EXPR_SCALE_F32, 1 << 30, bits(1e30f));
  check_fails(SMR_EXPR_SCALE_F32, 1, -1);
  check_fails(SMR_EXPR_SCALE_F32, 1, INT64_C(1) << 32);
}

static void interval(uint32_t op, const int64_t *lo, const int64_t *hi, int64_t *out_lo,
                     int64_t *out_hi) {
  const struct smr_expr e = {.op = op, .a = 0, .b = 1, .c = 2};
  smr_expr_interval(&e, 0, lo, hi, out_lo, out_hi);
}

// Every value of small intervals lies in the interval of the result.
SMR_TEST(intervals_hold_every_value) {
  for (uint32_t op = SMR_EXPR_ADD; op <= SMR_EXPR_SELECT; op++) {
    size_t outside = 0;
    for (int al = -4; al <= 3; al++)
      for (int ah = al; ah <= 4; ah++)
        for (int bl = -4; bl <= 3; bl++)
          for (int bh = bl; bh <= 4; bh++) {
            const int64_t lo[] = {al, bl, -9}, hi[] = {ah, bh, -7};
            int64_t out_lo, out_hi;
            interval(op, lo, hi, &out_lo, &out_hi);
            for (int a = al; a <= ah; a++)
              for (int b = bl; b <= bh; b++) {
                bool ok;
                const int64_t value = evaluate(op, a, b, -8, &ok);
                if (ok && (value < out_lo || value > out_hi)) outside++;
              }
          }
    CHECK_EQ_INT(outside, 0);
  }
}

static void check_interval(uint32_t op, int64_t al, int64_t ah, int64_t bl, int64_t bh, int64_t lo,
                           int64_t hi) {
  const int64_t los[] = {al, bl, 0}, his[] = {ah, bh, 0};
  int64_t out_lo, out_hi;
  interval(op, los, his, &out_lo, &out_hi);
  CHECK_EQ_INT(out_lo, lo);
  CHECK_EQ_INT(out_hi, hi);
}

SMR_TEST(intervals_are_tight) {
  check_interval(SMR_EXPR_ADD, 1, 5, 2, 3, 3, 8);
  check_interval(SMR_EXPR_SUB, 1, 5, 2, 3, -2, 3);
  check_interval(SMR_EXPR_MUL, -2, 5, -3, 4, -15, 20);
  check_interval(SMR_EXPR_FLOORDIV, 0, 100, 3, 7, 0, 33);
  check_interval(SMR_EXPR_CEILDIV, 1, 100, 3, 7, 1, 34);
  check_interval(SMR_EXPR_FLOORDIV, -7, 7, 2, 2, -4, 3);
  check_interval(SMR_EXPR_MOD, 0, 100, 8, 8, 0, 7);
  check_interval(SMR_EXPR_MOD, 0, 3, 8, 8, 0, 3);
  check_interval(SMR_EXPR_MIN, 1, 5, 2, 3, 1, 3);
  check_interval(SMR_EXPR_MAX, 1, 5, 2, 3, 2, 5);
  check_interval(SMR_EXPR_EQ, 1, 2, 3, 4, 0, 0);
  check_interval(SMR_EXPR_LT, 1, 2, 3, 4, 1, 1);
  check_interval(SMR_EXPR_LT, 4, 5, 3, 4, 0, 0);
  check_interval(SMR_EXPR_SCALE_F32, 3, 10, bits(1.5f), bits(1.5f), 4, 15);
}

SMR_TEST(intervals_without_bounds) {
  const int64_t none = INT64_MAX, least = INT64_MIN;
  check_interval(SMR_EXPR_ADD, 1, none, 2, 3, 3, none);
  check_interval(SMR_EXPR_SUB, 0, 5, 0, none, least, 5);
  check_interval(SMR_EXPR_SUB, 0, none, 0, none, least, none);
  check_interval(SMR_EXPR_SUB, 0, 5, least, least, least, none);
  check_interval(SMR_EXPR_MUL, 0, none, 0, 0, 0, 0);
  check_interval(SMR_EXPR_MUL, 0, none, 2, 3, 0, none);
  check_interval(SMR_EXPR_MUL, 0, INT64_MAX / 2, 0, 3, 0, none);
  check_interval(SMR_EXPR_FLOORDIV, 0, none, 2, 3, 0, none);
  check_interval(SMR_EXPR_FLOORDIV, 0, 10, 1, none, 0, 10);
  check_interval(SMR_EXPR_FLOORDIV, -10, 10, 0, none, -10, 10);
  check_interval(SMR_EXPR_FLOORDIV, 0, none, -1, 1, least, none);
  check_interval(SMR_EXPR_FLOORDIV, 5, none, 2, none, 0, none);
  check_interval(SMR_EXPR_CEILDIV, least, 5, 2, none, least, 3);
  check_interval(SMR_EXPR_MOD, 0, none, 1, 16, 0, 15);
  check_interval(SMR_EXPR_MIN, 0, none, 5, 5, 0, 5);
  check_interval(SMR_EXPR_MAX, 0, none, 5, 5, 5, none);
  check_interval(SMR_EXPR_LT, 0, none, 0, none, 0, 1);
  check_interval(SMR_EXPR_SCALE_F32, 0, none, bits(2.f), bits(2.f), 0, none);
  check_interval(SMR_EXPR_SCALE_F32, 0, 5, 0, none, least, none);
}

SMR_TEST(interval_leaves) {
  const int64_t lo[] = {2}, hi[] = {30};
  const struct smr_expr leaves[] = {
      {.op = SMR_EXPR_CONST, .k = 9}, {.op = SMR_EXPR_INPUT_DIM},
      {.op = SMR_EXPR_READ, .c = -1}, {.op = SMR_EXPR_READ, .c = 0},
      {.op = SMR_EXPR_BORN, .k = -1}, {.op = SMR_EXPR_BORN, .k = 0},
  };
  static const int64_t expected[][2] = {{9, 9},          {0, INT64_MAX}, {INT64_MIN, INT64_MAX},
                                        {INT64_MIN, 30}, {0, INT64_MAX}, {0, 30}};
  for (uint32_t i = 0; i < 6; i++) {
    int64_t out_lo, out_hi;
    smr_expr_interval(leaves, i, lo, hi, &out_lo, &out_hi);
    CHECK_EQ_INT(out_lo, expected[i][0]);
    CHECK_EQ_INT(out_hi, expected[i][1]);
  }
}

SMR_TEST_MAIN(RUN(exact_values); RUN(division_rounds_as_said); RUN(failures); RUN(float_scale);
              RUN(intervals_hold_every_value); RUN(intervals_are_tight);
              RUN(intervals_without_bounds); RUN(interval_leaves))
