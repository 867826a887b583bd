// SPDX-License-Identifier: Apache-2.0
// Functions of one element in portable C.
#include "base/fp.h"

#include "kernels/vunary/vunary.h"

#include <samara/samara.h>

#include "base/parts.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// GCC vectorises a loop of constant length if stores cannot feed later loads: `y` is the operand or
// does not overlap it. Clang would unroll, which only adds code.
#if defined(__clang__)
#define VUNARY_LANES _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define VUNARY_LANES _Pragma("GCC ivdep")
#else
#define VUNARY_LANES
#endif

// One kernel: an operand of type T, a result of type R; `value` in terms of x.
#define VUNARY(name, T, R, value)                                      \
  static void vunary_##name(size_t blocks, const void *x_, void *y_) { \
    const T *px = (const T *)x_;                                       \
    R *y = (R *)y_;                                                    \
    for (; blocks; blocks--) {                                         \
      VUNARY_LANES for (size_t i = 0; i < SMR_VUNARY_BLOCK; i++) {     \
        const T x = px[i];                                             \
        y[i] = (R)(value);                                             \
      }                                                                \
      px += SMR_VUNARY_BLOCK;                                          \
      y += SMR_VUNARY_BLOCK;                                           \
    }                                                                  \
  }

// Unsigned negation wraps. Unsigned integers use the negation of their width; their sign is never
// negative.
#define VUNARY_WIDTH(w, T)      \
  VUNARY(neg_##w, T, T, 0u - x) \
  VUNARY(bit_not_##w, T, T, ~x) \
  VUNARY(copy_##w, T, T, x)     \
  VUNARY(positive_##w, T, T, x > 0)
VUNARY_WIDTH(8, uint8_t)
VUNARY_WIDTH(16, uint16_t)
VUNARY_WIDTH(32, uint32_t)
VUNARY_WIDTH(64, uint64_t)
#undef VUNARY_WIDTH

#define VUNARY_SIGNED(t, T, U)                         \
  VUNARY(abs_##t, T, T, x < 0 ? (U)(0u - (U)x) : (U)x) \
  VUNARY(sign_##t, T, T, (x > 0) - (x < 0))            \
  VUNARY(relu_##t, T, T, x > 0 ? x : 0)
VUNARY_SIGNED(i8, int8_t, uint8_t)
VUNARY_SIGNED(i16, int16_t, uint16_t)
VUNARY_SIGNED(i32, int32_t, uint32_t)
VUNARY_SIGNED(i64, int64_t, uint64_t)
#undef VUNARY_SIGNED

#define VUNARY_FLOAT(t, T)                                           \
  VUNARY(is_nan_##t, T, uint8_t, x != x)                             \
  VUNARY(is_inf_##t, T, uint8_t, (x == INFINITY) | (x == -INFINITY)) \
  VUNARY(is_inf_positive_##t, T, uint8_t, x == INFINITY)             \
  VUNARY(is_inf_negative_##t, T, uint8_t, x == -INFINITY)
VUNARY_FLOAT(f32, float)
VUNARY_FLOAT(f64, double)
#undef VUNARY_FLOAT

VUNARY(not_bool, uint8_t, uint8_t, !x)
#undef VUNARY
#undef VUNARY_LANES

static void vunary_never(size_t blocks, const void *x, void *y) {
  (void)x;
  memset(y, 0, blocks * SMR_VUNARY_BLOCK);
}

// Entries of function `part`, computed by function `name`, if this build has both it and the dtype.
#define VUNARY_IN(part, type, kernel) \
  SMR_HAS(vunary_##part) && SMR_HAS(type_##type) ? vunary_##kernel : NULL
#define VUNARY_UNSIGNEDS(part, name)                    \
  [SAMARA_UINT8] = VUNARY_IN(part, uint8, name##_8),    \
  [SAMARA_UINT16] = VUNARY_IN(part, uint16, name##_16), \
  [SAMARA_UINT32] = VUNARY_IN(part, uint32, name##_32), \
  [SAMARA_UINT64] = VUNARY_IN(part, uint64, name##_64)
#define VUNARY_WIDTHS(part, name)                                                   \
  VUNARY_UNSIGNEDS(part, name), [SAMARA_INT8] = VUNARY_IN(part, int8, name##_8),    \
                                [SAMARA_INT16] = VUNARY_IN(part, int16, name##_16), \
                                [SAMARA_INT32] = VUNARY_IN(part, int32, name##_32), \
                                [SAMARA_INT64] = VUNARY_IN(part, int64, name##_64)
#define VUNARY_SIGNEDS(part, name)                     \
  [SAMARA_INT8] = VUNARY_IN(part, int8, name##_i8),    \
  [SAMARA_INT16] = VUNARY_IN(part, int16, name##_i16), \
  [SAMARA_INT32] = VUNARY_IN(part, int32, name##_i32), \
  [SAMARA_INT64] = VUNARY_IN(part, int64, name##_i64)
#define VUNARY_FLOATS(part, name)                                                        \
  [SAMARA_FLOAT32] = VUNARY_IN(part, float32, name##_f32), [SAMARA_FLOAT64] = VUNARY_IN( \
                                                               part, float64, name##_f64)
enum { VUNARY_DTYPES = SAMARA_UINT64 + 1 };
// By dtype.
static const smr_vunary_blocks vunary_row_neg[VUNARY_DTYPES] = {VUNARY_WIDTHS(neg, neg)};
static const smr_vunary_blocks vunary_row_abs[VUNARY_DTYPES] = {VUNARY_SIGNEDS(abs, abs),
                                                                VUNARY_UNSIGNEDS(abs, copy)};
static const smr_vunary_blocks vunary_row_sign[VUNARY_DTYPES] = {VUNARY_SIGNEDS(sign, sign),
                                                                 VUNARY_UNSIGNEDS(sign, positive)};
static const smr_vunary_blocks vunary_row_relu[VUNARY_DTYPES] = {VUNARY_SIGNEDS(relu, relu),
                                                                 VUNARY_UNSIGNEDS(relu, copy)};
static const smr_vunary_blocks vunary_row_bit_not[VUNARY_DTYPES] = {
    VUNARY_WIDTHS(bit_not, bit_not)};
static const smr_vunary_blocks vunary_row_not[VUNARY_DTYPES] = {[SAMARA_BOOL] =
                                                                    VUNARY_IN(not, bool, not_bool)};
static const smr_vunary_blocks vunary_row_is_nan[VUNARY_DTYPES] = {VUNARY_FLOATS(is_nan, is_nan)};
static const smr_vunary_blocks vunary_row_is_inf[VUNARY_DTYPES] = {VUNARY_FLOATS(is_inf, is_inf)};
static const smr_vunary_blocks vunary_row_is_inf_positive[VUNARY_DTYPES] = {
    VUNARY_FLOATS(is_inf_positive, is_inf_positive)};
static const smr_vunary_blocks vunary_row_is_inf_negative[VUNARY_DTYPES] = {
    VUNARY_FLOATS(is_inf_negative, is_inf_negative)};
static const smr_vunary_blocks vunary_row_is_inf_none[VUNARY_DTYPES] = {
    [SAMARA_FLOAT32] = VUNARY_IN(is_inf_none, float32, never),
    [SAMARA_FLOAT64] = VUNARY_IN(is_inf_none, float64, never)};
#define VUNARY_ROW(name) SMR_HAS(vunary_##name) ? vunary_row_##name : NULL
static const smr_vunary_blocks *const vunary_rows[SMR_VUNARY_COUNT] = {
    [SMR_VUNARY_NEG] = VUNARY_ROW(neg),
    [SMR_VUNARY_ABS] = VUNARY_ROW(abs),
    [SMR_VUNARY_SIGN] = VUNARY_ROW(sign),
    [SMR_VUNARY_RELU] = VUNARY_ROW(relu),
    [SMR_VUNARY_BIT_NOT] = VUNARY_ROW(bit_not),
    [SMR_VUNARY_NOT] = VUNARY_ROW(not),
    [SMR_VUNARY_IS_NAN] = VUNARY_ROW(is_nan),
    [SMR_VUNARY_IS_INF] = VUNARY_ROW(is_inf),
    [SMR_VUNARY_IS_INF_POSITIVE] = VUNARY_ROW(is_inf_positive),
    [SMR_VUNARY_IS_INF_NEGATIVE] = VUNARY_ROW(is_inf_negative),
    [SMR_VUNARY_IS_INF_NONE] = VUNARY_ROW(is_inf_none),
};
#undef VUNARY_ROW
#undef VUNARY_IN
#undef VUNARY_WIDTHS
#undef VUNARY_UNSIGNEDS
#undef VUNARY_SIGNEDS
#undef VUNARY_FLOATS

static const uint8_t vunary_bytes[VUNARY_DTYPES] = {
    [SAMARA_FLOAT32] = 4, [SAMARA_INT8] = 1,   [SAMARA_UINT8] = 1,   [SAMARA_INT32] = 4,
    [SAMARA_INT64] = 8,   [SAMARA_BOOL] = 1,   [SAMARA_FLOAT64] = 8, [SAMARA_INT16] = 2,
    [SAMARA_UINT16] = 2,  [SAMARA_UINT32] = 4, [SAMARA_UINT64] = 8,
};

struct smr_vunary_kernel smr_vunary_kernel(enum smr_vunary function, uint8_t dtype) {
  const smr_vunary_blocks *row = vunary_rows[function];
  if (dtype >= VUNARY_DTYPES || row == NULL) return (struct smr_vunary_kernel){.blocks = NULL};
  const uint8_t bytes = vunary_bytes[dtype];
  return (struct smr_vunary_kernel){row[dtype], bytes, function >= SMR_VUNARY_IS_NAN ? 1 : bytes};
}

void smr_vunary_run(const struct smr_vunary_kernel *kernel, size_t n, const void *x_, void *y_) {
  const char *x = x_;
  char *y = y_;
  const size_t bytes = kernel->bytes, out_bytes = kernel->out_bytes;
  union {
    uint64_t whole[SMR_VUNARY_BLOCK];
    char bytes[SMR_VUNARY_BLOCK * sizeof(uint64_t)];
  } room;
  size_t i = n / SMR_VUNARY_BLOCK * SMR_VUNARY_BLOCK;
  if (i > 0) kernel->blocks(i / SMR_VUNARY_BLOCK, x, y);
  // Partial blocks are copied.
  if (i < n) memset(&room, 0, sizeof room);
  for (; i < n; i += SMR_VUNARY_BLOCK) {
    const size_t count = n - i < SMR_VUNARY_BLOCK ? n - i : SMR_VUNARY_BLOCK;
    memcpy(room.bytes, x + i * bytes, count * bytes);
    kernel->blocks(1, room.bytes, room.bytes);
    memcpy(y + i * out_bytes, room.bytes, count * out_bytes);
  }
}
