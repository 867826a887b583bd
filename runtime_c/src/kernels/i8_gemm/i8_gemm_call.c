// SPDX-License-Identifier: Apache-2.0
// Calls an instruction set's tiles of the int8 product.
//
// Rows of A are copied to the stack in the form that tiles read, one chunk of their length at a
// time. The copy is amortized over the columns of a group, keeps every load inside the rows, and
// makes tiles independent of taps, strides and partial groups. Sums are kept in memory between
// chunks and finished together at the end.
//
// Some tiles read rows from any address. They read windows that already have their form in place,
// and short contiguous rows are copied many at once.
#include "base/fp.h"

#include <string.h>

#include "base/parts.h"
#include "kernels/i8_gemm/funcs.h"
#include "simd/common.h"

void smr_i8_gemm_stage_bytes(size_t rows, const int8_t *const *a, size_t n, size_t at,
                             void *staged) {
  for (size_t i = 0; i < rows; i++)
    memcpy((int8_t *)staged + i * SMR_I8_GEMM_PITCH_BYTES + at, a[i], n);
}

// Whether a tile has more rows than most.
static bool i8_gemm_is_tall(const struct smr_i8_gemm_config *config) {
  return SMR_I8_GEMM_TALL && config->mr > SMR_I8_GEMM_TILE;
}

// Bytes that are staged of each row, and between rows.
static size_t i8_gemm_stage_bytes(const struct smr_i8_gemm_config *config) {
  return i8_gemm_is_tall(config) ? SMR_I8_GEMM_TALL_STAGE_BYTES : SMR_I8_GEMM_STAGE_BYTES;
}
static size_t i8_gemm_pitch(const struct smr_i8_gemm_config *config) {
  return i8_gemm_is_tall(config) ? SMR_I8_GEMM_TALL_PITCH_BYTES : SMR_I8_GEMM_PITCH_BYTES;
}

// rows per call of the tallest tile, if possible: a strip
enum { I8_GEMM_STRIP = SMR_LEAN(128, SMR_I8_GEMM_TILE) };

// Progress of staging along the rows.
struct i8_gemm_cursor {
  size_t tap, c;
};

// Short taps of a window are joined before they are staged: a call of `stage` per tap would cost
// more than its bytes. Not for tall tiles, whose instruction sets gather.
enum {
  I8_GEMM_WORD = 16,
  I8_GEMM_SHORT = 64,                  // most bytes of a tap
  I8_GEMM_JOINED = SMR_LEAN(512, 64),  // most bytes of the joined taps of a row
};
struct i8_gemm_joined {
  int8_t rows[SMR_I8_GEMM_TILE][I8_GEMM_JOINED + I8_GEMM_WORD];
};

// Join `count` taps of every row. Up to 15 bytes after each are copied too, and overwritten by the
// next.
SMR_HOT static void i8_gemm_join(size_t rows, const int8_t *const *begin, const size_t *taps,
                                 size_t count, size_t k, struct i8_gemm_joined *joined,
                                 const int8_t **at) {
  for (size_t i = 0; i < rows; i++) {
    int8_t *to = joined->rows[i];
    at[i] = to;
    for (size_t t = 0; t < count; t++, to += k) {
      const int8_t *from = begin[i] + taps[t];
      for (size_t c = 0; c < k; c += I8_GEMM_WORD) memcpy(to + c, from + c, I8_GEMM_WORD);
    }
  }
}

// Number of remaining taps to join in `room` bytes; 0 if that does not pay off.
static size_t i8_gemm_joins(const struct smr_i8_gemm_config *config,
                            const struct smr_i8_gemm_params *params,
                            const struct i8_gemm_cursor *cursor, size_t room) {
  const size_t k = params->k, most = room < I8_GEMM_JOINED ? room : I8_GEMM_JOINED;
  if (!SMR_HAS(i8_gemm_join) || i8_gemm_is_tall(config) || !params->windows || k > I8_GEMM_SHORT ||
      cursor->c > 0)
    return 0;
  const size_t left = params->taps - cursor->tap;
  return left * k <= most ? left : most / k;
}

