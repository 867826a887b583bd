// SPDX-License-Identifier: Apache-2.0
// The int8 product around a register tile, written once over the vocabulary.
//
// Rows of A are copied onto the stack in the form the tile reads (unsigned, widened or woven), a
// chunk of their length at a time: this pays for itself over the columns of a group, keeps every
// load inside the rows, and lets the tile know nothing of taps, strides and ragged ends. The sums
// of a chunk wait in memory, are added up there and finished together.
//
// The including file defines, after simd/<isa>_begin.h,
//
//   I8_NAME(x)       names its functions
//   I8_MR, I8_NR     rows and columns of the largest call
//   I8_STAGED        type of a staged element of A
//   I8_OFFSET        what staging adds to an element, 0 or 128
//   I8_WOVEN         rows that staging weaves into each other, if more than one
//   I8_NAME(stage)   (staged, row, at, a, n): n bytes become elements at .. at + n of a row; what
//                    lies less than 64 bytes behind them may change
//   I8_NAME(tiles)   (rows, panels, staged, w, panel_stride_bytes, groups, from, from_stride, to):
//                    to [rows][I8_NR] = from + the products of `groups` groups of four elements,
//                    where from is [rows][from_stride], or the same for all rows if that is 0
//   I8_NAME(narrow)  (p, stride, rows, n, v, zero, lo): the first n lanes of the first `rows` of
//                    v[4] plus `zero`, saturated to bytes and not below `lo`, rows `stride` apart
//
// It may define I8_DIRECT, include scale.h itself and have I8_NAME(direct_tiles)(rows, columns,
// staged, w, panel_stride_bytes, groups, from, from_stride, sums, direct): the same as
// I8_NAME(tiles), but as many columns as it likes, which it returns, are written to the output from
// the registers.
//
// Where it defines I8_ROW_SUM it has its own I8_NAME(row_sum).
//
// Then it includes this header and makes its kernels with I8_KERNELS(<mr>x<nr>__<suffix>,
// gemv__<suffix>).
#define I8_CHUNK (SMR_I8_GEMM_STAGE_BYTES / sizeof(I8_STAGED))
#if !defined(I8_WOVEN)
#define I8_WOVEN 1
#endif
#define I8_PITCH (SMR_I8_GEMM_PITCH_BYTES / sizeof(I8_STAGED))

#if !defined(I8_DIRECT)
#include "kernels/i8_gemm/scale.h"
#endif

#if !defined(I8_ROW_SUM)
// The sum of a run as it is staged.
SMR_INLINE uint32_t I8_NAME(row_sum)(const int8_t *a, size_t n) {
  int32_t sum = (int32_t)n * I8_OFFSET;
  for (; n >= 64; n -= 64, a += 64) {
    for (size_t i = 0; i < 64; i++) sum += a[i];
  }
  for (size_t i = 0; i < n; i++) sum += a[i];
  return (uint32_t)sum;
}
#endif

// Takes w_zero times the sum of its row off every sum.
static void I8_NAME(subtract_zeros)(size_t rows, size_t columns, int32_t *sums,
                                    const uint32_t *row_sums, const int32_t *w_zero) {
  for (size_t j = 0; j < columns; j += VF) {
    const N(vi) zero = N(iload)(w_zero + j);
    for (size_t i = 0; i < rows; i++) {
      int32_t *at = sums + i * I8_NR + j;
      N(istore)(at, N(isub)(N(iload)(at), N(imul)(zero, N(iset1)((int32_t)row_sums[i]))));
    }
  }
}

// Four rows, of which `rows` exist, of the n <= VF columns from `sums` on.
SMR_INLINE void I8_NAME(requantize)(size_t rows, size_t n, const int32_t *sums,
                                    const N(vf) multiplier, const N(vf) hi, int32_t lo,
                                    int32_t zero, int8_t *out, size_t out_stride) {
  N(vi) v[4];
  SMR_UNROLL for (size_t i = 0; i < 4; i++) {
    v[i] = I8_NAME(scale)(N(iload)(sums + (i < rows ? i : 0) * I8_NR), multiplier, hi);
  }
  I8_NAME(narrow)(out, out_stride, rows, n, v, zero, lo);
}

