// SPDX-License-Identifier: Apache-2.0
// Dim expressions: exact evaluation in checked int64, and bounds by interval arithmetic.
#include "base/fp.h"

#include <float.h>
#include <string.h>

#include "base/checked.h"
#include "model/model.h"

// ---- exact ----

static bool expr_divide(int64_t a, int64_t b, bool up, int64_t *out) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  const int64_t quotient = a / b, rest = a % b;
  // C truncates; floor and ceil differ by one if there is a remainder.
  const bool negative = (rest < 0) != (b < 0);
  *out = quotient + (rest != 0 && up != negative ? (up ? 1 : -1) : 0);
  return true;
}

static bool expr_modulo(int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return false;
  const int64_t rest = b == -1 ? 0 : a % b;
  *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  return true;
}

// floor(float32(a) * scale), every step in float32.
static bool expr_scale(int64_t a, int64_t bits, int64_t *out) {
  const uint32_t pattern = (uint32_t)bits;
  float scale;
  memcpy(&scale, &pattern, sizeof scale);
  const float product = (float)a * scale;
  // 2^63 is a float32 and the first value beyond int64; NaN fails both comparisons.
  if (bits != (int64_t)pattern ||
      !(product >= -9223372036854775808.0f && product < 9223372036854775808.0f)) {
    return false;
  }
  const int64_t towards_zero = (int64_t)product;  // exact as a float
  *out = towards_zero - ((float)towards_zero > product);
  return true;
}

bool smr_expr_apply(uint32_t op, int64_t a, int64_t b, int64_t c, int64_t *out, const char **why) {
  *why = "integer overflow";
  switch ((enum smr_expr_op)op) {
    case SMR_EXPR_ADD:
      return smr_add_i64(a, b, out);
    case SMR_EXPR_SUB:
      return smr_sub_i64(a, b, out);
    case SMR_EXPR_MUL:
      return smr_mul_i64(a, b, out);
    case SMR_EXPR_FLOORDIV:
    case SMR_EXPR_CEILDIV:
      if (b == 0) *why = "division by zero";
      return expr_divide(a, b, op == SMR_EXPR_CEILDIV, out);
    case SMR_EXPR_MOD:
      if (b == 0) *why = "division by zero";
      return expr_modulo(a, b, out);
    case SMR_EXPR_MIN:
      *out = a < b ? a : b;
      return true;
    case SMR_EXPR_MAX:
      *out = a > b ? a : b;
      return true;
    case SMR_EXPR_EQ:
      *out = a == b;
      return true;
    case SMR_EXPR_LT:
      *out = a < b;
      return true;
    case SMR_EXPR_SELECT:
      *out = a != 0 ? b : c;
      return true;
    case SMR_EXPR_SCALE_F32:
      *why = "a scale or a scaled dim out of range";
      return SMR_HAS(symbolic) && expr_scale(a, b, out);
    default:
      *why = "not an arithmetic expression";
      return false;
  }
}

bool smr_expr_evaluate(const struct smr_expr *exprs, uint32_t index, const int64_t *values,
                       int64_t *out, const char **why) {
  const struct smr_expr *e = &exprs[index];
  if (e->op == SMR_EXPR_CONST) {
    *out = e->k;
    return true;
  }
  // Other expressions have no expressions as operands.
  const bool takes = e->op >= SMR_EXPR_ADD;
  return smr_expr_apply(e->op, takes ? values[e->a] : 0, takes ? values[e->b] : 0,
                        e->op == SMR_EXPR_SELECT ? values[e->c] : 0, out, why);
}

// ---- intervals ----
//
// INT64_MIN as a lower and INT64_MAX as an upper end mean "no bound"; arithmetic saturates there,
// which is sound because an exact result beyond int64 is a failure, not a value.

struct expr_range {
  int64_t lo, hi;
};

static const struct expr_range expr_any = {INT64_MIN, INT64_MAX};