// Addresses of the next rows, as many as a tile may read. Beyond `rows`, the last one is repeated,
// unless there is only one.
SMR_HOT static void i8_gemm_begin_rows(size_t rows, size_t height, const int8_t *a, size_t first,
                                       const struct smr_i8_gemm_params *params,
                                       const int8_t **begin) {
  const struct smr_i8_gemm_windows *windows = params->windows;
  const int8_t *start = a;                      // of the current line
  size_t left = rows, step = params->a_stride;  // rows left in this line, bytes between them
  if (SMR_HAS(i8_gemm_windows) && windows) {
    const size_t line = first / windows->line;
    left = (line + 1) * windows->line - first;
    step = windows->step_bytes;
    start += line * windows->line_bytes;
    a = start + (windows->line - left) * step;
  }
  begin[0] = a;
  if (rows == 1) return;
  if (left >= SMR_I8_GEMM_TILE && rows == SMR_I8_GEMM_TILE) {
    SMR_UNROLL for (size_t i = 0; i < SMR_I8_GEMM_TILE; i++) begin[i] = a + i * step;
    return;
  }
  size_t i = 0;
  while (i < rows) {
    if (left == 0) {
      left = windows->line;
      a = start += windows->line_bytes;
    }
    const size_t end = left < rows - i ? i + left : rows;
    left -= end - i;
    for (; i < end; i++, a += step) begin[i] = a;
  }
  for (; i < height; i++) begin[i] = begin[rows - 1];
}

// Stage the next elements of all rows, at most `chunk`, padded to whole blocks of 16 with any value
// (their weights are zeros). Returns their number.
SMR_HOT static size_t i8_gemm_stage_rows(const struct smr_i8_gemm_config *config, size_t rows,
                                         size_t chunk, const int8_t *const *begin,
                                         const int8_t *const *indirect, void *staged,
                                         uint32_t *row_sums, struct i8_gemm_cursor *cursor,
                                         const struct smr_i8_gemm_params *params) {
  static const int8_t fill[16] = {0};
  const struct smr_i8_gemm_funcs *funcs = config->funcs;
  const int8_t *at[SMR_I8_GEMM_MR];
  struct i8_gemm_joined joined;
  const bool gathers = funcs->gather != NULL && params->windows && params->k > 0 && !row_sums;
  size_t filled = 0;
  while (filled < chunk && cursor->tap < params->taps) {
    const size_t rest = params->k - cursor->c, room = chunk - filled;
    const size_t taps = i8_gemm_joins(config, params, cursor, room);
    size_t n = rest < room ? rest : room;
    if (SMR_HAS(i8_gemm_windows) && gathers && cursor->c == 0 && params->k <= room) {
      const size_t left = params->taps - cursor->tap, fit = room / params->k;
      const size_t count = left < fit ? left : fit;
      funcs->gather(rows, begin, params->windows->taps + cursor->tap, count, params->k,
                    i8_gemm_pitch(config), (uint8_t *)staged + filled);
      cursor->tap += count;
      filled += count * params->k;
      continue;
    }
    if (SMR_HAS(i8_gemm_join) && taps > 1) {
      n = taps * params->k;
      i8_gemm_join(rows, begin, params->windows->taps + cursor->tap, taps, params->k, &joined, at);
      cursor->tap += taps;
    } else {
      for (size_t i = 0; i < rows; i++) {
        const int8_t *p;
        if (SMR_HAS(i8_gemm_indirect) && indirect) {
          p = indirect[i * params->taps + cursor->tap];
          if (p != params->pad) p += params->a_offset_bytes;
        } else {
          p = begin[i];
          if (SMR_HAS(i8_gemm_windows) && params->windows) p += params->windows->taps[cursor->tap];
        }
        at[i] = p + cursor->c;
      }
      cursor->c += n;
      if (cursor->c == params->k) {
        cursor->c = 0;
        cursor->tap++;
      }
    }
    for (size_t i = 0; SMR_HAS(i8_gemm_w_zero) && row_sums && i < rows; i++)
      row_sums[i] +=
          (uint32_t)config->a_offset * (uint32_t)n + (uint32_t)funcs->ends->row_sum(at[i], n);
    funcs->stage(rows, at, n, filled, staged);
    filled += n;
  }
  if (filled % 16 != 0 && !funcs->fills) {
    for (size_t i = 0; i < rows; i++) at[i] = fill;
    funcs->stage(rows, at, 16 - filled % 16, filled, staged);
  }
  return filled;
}

// Add the products of staged rows and advance `call`. With call->direct they are converted to int8.
// A tile may have more rows than are left; there is room for its sums.
SMR_HOT static void i8_gemm_products(const struct smr_i8_gemm_config *config, size_t rows,
                                     struct smr_i8_gemm_rows *call) {
  const struct smr_i8_gemm_funcs *funcs = config->funcs;
  const struct smr_i8_gemm_tile_kernel *kernel = funcs->tiles;
  while (rows > 0) {
    while (kernel->least > rows) kernel++;
    size_t height = kernel->rows < rows ? kernel->rows : rows;
    struct smr_i8_gemm_direct *to = call->direct;
    if (height < kernel->rows) call->direct = NULL;
    if (funcs->in_place && call->direct) {
      call->tiles = rows / kernel->rows;
      height *= call->tiles;
    }
    const size_t done = kernel->run(call);
    if (SMR_HAS(i8_gemm_to_i8) && to) {
      if (done < call->columns) funcs->ends->to_i8(height, done, call->columns, call->sums, to);
      to->out += height * to->out_stride;
    }
    call->staged = (const char *)call->staged + height * i8_gemm_pitch(config);
    call->rows += height;
    call->from += height * call->from_stride;
    call->sums += height * SMR_I8_GEMM_SUMS;
    rows -= height;
  }
}