static void I8_NAME(finish_i8)(size_t rows, size_t columns, const int32_t *sums,
                               const float *multipliers, int8_t *out,
                               const struct smr_i8_gemm_params *params) {
  const N(vf) hi = N(set1)((float)(params->hi - params->zero));
  const int32_t lo = params->lo, zero = params->zero;
  const size_t out_stride = params->out_stride;
  for (size_t j = 0; j < columns; j += VF) {
    const size_t n = columns - j < VF ? columns - j : VF;
    const N(vf) multiplier = N(load)(multipliers + j);
    const int32_t *from = sums + j;
    int8_t *to = out + j;
    size_t i = 0;
    for (; i + 4 <= rows && n == VF; i += 4) {
      I8_NAME(requantize)(4, VF, from, multiplier, hi, lo, zero, to, out_stride);
      from += 4 * I8_NR;
      to += 4 * out_stride;
    }
    for (; i < rows; i += 4) {
      const size_t left = rows - i < 4 ? rows - i : 4;
      I8_NAME(requantize)(left, n, from, multiplier, hi, lo, zero, to, out_stride);
      from += 4 * I8_NR;
      to += 4 * out_stride;
    }
  }
}

static void I8_NAME(finish_i32)(size_t rows, size_t columns, const int32_t *sums, int32_t *out,
                                const struct smr_i8_gemm_params *params) {
  for (size_t i = 0; i < rows; i++) {
    memcpy(out + i * params->out_stride, sums + i * I8_NR, columns * sizeof *out);
  }
}

static void I8_NAME(finish_f32)(size_t rows, size_t columns, const int32_t *sums,
                                const struct smr_i8_gemm_columns *arrays, const float *row_scale,
                                float *out, const struct smr_i8_gemm_params *params) {
  const N(vf) lo = N(set1)(params->f32_lo), hi = N(set1)(params->f32_hi);
  for (size_t i = 0; i < rows; i++, sums += I8_NR, out += params->out_stride) {
    const N(vf) scale = N(set1)(row_scale[i]);
    for (size_t j = 0; j < columns; j += VF) {
      const N(vf) multiplier = N(mul)(scale, N(load)(arrays->multiplier + j));
      N(vf) v = N(mul)(N(to_float)(N(iload)(sums + j)), multiplier);
      // Without a bias nothing is added: it would turn -0 into 0.
      if (arrays->bias) v = N(add)(v, N(load)(arrays->bias + j));
      v = N(clamp)(v, lo, hi);
      if (columns - j >= VF) {
        N(store)(out + j, v);
      } else {
        N(store_n)(out + j, v, columns - j);
      }
    }
  }
}

// How far staging has come along the rows.
struct I8_NAME(cursor) {
  size_t tap, c;
};

// Stages the next elements of all rows, at most `chunk`, filled up with any to whole blocks of 16
// (their weights are zeros), and returns how many they are.
static size_t I8_NAME(stage_rows)(size_t rows, size_t chunk, const int8_t *a,
                                  const int8_t *const *indirect, I8_STAGED *staged,
                                  uint32_t *row_sums, struct I8_NAME(cursor) * cursor,
                                  const struct smr_i8_gemm_params *params) {
  static const int8_t fill[16] = {0};
  size_t filled = 0;
  while (filled < chunk && cursor->tap < params->taps) {
    const size_t rest = params->k - cursor->c, room = chunk - filled;
    const size_t n = rest < room ? rest : room;
    for (size_t i = 0; i < rows; i++) {
      const int8_t *p =
          indirect ? indirect[i * params->taps + cursor->tap] : a + i * params->a_stride;
      if (indirect && p != params->pad) p += params->a_offset_bytes;
      I8_NAME(stage)(staged, i, filled, p + cursor->c, n);
      if (row_sums) row_sums[i] += I8_NAME(row_sum)(p + cursor->c, n);
    }
    filled += n;
    cursor->c += n;
    if (cursor->c == params->k) {
      cursor->c = 0;
      cursor->tap++;
    }
  }
  if (filled % 16 != 0) {
    for (size_t i = 0; i < rows; i++) I8_NAME(stage)(staged, i, filled, fill, 16 - filled % 16);
  }
  return filled;
}