static int64_t expr_sum(int64_t a, int64_t b, int64_t no_bound) {
  int64_t sum;
  if (a == no_bound || b == no_bound) return no_bound;
  if (!smr_add_i64(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

static bool expr_infinite(int64_t end) { return end == INT64_MIN || end == INT64_MAX; }

// Product, quotient (y >= 1), minimum or maximum of two ends of intervals, which may be infinite.
static int64_t expr_end(uint32_t op, int64_t x, int64_t y) {
  const bool times = op == SMR_EXPR_MUL;
  const char *why;
  int64_t end;
  if (times && (x == 0 || y == 0)) return 0;  // 0 * infinity is 0
  const bool infinite = op < SMR_EXPR_MIN && (expr_infinite(x) || (times && expr_infinite(y)));
  if (!infinite && smr_expr_apply(op, x, y, 0, &end, &why)) return end;
  if (!times) return x;  // infinity / infinity may be anything
  return (x < 0) == (y < 0) ? INT64_MAX : INT64_MIN;
}

// The operation is monotone, so its extremes are at the corners.
static struct expr_range expr_range_corners(uint32_t op, struct expr_range a, struct expr_range b) {
  struct expr_range range = {INT64_MAX, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    const int64_t end = expr_end(op, (i & 1) != 0 ? a.hi : a.lo, (i & 2) != 0 ? b.hi : b.lo);
    if (end < range.lo) range.lo = end;
    if (end > range.hi) range.hi = end;
  }
  return range;
}

static struct expr_range expr_range_quotient(uint32_t op, struct expr_range a,
                                             struct expr_range b) {
  if (b.lo == 0) b.lo = 1;  // a zero divisor fails
  if (b.lo >= 1 && b.hi >= b.lo) return expr_range_corners(op, a, b);
  // |b| >= 1, and rounding a quotient away from zero never passes |a|.
  if (a.lo == INT64_MIN || a.hi == INT64_MAX) return expr_any;
  const int64_t most = a.hi > -a.lo ? a.hi : -a.lo;
  return (struct expr_range){-most, most};
}

// The result has the sign of the divisor and is smaller than it.
static struct expr_range expr_range_modulo(struct expr_range a, struct expr_range b) {
  struct expr_range range = {0, 0};
  if (b.lo < 0) range.lo = b.lo == INT64_MIN ? INT64_MIN : b.lo + 1;
  if (b.hi > 0) range.hi = b.hi == INT64_MAX ? INT64_MAX : b.hi - 1;
  if (b.lo >= 0 && a.lo >= 0 && a.hi < range.hi) range.hi = a.hi;
  return range;
}

static struct expr_range expr_range_scale(struct expr_range a, struct expr_range bits) {
  if (bits.lo != bits.hi || bits.lo < 0 || bits.lo > (int64_t)UINT32_MAX) return expr_any;
  const uint32_t pattern = (uint32_t)bits.lo;
  float scale;
  memcpy(&scale, &pattern, sizeof scale);
  if (!(scale >= 0 && scale <= FLT_MAX)) return expr_any;
  // Both roundings are monotone, so the ends give the ends.
  struct expr_range range = expr_any;
  if (a.lo != INT64_MIN && !expr_scale(a.lo, bits.lo, &range.lo)) range.lo = INT64_MIN;
  if (a.hi != INT64_MAX && !expr_scale(a.hi, bits.lo, &range.hi)) range.hi = INT64_MAX;
  return range;
}

static struct expr_range expr_range_equal(struct expr_range a, struct expr_range b) {
  if (a.hi < b.lo || b.hi < a.lo) return (struct expr_range){0, 0};
  if (a.lo == a.hi && b.lo == b.hi && a.lo == b.lo) return (struct expr_range){1, 1};
  return (struct expr_range){0, 1};
}

static struct expr_range expr_range_less(struct expr_range a, struct expr_range b) {
  if (a.hi < b.lo && a.hi != INT64_MAX) return (struct expr_range){1, 1};
  if (a.lo >= b.hi && b.hi != INT64_MAX) return (struct expr_range){0, 0};
  return (struct expr_range){0, 1};
}

static struct expr_range expr_range_leaf(const struct smr_expr *e, const int64_t *hi) {
  switch ((enum smr_expr_op)e->op) {
    case SMR_EXPR_CONST:
      return (struct expr_range){e->k, e->k};
    case SMR_EXPR_INPUT_DIM:
      return (struct expr_range){0, INT64_MAX};
    case SMR_EXPR_READ:
      return (struct expr_range){INT64_MIN, e->c >= 0 ? hi[e->c] : INT64_MAX};
    case SMR_EXPR_BORN:
      return (struct expr_range){0, e->k >= 0 ? hi[e->k] : INT64_MAX};
    default:
      return expr_any;
  }
}

static struct expr_range expr_range_of(const struct smr_expr *e, const int64_t *lo,
                                       const int64_t *hi) {
  const struct expr_range a = {lo[e->a], hi[e->a]}, b = {lo[e->b], hi[e->b]};
  switch ((enum smr_expr_op)e->op) {
    case SMR_EXPR_ADD:
      return (struct expr_range){expr_sum(a.lo, b.lo, INT64_MIN), expr_sum(a.hi, b.hi, INT64_MAX)};
    case SMR_EXPR_SUB: {
      // -INT64_MIN overflows. INT64_MIN and INT64_MAX mean no bound.
      const int64_t b_most = b.hi == INT64_MAX || b.hi == INT64_MIN ? INT64_MIN : -b.hi;
      const int64_t b_least = b.lo == INT64_MIN ? INT64_MAX : -b.lo;
      return (struct expr_range){expr_sum(a.lo, b_most, INT64_MIN),
                                 expr_sum(a.hi, b_least, INT64_MAX)};
    }
    case SMR_EXPR_MUL:
    case SMR_EXPR_MIN:
    case SMR_EXPR_MAX:
      return expr_range_corners(e->op, a, b);
    case SMR_EXPR_FLOORDIV:
    case SMR_EXPR_CEILDIV:
      return expr_range_quotient(e->op, a, b);
    case SMR_EXPR_MOD:
      return expr_range_modulo(a, b);
    case SMR_EXPR_EQ:
      return expr_range_equal(a, b);
    case SMR_EXPR_LT:
      return expr_range_less(a, b);
    case SMR_EXPR_SELECT: {
      const struct expr_range c = {lo[e->c], hi[e->c]};
      if (a.lo > 0 || a.hi < 0) return b;
      if (a.lo == 0 && a.hi == 0) return c;
      return (struct expr_range){b.lo < c.lo ? b.lo : c.lo, b.hi > c.hi ? b.hi : c.hi};
    }
    case SMR_EXPR_SCALE_F32:
      return expr_range_scale(a, b);
    default:
      return expr_any;
  }
}

void smr_expr_interval(const struct smr_expr *exprs, uint32_t index, const int64_t *lo,
                       const int64_t *hi, int64_t *out_lo, int64_t *out_hi) {
  const struct smr_expr *e = &exprs[index];
  const struct expr_range range =
      e->op < SMR_EXPR_ADD ? expr_range_leaf(e, hi) : expr_range_of(e, lo, hi);
  *out_lo = range.lo;
  *out_hi = range.hi;
}