// Stage short contiguous rows. Returns their number: all, or a multiple of `height`.
SMR_HOT static size_t i8_gemm_stage_many(const struct smr_i8_gemm_config *config, size_t height,
                                         size_t rows, const int8_t *a, size_t first, void *staged,
                                         const struct smr_i8_gemm_params *params) {
  const size_t sum = params->k * params->taps;
  const size_t most = config->mr * i8_gemm_stage_bytes(config) / sum;
  if (most < rows) rows = most - most % height;
  if (!SMR_HAS(i8_gemm_windows) || !params->windows) {
    config->funcs->stage(1, &a, rows * sum, 0, staged);
    return rows;
  }
  const int8_t *begin[SMR_I8_GEMM_MR];
  uint8_t *to = staged;
  for (size_t i = 0, n; i < rows; i += n, to += n * sum) {
    n = rows - i < height ? rows - i : height;
    i8_gemm_begin_rows(n, height, a, first + i, params, begin);
    config->funcs->gather(n, begin, params->windows->taps, params->taps, params->k, sum, to);
  }
  return rows;
}

// How tiles get rows.
enum i8_gemm_way {
  I8_GEMM_STAGED,  // copied, one chunk of each at a time
  I8_GEMM_DENSE,   // short and contiguous: many copied at once
  I8_GEMM_NATIVE,  // windows in the tiles' form, read in place
};

SMR_HOT static enum i8_gemm_way i8_gemm_way_of(const struct smr_i8_gemm_config *config,
                                               size_t height, bool indirect, bool w_zero,
                                               const struct smr_i8_gemm_params *params) {
  const struct smr_i8_gemm_windows *windows = SMR_HAS(i8_gemm_windows) ? params->windows : NULL;
  const size_t sum = params->k * params->taps;
  if (windows && windows->native) return I8_GEMM_NATIVE;
  const bool dense = config->funcs->in_place && height > 1 && !indirect && !w_zero && sum > 0 &&
                     sum <= i8_gemm_stage_bytes(config) && (windows || params->a_stride == sum);
  return dense ? I8_GEMM_DENSE : I8_GEMM_STAGED;
}

// Pointers to `rows` rows, `pitch` bytes apart; the last one is repeated up to the height of a
// tile.
SMR_HOT static void i8_gemm_line_up(size_t rows, size_t height, const void *first, size_t pitch,
                                    const int8_t **begin) {
  for (size_t i = 0; i < rows || i < height; i++)
    begin[i] = (const int8_t *)first + (i < rows ? i : rows - 1) * pitch;
}

// Rows of the next strip if enough are left; otherwise, or without strips, of the next tile.
SMR_HOT static size_t i8_gemm_strip_rows(size_t left, size_t height, bool strips) {
  const size_t most = strips && left > I8_GEMM_STRIP ? I8_GEMM_STRIP : left;
  if (most <= height) return most;
  return strips ? most - most % height : height;
}

// The output of the next rows.
struct i8_gemm_out {
  struct smr_i8_gemm_direct direct;  // SMR_I8_TO_I8
  bool apart;                        // tiles cannot convert the sums themselves
  void *out;                         // output of the other kinds
  const float *row_scale;            // SMR_I8_TO_F32
};

SMR_HOT static struct i8_gemm_out i8_gemm_out_of(const struct smr_i8_gemm_columns *arrays,
                                                 const struct smr_i8_gemm_params *params,
                                                 bool w_zero, void *out, const float *row_scale) {
  return (struct i8_gemm_out){
      .direct = {.multiplier = arrays->multiplier,
                 .out = out,
                 .out_stride = params->out_stride,
                 .hi = (float)(params->hi - params->zero),
                 .lo = params->lo,
                 .zero = params->zero},
      .apart = w_zero || params->hi < params->zero,
      .out = out,
      .row_scale = row_scale,
  };
}