// A call with columns <= I8_NR; `chunk` elements of a row are staged at a time.
static void I8_NAME(block)(size_t chunk, size_t rows, size_t columns, const int8_t *a,
                           const int8_t *const *indirect, const int8_t *w,
                           const struct smr_i8_gemm_columns *arrays, const float *row_scale,
                           void *out, const struct smr_i8_gemm_params *params) {
  _Alignas(64) I8_STAGED staged[I8_MR * I8_PITCH];
  _Alignas(64) int32_t sums[I8_MR * I8_NR];
  uint32_t row_sums[I8_MR] = {0};
  const size_t panels = (columns + SMR_I8_PANEL - 1) / SMR_I8_PANEL;
  struct I8_NAME(cursor) cursor = {0, 0};
  const int32_t *from = arrays->start;
  size_t from_stride = 0, done = 0;
  do {
    const size_t filled = I8_NAME(stage_rows)(rows, chunk, a, indirect, staged,
                                              arrays->w_zero ? row_sums : NULL, &cursor, params);
    const size_t groups = (filled + SMR_I8_GROUP - 1) / SMR_I8_GROUP;
#if defined(I8_DIRECT)
    if (cursor.tap >= params->taps && params->to == SMR_I8_TO_I8 && !arrays->w_zero) {
      const struct smr_i8_gemm_direct direct = {
          arrays->multiplier, (int8_t *)out, params->out_stride, (float)(params->hi - params->zero),
          params->lo,         params->zero};
      done = I8_NAME(direct_tiles)(rows, columns, staged, w, params->panel_stride_bytes, groups,
                                   from, from_stride, sums, &direct);
      break;
    }
#endif
    I8_NAME(tiles)
    (rows, panels, staged, w, params->panel_stride_bytes, groups, from, from_stride, sums);
    w += groups * SMR_I8_GROUP * SMR_I8_PANEL;
    from = sums;
    from_stride = I8_NR;
  } while (cursor.tap < params->taps);
  if (arrays->w_zero) {
    I8_NAME(subtract_zeros)(rows, columns, sums, row_sums, arrays->w_zero);
  }
  if (params->to == SMR_I8_TO_I8) {
    I8_NAME(finish_i8)
    (rows, columns - done, sums + done, arrays->multiplier + done, (int8_t *)out + done, params);
  } else if (params->to == SMR_I8_TO_I32) {
    I8_NAME(finish_i32)(rows, columns, sums, (int32_t *)out, params);
  } else {
    I8_NAME(finish_f32)(rows, columns, sums, arrays, row_scale, (float *)out, params);
  }
}

// One row may fill the whole stage, but for its share of what it would be woven into.
static void I8_NAME(vector)(size_t columns, const int8_t *a, const int8_t *w,
                            const struct smr_i8_gemm_columns *arrays, const float *row_scale,
                            void *out, const struct smr_i8_gemm_params *params) {
  const size_t out_bytes = params->to == SMR_I8_TO_I8 ? sizeof(int8_t) : sizeof(int32_t);
  for (size_t j = 0; j < columns; j += I8_NR) {
    const struct smr_i8_gemm_columns part = {
        .start = arrays->start + j,
        .w_zero = arrays->w_zero ? arrays->w_zero + j : NULL,
        .multiplier = arrays->multiplier ? arrays->multiplier + j : NULL,
        .bias = arrays->bias ? arrays->bias + j : NULL,
    };
    I8_NAME(block)
    (I8_MR / I8_WOVEN * I8_CHUNK, 1, columns - j < I8_NR ? columns - j : I8_NR, a, NULL,
     w + j / SMR_I8_PANEL * params->panel_stride_bytes, &part, row_scale,
     (char *)out + j * out_bytes, params);
  }
}

#define I8_KERNELS(tile_name, vector_name)                                               \
  void smr_i8_gemm_ukernel_##tile_name(                                                  \
      size_t rows, size_t columns, const int8_t *a, const int8_t *const *indirect,       \
      const int8_t *w, const struct smr_i8_gemm_columns *arrays, const float *row_scale, \
      void *out, const struct smr_i8_gemm_params *params) {                              \
    I8_NAME(block)                                                                       \
    (I8_CHUNK, rows, columns, a, indirect, w, arrays, row_scale, out, params);           \
  }                                                                                      \
  void smr_i8_gemm_ukernel_##vector_name(                                                \
      size_t rows, size_t columns, const int8_t *a, const int8_t *const *indirect,       \
      const int8_t *w, const struct smr_i8_gemm_columns *arrays, const float *row_scale, \
      void *out, const struct smr_i8_gemm_params *params) {                              \
    (void)rows, (void)indirect;                                                          \
    I8_NAME(vector)(columns, a, w, arrays, row_scale, out, params);                      \
  }
