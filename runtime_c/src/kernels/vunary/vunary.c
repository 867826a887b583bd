// SPDX-License-Identifier: Apache-2.0
// Functions of one element in portable C.
#include "base/fp.h"

#include "kernels/vunary/vunary.h"

#include <samara/samara.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

// GCC vectorises a loop of constant length once it knows that stores do not feed later loads: `y`
// is the operand or does not overlap it. Clang would unroll, for nothing but bytes.
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

// Negation in unsigned arithmetic wraps. Negation and sign of unsigned integers are those of a
// width, and of nothing below 0.
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

#define VUNARY_UNSIGNEDS(name)                                              \
  [SAMARA_UINT8] = vunary_##name##_8, [SAMARA_UINT16] = vunary_##name##_16, \
  [SAMARA_UINT32] = vunary_##name##_32, [SAMARA_UINT64] = vunary_##name##_64
#define VUNARY_WIDTHS(name)                                                                       \
  VUNARY_UNSIGNEDS(name), [SAMARA_INT8] = vunary_##name##_8, [SAMARA_INT16] = vunary_##name##_16, \
                          [SAMARA_INT32] = vunary_##name##_32, [SAMARA_INT64] = vunary_##name##_64
#define VUNARY_SIGNEDS(name)                                                \
  [SAMARA_INT8] = vunary_##name##_i8, [SAMARA_INT16] = vunary_##name##_i16, \
  [SAMARA_INT32] = vunary_##name##_i32, [SAMARA_INT64] = vunary_##name##_i64
#define VUNARY_FLOATS(name) \
  [SAMARA_FLOAT32] = vunary_##name##_f32, [SAMARA_FLOAT64] = vunary_##name##_f64
enum { VUNARY_DTYPES = SAMARA_UINT64 + 1 };
static const smr_vunary_blocks vunary_kernels[SMR_VUNARY_COUNT][VUNARY_DTYPES] = {
    [SMR_VUNARY_NEG] = {VUNARY_WIDTHS(neg)},
    [SMR_VUNARY_ABS] = {VUNARY_SIGNEDS(abs), VUNARY_UNSIGNEDS(copy)},
    [SMR_VUNARY_SIGN] = {VUNARY_SIGNEDS(sign), VUNARY_UNSIGNEDS(positive)},
    [SMR_VUNARY_RELU] = {VUNARY_SIGNEDS(relu), VUNARY_UNSIGNEDS(copy)},
    [SMR_VUNARY_BIT_NOT] = {VUNARY_WIDTHS(bit_not)},
    [SMR_VUNARY_NOT] = {[SAMARA_BOOL] = vunary_not_bool},
    [SMR_VUNARY_IS_NAN] = {VUNARY_FLOATS(is_nan)},
    [SMR_VUNARY_IS_INF] = {VUNARY_FLOATS(is_inf)},
    [SMR_VUNARY_IS_INF_POSITIVE] = {VUNARY_FLOATS(is_inf_positive)},
    [SMR_VUNARY_IS_INF_NEGATIVE] = {VUNARY_FLOATS(is_inf_negative)},
    [SMR_VUNARY_IS_INF_NONE] = {[SAMARA_FLOAT32] = vunary_never, [SAMARA_FLOAT64] = vunary_never},
};
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
  if (dtype >= VUNARY_DTYPES) return (struct smr_vunary_kernel){.blocks = NULL};
  const uint8_t bytes = vunary_bytes[dtype];
  return (struct smr_vunary_kernel){vunary_kernels[function][dtype], bytes,
                                    function >= SMR_VUNARY_IS_NAN ? 1 : bytes};
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
  // What is no block, by copies.
  if (i < n) memset(&room, 0, sizeof room);
  for (; i < n; i += SMR_VUNARY_BLOCK) {
    const size_t count = n - i < SMR_VUNARY_BLOCK ? n - i : SMR_VUNARY_BLOCK;
    memcpy(room.bytes, x + i * bytes, count * bytes);
    kernel->blocks(1, room.bytes, room.bytes);
    memcpy(y + i * out_bytes, room.bytes, count * out_bytes);
  }
}