// Convert the sums of rows that tiles have not converted.
SMR_HOT static void i8_gemm_finish(const struct smr_i8_gemm_funcs *funcs, size_t rows,
                                   size_t columns, const int32_t *sums,
                                   const struct smr_i8_gemm_columns *arrays,
                                   const struct smr_i8_gemm_params *params,
                                   struct i8_gemm_out *to) {
  if (SMR_HAS(i8_gemm_to_i8) && params->to == SMR_I8_TO_I8) {
    if (!to->apart) return;
    funcs->ends->to_i8(rows, 0, columns, sums, &to->direct);
    to->direct.out += rows * to->direct.out_stride;
  } else if (SMR_HAS(i8_gemm_to_i32) && params->to == SMR_I8_TO_I32) {
    int32_t *out = to->out;
    for (size_t i = 0; i < rows; i++)
      memcpy(out + i * params->out_stride, sums + i * SMR_I8_GEMM_SUMS, columns * sizeof *sums);
    to->out = out + rows * params->out_stride;
  } else if (SMR_HAS(i8_gemm_to_f32)) {
    funcs->ends->to_f32(rows, columns, sums, arrays, to->row_scale, to->out, params);
    to->row_scale += rows;
    to->out = (float *)to->out + rows * params->out_stride;
  }
}

// Buffers on the stack of a caller of i8_gemm_call: those of tall tiles are several times as large.
struct i8_gemm_room {
  char *staged;   // aligned to 64 bytes
  int32_t *sums;  // [rows of a tile][SMR_I8_GEMM_SUMS], likewise
};

// `height` rows at a time; `chunk` of their elements are staged at a time.
SMR_HOT static void i8_gemm_call(const struct smr_i8_gemm_config *config, size_t height,
                                 size_t chunk, size_t rows, size_t columns, const int8_t *a,
                                 const int8_t *const *indirect, const int8_t *w,
                                 const struct smr_i8_gemm_columns *arrays, const float *row_scale,
                                 void *out, const struct smr_i8_gemm_params *params,
                                 const struct i8_gemm_room *room) {
  const struct smr_i8_gemm_funcs *funcs = config->funcs;
  char *staged = room->staged;
  int32_t *sums = room->sums;
  uint32_t row_sums[SMR_I8_GEMM_MR];
  const int8_t *begin[I8_GEMM_STRIP], *placed[SMR_I8_GEMM_MR];
  static const size_t no_offset[1] = {0};
  const int32_t *w_zero = SMR_HAS(i8_gemm_w_zero) ? arrays->w_zero : NULL;
  const size_t sum = params->k * params->taps;
  const enum i8_gemm_way way = i8_gemm_way_of(config, height, indirect, w_zero, params);
  const bool native = SMR_HAS(i8_gemm_windows) && way == I8_GEMM_NATIVE;
  struct i8_gemm_out to = i8_gemm_out_of(arrays, params, w_zero != NULL, out, row_scale);
  const bool direct = params->to == SMR_I8_TO_I8 && !to.apart;
  const bool strips = way != I8_GEMM_STAGED && height > 1 && direct;
  struct smr_i8_gemm_rows call;
  call.panel_stride_bytes = params->panel_stride_bytes;
  call.columns = columns;
  call.taps = native ? params->windows->taps : no_offset;
  call.tap_count = native ? params->taps : 1;
  const bool begins = funcs->begin != NULL && height > 1;
  if (begins) funcs->begin(sum);
  size_t ready = 0, first = params->first;  // dense: rows that are staged from `next` on
  const char *next = NULL;
  for (size_t n; rows > 0; rows -= n, first += n) {
    if (way == I8_GEMM_DENSE && ready == 0) {
      ready = i8_gemm_stage_many(config, height, rows, a, first, staged, params);
      next = staged;
    }
    n = i8_gemm_strip_rows(way == I8_GEMM_DENSE ? ready : rows, height, strips);
    if (way == I8_GEMM_DENSE) {
      i8_gemm_line_up(n, height, next, sum, begin);
      ready -= n;
      next += n * sum;
    } else if (!indirect) {
      i8_gemm_begin_rows(n, height, a, first, params, begin);
    }
    if (w_zero) memset(row_sums, 0, sizeof row_sums);
    struct i8_gemm_cursor cursor = {way == I8_GEMM_STAGED ? 0 : params->taps, 0};
    call.w = w;
    call.from = arrays->start;
    call.from_stride = 0;
    call.direct = NULL;
    do {
      size_t filled = native ? params->k : sum;
      call.rows = (const uint8_t *const *)(const void *)begin;
      if (way == I8_GEMM_STAGED) {
        filled = i8_gemm_stage_rows(config, n, chunk, begin, indirect, staged,
                                    w_zero ? row_sums : NULL, &cursor, params);
        if (funcs->in_place) i8_gemm_line_up(n, height, staged, i8_gemm_pitch(config), placed);
        call.rows = (const uint8_t *const *)(const void *)placed;
      }
      if (cursor.tap >= params->taps && direct) call.direct = &to.direct;
      call.groups = (filled + SMR_I8_GROUP - 1) / SMR_I8_GROUP;
      call.staged = staged;
      call.sums = sums;
      i8_gemm_products(config, n, &call);
      call.w += call.groups * SMR_I8_GROUP * SMR_I8_PANEL;
      call.from = sums;
      call.from_stride = SMR_I8_GEMM_SUMS;
    } while (cursor.tap < params->taps);
    if (w_zero) funcs->ends->subtract_zeros(n, columns, sums, row_sums, w_zero);
    i8_gemm_finish(funcs, n, columns, sums, arrays, params, &to);
    if (SMR_HAS(i8_gemm_indirect) && indirect)
      indirect += n * params->taps;
    else if (!SMR_HAS(i8_gemm_windows) || !params->windows)
      a += n * params->a_stride;
  }
  if (begins) funcs->end();
}

