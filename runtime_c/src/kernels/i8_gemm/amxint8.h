// SPDX-License-Identifier: Apache-2.0
// int8 product for AMX: tiles of 16 rows and 64 bytes. A panel of weights already lies as the
// second operand of a tile product does: 16 groups of four rows are 16 rows of 64 bytes.

#define I8_NAME(name) N(i8_gemm_##name)
#define I8_GEMM_PITCH SMR_I8_GEMM_TALL_PITCH_BYTES
#include "kernels/i8_gemm/vnni_common.h"

enum { N(i8_gemm_side) = 16, N(i8_gemm_tile_bytes) = 1024 };

// Tiles 0 to 3 are sums, [2 halves of rows][2 panels]; 4 and 5 operands; 6 and 7 operands of the
// last groups, if they are fewer than 16. Once for a call: it takes some 150 cycles.
static void N(i8_gemm_begin)(size_t depth) {
  const size_t rest = smr_ceil_div(depth, SMR_I8_GROUP) % N(i8_gemm_side);
  struct {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } shape = {.palette = 1};
  for (size_t i = 0; i < 8; i++) {
    shape.row_bytes[i] = 64;
    shape.rows[i] = N(i8_gemm_side);
  }
  shape.row_bytes[6] = (uint16_t)(rest > 0 ? rest * SMR_I8_GROUP : 64);
  shape.rows[7] = (uint8_t)(rest > 0 ? rest : N(i8_gemm_side));
  // GCC 12's intrinsics for configuring and loading do not say that they read memory.
  __asm__ volatile("ldtilecfg %0" : : "m"(shape) : "memory");
}

// Tiles in their initial state need not be saved when the thread is switched.
static void N(i8_gemm_end)(void) { _tile_release(); }

// The sums of a pair of panels, or of one, for one or two halves of 16 rows: loads of A's tile `x`
// and of the panels' tile `y` alternate, so that five loads serve four products.
#define I8_GEMM_TILES(x, y, tall, pair, a, lower, w, next) \
  _tile_loadd(x, a, SMR_I8_GEMM_TALL_PITCH_BYTES);         \
  _tile_loadd(y, w, 64);                                   \
  _tile_dpbusd(0, x, y);                                   \
  if (pair) {                                              \
    _tile_loadd(y, next, 64);                              \
    _tile_dpbusd(1, x, y);                                 \
  }                                                        \
  if (tall) {                                              \
    _tile_loadd(x, lower, SMR_I8_GEMM_TALL_PITCH_BYTES);   \
    if (pair) {                                            \
      _tile_dpbusd(3, x, y);                               \
      _tile_loadd(y, w, 64);                               \
    }                                                      \
    _tile_dpbusd(2, x, y);                                 \
  }

SMR_INLINE void N(i8_gemm_pair)(const bool tall, const bool pair,
                                const struct smr_i8_gemm_rows *call, const int8_t *w,
                                const int32_t *from, int32_t *sums) {
  const size_t from_bytes = call->from_stride * sizeof *from;
  const size_t sum_bytes = SMR_I8_GEMM_SUMS * sizeof *sums;
  const int32_t *from_lower = from + N(i8_gemm_side) * call->from_stride;
  int32_t *sums_lower = sums + (size_t)N(i8_gemm_side) * SMR_I8_GEMM_SUMS;
  __asm__ volatile("" : : : "memory");  // loads read what was stored before
  _tile_loadd(0, from, from_bytes);
  if (pair) _tile_loadd(1, from + SMR_I8_PANEL, from_bytes);
  if (tall) _tile_loadd(2, from_lower, from_bytes);
  if (tall && pair) _tile_loadd(3, from_lower + SMR_I8_PANEL, from_bytes);
  const char *a = call->staged;
  const char *lower = a + (size_t)N(i8_gemm_side) * SMR_I8_GEMM_TALL_PITCH_BYTES;
  const int8_t *next = w + call->panel_stride_bytes;
  size_t groups = call->groups;
  for (; groups >= N(i8_gemm_side); groups -= N(i8_gemm_side)) {
    I8_GEMM_TILES(4, 5, tall, pair, a, lower, w, next)
    a += 64;
    lower += 64;
    w += N(i8_gemm_tile_bytes);
    next += N(i8_gemm_tile_bytes);
  }
  if (groups > 0) {
    I8_GEMM_TILES(6, 7, tall, pair, a, lower, w, next)
  }
  _tile_stored(0, sums, sum_bytes);
  if (pair) _tile_stored(1, sums + SMR_I8_PANEL, sum_bytes);
  if (tall) _tile_stored(2, sums_lower, sum_bytes);
  if (tall && pair) _tile_stored(3, sums_lower + SMR_I8_PANEL, sum_bytes);
}
#undef I8_GEMM_TILES

