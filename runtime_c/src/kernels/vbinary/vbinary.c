// SPDX-License-Identifier: Apache-2.0
// Functions of two elements in portable C.
#include "base/fp.h"

#include "kernels/vbinary/vbinary.h"

#include <samara/samara.h>

#include "base/parts.h"
#include "kernels/f64_formula.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// GCC vectorises a loop of constant length if stores cannot feed later loads: `y` is an operand or
// overlaps none. Clang would unroll, which only adds code.
#if defined(__clang__)
#define VBINARY_LANES _Pragma("clang loop unroll(disable)")
#define VBINARY_SINGLY _Pragma("clang loop vectorize(disable) unroll(disable)")
#elif defined(__GNUC__)
#define VBINARY_LANES _Pragma("GCC ivdep")
#define VBINARY_SINGLY
#else
#define VBINARY_LANES
#define VBINARY_SINGLY
#endif

// One kernel: operands of type T, results of type R, `value` in terms of a and b. A block has
// `count` elements; `left` of them are wanted.
#define VBINARY_LOOP(name, T, R, lanes, count, value)                                 \
  static void vbinary_##name(size_t n, const void *a_, size_t a_next, const void *b_, \
                             size_t b_next, void *y_) {                               \
    const T *pa = (const T *)a_, *pb = (const T *)b_;                                 \
    R *y = (R *)y_;                                                                   \
    for (size_t at = 0; at < n; at += SMR_VBINARY_BLOCK) {                            \
      const size_t left = n - at < SMR_VBINARY_BLOCK ? n - at : SMR_VBINARY_BLOCK;    \
      (void)left;                                                                     \
      lanes for (size_t i = 0; i < (count); i++) {                                    \
        const T a = pa[i], b = pb[i];                                                 \
        y[i] = (R)(value);                                                            \
      }                                                                               \
      pa += a_next;                                                                   \
      pb += b_next;                                                                   \
      y += SMR_VBINARY_BLOCK;                                                         \
    }                                                                                 \
  }
#define VBINARY(name, T, R, value) VBINARY_LOOP(name, T, R, VBINARY_LANES, SMR_VBINARY_BLOCK, value)
#define VBINARY_SLOW(name, T, R, value) VBINARY_LOOP(name, T, R, VBINARY_SINGLY, left, value)