SMR_APART void i8_gemm_call_tall(const struct smr_i8_gemm_config *config, size_t rows,
                                 size_t columns, const int8_t *a, const int8_t *const *indirect,
                                 const int8_t *w, const struct smr_i8_gemm_columns *arrays,
                                 const float *row_scale, void *out,
                                 const struct smr_i8_gemm_params *params) {
  _Alignas(64) char staged[SMR_I8_GEMM_MR * SMR_I8_GEMM_TALL_PITCH_BYTES];
  _Alignas(64) int32_t sums[SMR_I8_GEMM_MR * SMR_I8_GEMM_SUMS];
  const struct i8_gemm_room room = {staged, sums};
  i8_gemm_call(config, config->mr, SMR_I8_GEMM_TALL_STAGE_BYTES, rows, columns, a, indirect, w,
               arrays, row_scale, out, params, &room);
}

SMR_HOT void smr_i8_gemm_call(const struct smr_i8_gemm_config *config, size_t rows, size_t columns,
                              const int8_t *a, const int8_t *const *indirect, const int8_t *w,
                              const struct smr_i8_gemm_columns *arrays, const float *row_scale,
                              void *out, const struct smr_i8_gemm_params *params) {
  if (i8_gemm_is_tall(config)) {
    i8_gemm_call_tall(config, rows, columns, a, indirect, w, arrays, row_scale, out, params);
    return;
  }
  _Alignas(64) char staged[SMR_I8_GEMM_TILE * SMR_I8_GEMM_PITCH_BYTES];
  _Alignas(64) int32_t sums[SMR_I8_GEMM_TILE * SMR_I8_GEMM_SUMS];
  const struct i8_gemm_room room = {staged, sums};
  i8_gemm_call(config, config->mr, SMR_I8_GEMM_STAGE_BYTES / config->funcs->staged_bytes, rows,
               columns, a, indirect, w, arrays, row_scale, out, params, &room);
}

void smr_i8_gemm_call_row(const struct smr_i8_gemm_config *config, size_t columns, const int8_t *a,
                          const int8_t *w, const struct smr_i8_gemm_columns *arrays,
                          const float *row_scale, void *out,
                          const struct smr_i8_gemm_params *params) {
  _Alignas(64) char staged[SMR_I8_GEMM_TILE * SMR_I8_GEMM_PITCH_BYTES];
  _Alignas(64) int32_t sums[SMR_I8_GEMM_SUMS];
  const struct i8_gemm_room room = {staged, sums};
  // One row may use the whole buffer, reduced by its interleaving.
  const struct smr_i8_gemm_funcs *funcs = config->funcs;
  const size_t rows = config->mr < SMR_I8_GEMM_TILE ? config->mr : SMR_I8_GEMM_TILE;
  const size_t chunk = rows / funcs->woven * (SMR_I8_GEMM_STAGE_BYTES / funcs->staged_bytes);
  const size_t out_bytes = smr_i8_output_bytes(params->to);
  struct smr_i8_gemm_columns part = *arrays;
  for (size_t n; columns > 0; columns -= n) {
    n = columns < config->nr ? columns : config->nr;
    i8_gemm_call(config, 1, chunk, 1, n, a, NULL, w, &part, row_scale, out, params, &room);
    w += n / SMR_I8_PANEL * params->panel_stride_bytes;
    out = (char *)out + n * out_bytes;
    part.start += n;
    if (part.w_zero) part.w_zero += n;
    if (part.multiplier) part.multiplier += n;
    if (part.bias) part.bias += n;
  }
}