// Columns [column, column + columns) of a tile, at most two panels.
static void N(i8_gemm_out)(size_t rows, const int32_t *sums, size_t column, size_t columns,
                           const struct smr_i8_gemm_direct *to) {
  int8_t *out = to->out + column;
  if (columns >= 2 * SMR_I8_PANEL && N(i8_gemm_below_1)(to, column)) {
    const struct N(i8_gemm_packing) packing = N(i8_gemm_packing)(to, column);
    for (size_t i = 0; i < rows; i += 2, out += 2 * to->out_stride) {
      __m512i two[2][2];
      SMR_UNROLL for (size_t r = 0; r < 2; r++, sums += SMR_I8_GEMM_SUMS) {
        two[r][0] = N(iload)(sums);
        two[r][1] = N(iload)(sums + SMR_I8_PANEL);
      }
      N(i8_gemm_two_rows_out)(two, &packing, out, to->out_stride);
    }
    return;
  }
  for (size_t at = 0; at < columns; at += SMR_I8_PANEL) {
    const __m512 multiplier = N(load)(to->multiplier + column + at);
    const __mmask16 mask = N(mask_n)(columns - at < SMR_I8_PANEL ? columns - at : SMR_I8_PANEL);
    for (size_t i = 0; i < rows; i++)
      N(i8_gemm_bytes_out)(N(iload)(sums + i * SMR_I8_GEMM_SUMS + at), multiplier, to, mask,
                           out + i * to->out_stride + at);
  }
}

// Output is converted one pair late, from the other of two buffers: its sums have reached the cache
// by then.
SMR_INLINE size_t N(i8_gemm_rows)(const bool tall, const struct smr_i8_gemm_rows *call) {
  const size_t columns = call->columns, rows = (tall ? 2 : 1) * N(i8_gemm_side);
  const size_t step = 2 * SMR_I8_PANEL;
  const bool direct = call->direct != NULL;
  struct smr_i8_gemm_direct to = {.out = NULL};
  if (direct) to = *call->direct;
  const int8_t *w = call->w;
  int32_t *sums = call->sums, *before = sums + step;
  for (size_t column = 0; column < columns; column += step) {
    if (column + SMR_I8_PANEL < columns)
      N(i8_gemm_pair)(tall, true, call, w, call->from + column, sums);
    else
      N(i8_gemm_pair)(tall, false, call, w, call->from + column, sums);
    w += 2 * call->panel_stride_bytes;
    if (!direct) {
      sums += step;
      continue;
    }
    if (column > 0) N(i8_gemm_out)(rows, before, column - step, step, &to);
    int32_t *other = before;
    before = sums;
    sums = other;
  }
  if (!direct) return 0;
  const size_t last = (columns - 1) / step * step;
  N(i8_gemm_out)(rows, before, last, columns - last, &to);
  return columns;
}

static size_t N(i8_gemm_rows_32)(const struct smr_i8_gemm_rows *call) {
  return N(i8_gemm_rows)(true, call);
}
static size_t N(i8_gemm_rows_16)(const struct smr_i8_gemm_rows *call) {
  return N(i8_gemm_rows)(false, call);
}

static size_t N(i8_gemm_rows_1)(const struct smr_i8_gemm_rows *call) {
  return N(i8_gemm_row)(call, call->staged);
}

static const struct smr_i8_gemm_tile_kernel N(i8_gemm_tiles)[] = {
    {32, 17, N(i8_gemm_rows_32)}, {16, 2, N(i8_gemm_rows_16)}, {1, 1, N(i8_gemm_rows_1)}};

static const struct smr_i8_gemm_funcs N(i8_gemm_funcs) = {
    .staged_bytes = 1,
    .woven = 1,
    .fills = true,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends_avx512,
    .begin = N(i8_gemm_begin),
    .end = N(i8_gemm_end),
    .gather = SMR_HAS(i8_gemm_windows) ? N(i8_gemm_gather) : NULL,
    .stage = N(i8_gemm_stage),
};
I8_GEMM_CONFIG(32, 192, 128);
#undef I8_NAME