// Functions that are the same for signed and unsigned integers of a width. 1u keeps the arithmetic
// unsigned, so that it wraps even where small types are promoted.
#define VBINARY_WIDTH(w, T)           \
  VBINARY(add_##w, T, T, 1u * a + b)  \
  VBINARY(sub_##w, T, T, 1u * a - b)  \
  VBINARY(mul_##w, T, T, 1u * a * b)  \
  VBINARY(eq_##w, T, uint8_t, a == b) \
  VBINARY(bit_and_##w, T, T, a &b)    \
  VBINARY(bit_or_##w, T, T, a | b)    \
  VBINARY(bit_xor_##w, T, T, a ^ b)   \
  VBINARY(shl_##w, T, T, b < (w) ? 1u * a << (b & ((w) - 1)) : 0)
VBINARY_WIDTH(8, uint8_t)
VBINARY_WIDTH(16, uint16_t)
VBINARY_WIDTH(32, uint32_t)
VBINARY_WIDTH(64, uint64_t)
#undef VBINARY_WIDTH

static uint64_t vbinary_power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1u) result *= base;
  return result;
}

// 1 / a^n truncates to 0, unless the base is 1 or -1.
static uint64_t vbinary_power_signed(int64_t a, int64_t b) {
  if (b >= 0) return vbinary_power((uint64_t)a, (uint64_t)b);
  return a == 1 ? 1 : a == -1 ? (b % 2 ? UINT64_MAX : 1) : 0;
}

#define VBINARY_ORDER(t, T)             \
  VBINARY(min_##t, T, T, a < b ? a : b) \
  VBINARY(max_##t, T, T, a > b ? a : b) \
  VBINARY(lt_##t, T, uint8_t, a < b)    \
  VBINARY(le_##t, T, uint8_t, a <= b)

// Division by 0 gives 0. Division by -1 is a negation that wraps, because lowest / -1 overflows in
// C. Both divide by 1 and correct the result without a branch, because branches on data are
// mispredicted. F is a float with at least twice the bits of T, which gives exact quotients and has
// vector instructions, or T itself.
#define VBINARY_SIGNED(t, T, U, F, w, PACE)                               \
  static inline T vbinary_quotient_##t(T a, T b) {                        \
    const U odd = (U)(0 - (U)((b == 0) | (b == -1)));                     \
    const T by = (T)(((U)b & (U)~odd) | (odd & 1));                       \
    const U whole = (U)(T)((F)a / (F)by);                                 \
    const U negative = (U)(0 - (U)(b == -1));                             \
    return (T)(((whole ^ negative) - negative) & (U)(0 - (U)(b != 0)));   \
  }                                                                       \
  static inline T vbinary_rest_##t(T a, T b) {                            \
    const U rest = (U)((U)a - 1u * (U)vbinary_quotient_##t(a, b) * (U)b); \
    return (T)(rest & (U)(0 - (U)(b != 0)));                              \
  }                                                                       \
  static inline T vbinary_modulo_##t(T a, T b) {                          \
    const T rest = vbinary_rest_##t(a, b);                                \
    const U turn = (U)(0 - (U)((rest != 0) & ((rest ^ b) < 0)));          \
    return (T)((U)rest + ((U)b & turn));                                  \
  }                                                                       \
  VBINARY_ORDER(t, T)                                                     \
  PACE(div_##t, T, T, vbinary_quotient_##t(a, b))                         \
  PACE(fmod_##t, T, T, vbinary_rest_##t(a, b))                            \
  PACE(mod_##t, T, T, vbinary_modulo_##t(a, b))                           \
  VBINARY_SLOW(pow_##t, T, T, vbinary_power_signed(a, b))                 \
  VBINARY(shr_##t, T, T, a >> (b < 0 || b >= (w) ? (w) - 1 : b))
VBINARY_SIGNED(i8, int8_t, uint8_t, int8_t, 8, VBINARY_SLOW)
VBINARY_SIGNED(i16, int16_t, uint16_t, int16_t, 16, VBINARY_SLOW)
VBINARY_SIGNED(i32, int32_t, uint32_t, double, 32, VBINARY)
VBINARY_SIGNED(i64, int64_t, uint64_t, int64_t, 64, VBINARY_SLOW)
#undef VBINARY_SIGNED

#define VBINARY_UNSIGNED(t, T, w)                  \
  VBINARY_ORDER(t, T)                              \
  VBINARY_SLOW(div_##t, T, T, b == 0 ? 0 : a / b)  \
  VBINARY_SLOW(mod_##t, T, T, b == 0 ? 0 : a % b)  \
  VBINARY_SLOW(pow_##t, T, T, vbinary_power(a, b)) \
  VBINARY(shr_##t, T, T, b < (w) ? a >> (b & ((w) - 1)) : 0)
VBINARY_UNSIGNED(u8, uint8_t, 8)
VBINARY_UNSIGNED(u16, uint16_t, 16)
VBINARY_UNSIGNED(u32, uint32_t, 32)
VBINARY_UNSIGNED(u64, uint64_t, 64)
#undef VBINARY_UNSIGNED
#undef VBINARY_ORDER

#define VBINARY_FLOAT(t, T, s)                          \
  static T vbinary_modulo_##t(T a, T b) {               \
    const T r = fmod##s(a, b);                          \
    if (r == 0) return copysign##s(0, b);               \
    return (r < 0) != (b < 0) ? r + b : r;              \
  }                                                     \
  VBINARY_SLOW(mod_##t, T, T, vbinary_modulo_##t(a, b)) \
  VBINARY_SLOW(fmod_##t, T, T, fmod##s(a, b))           \
  VBINARY_SLOW(pow_##t, T, T, pow##s(a, b))             \
  VBINARY_SLOW(atan2_##t, T, T, atan2##s(a, b))         \
  VBINARY(eq_##t, T, uint8_t, a == b)                   \
  VBINARY(lt_##t, T, uint8_t, a < b)                    \
  VBINARY(le_##t, T, uint8_t, a <= b)
VBINARY_FLOAT(f32, float, f)
VBINARY_FLOAT(f64, double, )
#undef VBINARY_FLOAT

// The functions that f32_vbinary provides for float32.
#define SMR_F32_BINARY(NAME, name, DTYPES, value, value_f64) \
  VBINARY(name##_f64, double, double, value_f64)
#include "kernels/f32_vbinary/functions.inc"
#undef SMR_F32_BINARY

VBINARY(eq_bool, uint8_t, uint8_t, !a == !b)
VBINARY(and_bool, uint8_t, uint8_t, (a != 0) & (b != 0))
VBINARY(or_bool, uint8_t, uint8_t, (a | b) != 0)
VBINARY(xor_bool, uint8_t, uint8_t, !a != !b)

#undef VBINARY
#undef VBINARY_SLOW
#undef VBINARY_LOOP
#undef VBINARY_LANES
#undef VBINARY_SINGLY

// Kernels by width, by signedness, and for both float types.
#define VBINARY_IN(part, type, kernel) \
  SMR_HAS(vbinary_##part) && SMR_HAS(type_##type) ? vbinary_##kernel : NULL
#define VBINARY_WIDTHS(part, name)                       \
  [SAMARA_INT8] = VBINARY_IN(part, int8, name##_8),      \
  [SAMARA_UINT8] = VBINARY_IN(part, uint8, name##_8),    \
  [SAMARA_INT16] = VBINARY_IN(part, int16, name##_16),   \
  [SAMARA_UINT16] = VBINARY_IN(part, uint16, name##_16), \
  [SAMARA_INT32] = VBINARY_IN(part, int32, name##_32),   \
  [SAMARA_UINT32] = VBINARY_IN(part, uint32, name##_32), \
  [SAMARA_INT64] = VBINARY_IN(part, int64, name##_64),   \
  [SAMARA_UINT64] = VBINARY_IN(part, uint64, name##_64)
#define VBINARY_UNSIGNEDS(part, name)                     \
  [SAMARA_UINT8] = VBINARY_IN(part, uint8, name##_u8),    \
  [SAMARA_UINT16] = VBINARY_IN(part, uint16, name##_u16), \
  [SAMARA_UINT32] = VBINARY_IN(part, uint32, name##_u32), \
  [SAMARA_UINT64] = VBINARY_IN(part, uint64, name##_u64)
#define VBINARY_SIGNEDS(part, name)                     \
  [SAMARA_INT8] = VBINARY_IN(part, int8, name##_i8),    \
  [SAMARA_INT16] = VBINARY_IN(part, int16, name##_i16), \
  [SAMARA_INT32] = VBINARY_IN(part, int32, name##_i32), \
  [SAMARA_INT64] = VBINARY_IN(part, int64, name##_i64)
#define VBINARY_INTEGERS(part, name) VBINARY_SIGNEDS(part, name), VBINARY_UNSIGNEDS(part, name)
#define VBINARY_FLOATS(part, name)                                                         \
  [SAMARA_FLOAT32] = VBINARY_IN(part, float32, name##_f32), [SAMARA_FLOAT64] = VBINARY_IN( \
                                                                part, float64, name##_f64)
#define VBINARY_DOUBLE(part, name) [SAMARA_FLOAT64] = VBINARY_IN(part, float64, name##_f64)
enum { VBINARY_DTYPES = SAMARA_UINT64 + 1 };
// By dtype.
static const smr_vbinary_blocks vbinary_row_add[VBINARY_DTYPES] = {VBINARY_WIDTHS(add, add),
                                                                   VBINARY_DOUBLE(add, add)};
static const smr_vbinary_blocks vbinary_row_sub[VBINARY_DTYPES] = {VBINARY_WIDTHS(sub, sub),
                                                                   VBINARY_DOUBLE(sub, sub)};
static const smr_vbinary_blocks vbinary_row_mul[VBINARY_DTYPES] = {VBINARY_WIDTHS(mul, mul),
                                                                   VBINARY_DOUBLE(mul, mul)};
static const smr_vbinary_blocks vbinary_row_div[VBINARY_DTYPES] = {VBINARY_INTEGERS(div, div),
                                                                   VBINARY_DOUBLE(div, div)};
static const smr_vbinary_blocks vbinary_row_min[VBINARY_DTYPES] = {VBINARY_INTEGERS(min, min),
                                                                   VBINARY_DOUBLE(min, min)};
static const smr_vbinary_blocks vbinary_row_max[VBINARY_DTYPES] = {VBINARY_INTEGERS(max, max),
                                                                   VBINARY_DOUBLE(max, max)};
// Functions without integers.
#define VBINARY_ROW_FLOAT(name) \
  static const smr_vbinary_blocks vbinary_row_##name[VBINARY_DTYPES] = {VBINARY_DOUBLE(name, name)};
#define VBINARY_ROW_NUMBER(name)
#define SMR_F32_BINARY(NAME, name, DTYPES, value, value_f64) VBINARY_ROW_##DTYPES(name)
#include "kernels/f32_vbinary/functions.inc"
#undef SMR_F32_BINARY
#undef VBINARY_ROW_FLOAT
#undef VBINARY_ROW_NUMBER
static const smr_vbinary_blocks vbinary_row_mod[VBINARY_DTYPES] = {VBINARY_INTEGERS(mod, mod),
                                                                   VBINARY_FLOATS(mod, mod)};
static const smr_vbinary_blocks vbinary_row_fmod[VBINARY_DTYPES] = {
    VBINARY_SIGNEDS(fmod, fmod), VBINARY_UNSIGNEDS(fmod, mod), VBINARY_FLOATS(fmod, fmod)};
static const smr_vbinary_blocks vbinary_row_pow[VBINARY_DTYPES] = {VBINARY_INTEGERS(pow, pow),
                                                                   VBINARY_FLOATS(pow, pow)};
static const smr_vbinary_blocks vbinary_row_eq[VBINARY_DTYPES] = {
    VBINARY_WIDTHS(eq, eq), VBINARY_FLOATS(eq, eq), [SAMARA_BOOL] = VBINARY_IN(eq, bool, eq_bool)};
static const smr_vbinary_blocks vbinary_row_lt[VBINARY_DTYPES] = {VBINARY_INTEGERS(lt, lt),
                                                                  VBINARY_FLOATS(lt, lt)};
static const smr_vbinary_blocks vbinary_row_le[VBINARY_DTYPES] = {VBINARY_INTEGERS(le, le),
                                                                  VBINARY_FLOATS(le, le)};
static const smr_vbinary_blocks vbinary_row_atan2[VBINARY_DTYPES] = {VBINARY_FLOATS(atan2, atan2)};
static const smr_vbinary_blocks vbinary_row_and[VBINARY_DTYPES] = {
    [SAMARA_BOOL] = VBINARY_IN(and, bool, and_bool)};
static const smr_vbinary_blocks vbinary_row_or[VBINARY_DTYPES] = {
    [SAMARA_BOOL] = VBINARY_IN(or, bool, or_bool)};
static const smr_vbinary_blocks vbinary_row_xor[VBINARY_DTYPES] = {
    [SAMARA_BOOL] = VBINARY_IN(xor, bool, xor_bool)};
static const smr_vbinary_blocks vbinary_row_bit_and[VBINARY_DTYPES] = {
    VBINARY_WIDTHS(bit_and, bit_and)};
static const smr_vbinary_blocks vbinary_row_bit_or[VBINARY_DTYPES] = {
    VBINARY_WIDTHS(bit_or, bit_or)};
static const smr_vbinary_blocks vbinary_row_bit_xor[VBINARY_DTYPES] = {
    VBINARY_WIDTHS(bit_xor, bit_xor)};
static const smr_vbinary_blocks vbinary_row_shl[VBINARY_DTYPES] = {VBINARY_WIDTHS(shl, shl)};
static const smr_vbinary_blocks vbinary_row_shr[VBINARY_DTYPES] = {VBINARY_INTEGERS(shr, shr)};
#define VBINARY_ROW(name) SMR_HAS(vbinary_##name) ? vbinary_row_##name : NULL
static const smr_vbinary_blocks *const vbinary_rows[SMR_VBINARY_COUNT] = {
#define SMR_F32_BINARY(NAME, name, DTYPES, value, value_f64) \
  [SMR_VBINARY_##NAME] = VBINARY_ROW(name),
#include "kernels/f32_vbinary/functions.inc"
#undef SMR_F32_BINARY
    [SMR_VBINARY_MOD] = VBINARY_ROW(mod),         [SMR_VBINARY_FMOD] = VBINARY_ROW(fmod),
    [SMR_VBINARY_POW] = VBINARY_ROW(pow),         [SMR_VBINARY_EQ] = VBINARY_ROW(eq),
    [SMR_VBINARY_LT] = VBINARY_ROW(lt),           [SMR_VBINARY_LE] = VBINARY_ROW(le),
    [SMR_VBINARY_ATAN2] = VBINARY_ROW(atan2),     [SMR_VBINARY_AND] = VBINARY_ROW(and),
    [SMR_VBINARY_OR] = VBINARY_ROW(or),           [SMR_VBINARY_XOR] = VBINARY_ROW(xor),
    [SMR_VBINARY_BIT_AND] = VBINARY_ROW(bit_and), [SMR_VBINARY_BIT_OR] = VBINARY_ROW(bit_or),
    [SMR_VBINARY_BIT_XOR] = VBINARY_ROW(bit_xor), [SMR_VBINARY_SHL] = VBINARY_ROW(shl),
    [SMR_VBINARY_SHR] = VBINARY_ROW(shr),
};
#undef VBINARY_ROW
#undef VBINARY_IN
#undef VBINARY_WIDTHS
#undef VBINARY_UNSIGNEDS
#undef VBINARY_SIGNEDS
#undef VBINARY_INTEGERS
#undef VBINARY_FLOATS
#undef VBINARY_DOUBLE

static const uint8_t vbinary_bytes[VBINARY_DTYPES] = {
    [SAMARA_FLOAT32] = 4, [SAMARA_INT8] = 1,   [SAMARA_UINT8] = 1,   [SAMARA_INT32] = 4,
    [SAMARA_INT64] = 8,   [SAMARA_BOOL] = 1,   [SAMARA_FLOAT64] = 8, [SAMARA_INT16] = 2,
    [SAMARA_UINT16] = 2,  [SAMARA_UINT32] = 4, [SAMARA_UINT64] = 8,
};

struct smr_vbinary_kernel smr_vbinary_kernel(enum smr_vbinary function, uint8_t dtype) {
  const smr_vbinary_blocks *row = vbinary_rows[function];
  if (dtype >= VBINARY_DTYPES || row == NULL) return (struct smr_vbinary_kernel){.blocks = NULL};
  const uint8_t bytes = vbinary_bytes[dtype];
  const bool to_bool =
      function == SMR_VBINARY_EQ || function == SMR_VBINARY_LT || function == SMR_VBINARY_LE;
  return (struct smr_vbinary_kernel){row[dtype], bytes, to_bool ? 1 : bytes};
}

// Buffer for a block of the widest elements.
typedef union {
  uint64_t whole[SMR_VBINARY_BLOCK];
  char bytes[SMR_VBINARY_BLOCK * sizeof(uint64_t)];
} vbinary_room;

// Fill a block with one value.
static void vbinary_fill(vbinary_room *room, const char *value, size_t bytes) {
  memcpy(room->bytes, value, bytes);
  for (size_t filled = bytes; filled < SMR_VBINARY_BLOCK * bytes; filled *= 2)
    memcpy(room->bytes + filled, room->bytes, filled);
}

void smr_vbinary_run(const struct smr_vbinary_kernel *kernel, size_t n, const void *a_,
                     size_t a_step, const void *b_, size_t b_step, void *y_) {
  enum { BLOCK = SMR_VBINARY_BLOCK };
  const char *a = a_, *b = b_;
  char *y = y_;
  const size_t bytes = kernel->bytes, out_bytes = kernel->out_bytes;
  vbinary_room room_a, room_b, room_y;
  if (n == 0) return;
  if (n < BLOCK || a_step == 0) vbinary_fill(&room_a, a, bytes);
  if (n < BLOCK || b_step == 0) vbinary_fill(&room_b, b, bytes);
  size_t i = n / BLOCK * BLOCK;
  if (i > 0)
    kernel->blocks(i, a_step ? a : room_a.bytes, a_step ? BLOCK : 0, b_step ? b : room_b.bytes,
                   b_step ? BLOCK : 0, y);
  // Partial blocks are copied; elements after the end are not written.
  for (; i < n; i += BLOCK) {
    const size_t count = n - i < BLOCK ? n - i : BLOCK;
    if (a_step) memcpy(room_a.bytes, a + i * bytes, count * bytes);
    if (b_step) memcpy(room_b.bytes, b + i * bytes, count * bytes);
    kernel->blocks(count, room_a.bytes, BLOCK, room_b.bytes, BLOCK, room_y.bytes);
    memcpy(y + i * out_bytes, room_y.bytes, count * out_bytes);
  }
}

// Whether one of `n` elements is 0; tests all elements of a block at once.
#define VBINARY_ZERO(w)                                                              \
  static bool vbinary_zero_##w(size_t n, const uint##w##_t *p) {                     \
    for (; n >= SMR_VBINARY_BLOCK; n -= SMR_VBINARY_BLOCK, p += SMR_VBINARY_BLOCK) { \
      uint##w##_t zeros = 0;                                                         \
      for (size_t i = 0; i < SMR_VBINARY_BLOCK; i++) zeros |= p[i] == 0;             \
      if (zeros) return true;                                                        \
    }                                                                                \
    for (; n; n--, p++)                                                              \
      if (*p == 0) return true;                                                      \
    return false;                                                                    \
  }
VBINARY_ZERO(8)
VBINARY_ZERO(16)
VBINARY_ZERO(32)
VBINARY_ZERO(64)
#undef VBINARY_ZERO

bool smr_vbinary_has_zero(uint8_t dtype, size_t n, const void *b) {
  const int bytes = dtype < VBINARY_DTYPES ? vbinary_bytes[dtype] : 0;
  if ((SMR_HAS(type_int8) || SMR_HAS(type_uint8)) && bytes == 1) return vbinary_zero_8(n, b);
  if ((SMR_HAS(type_int16) || SMR_HAS(type_uint16)) && bytes == 2) return vbinary_zero_16(n, b);
  if ((SMR_HAS(type_int32) || SMR_HAS(type_uint32)) && bytes == 4) return vbinary_zero_32(n, b);
  if (SMR_HAS(type_int64) || SMR_HAS(type_uint64)) return vbinary_zero_64(n, b);
  return false;
}
