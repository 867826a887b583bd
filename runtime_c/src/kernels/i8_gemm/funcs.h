// SPDX-License-Identifier: Apache-2.0
// What instruction sets do of a product, for them and the code around them (i8_gemm_call.c).
#ifndef SMR_KERNELS_I8_GEMM_FUNCS_H
#define SMR_KERNELS_I8_GEMM_FUNCS_H

#include <stdbool.h>

#include "base/isa.h"
#include "base/lean.h"
#include "base/parts.h"
#include "kernels/i8_gemm/i8_gemm.h"

enum {
  SMR_I8_GEMM_MR = SMR_LEAN(8, 4),      // rows of the largest call of any instruction set
  SMR_I8_GEMM_SUMS = SMR_LEAN(96, 32),  // columns of it, and the elements between rows of sums
  // Where rows of A are kept for a tile: long enough to make the fixed costs of a chunk small,
  // short enough for all rows to leave half of a small L1 cache to the weights; the pitch puts them
  // into different sets of it.
  SMR_I8_GEMM_STAGE_BYTES = SMR_LEAN(2048, 256),
  SMR_I8_GEMM_PITCH_BYTES = SMR_I8_GEMM_STAGE_BYTES + 64
};

/// How sums become int8, from a first column on. Of `direct` products hi >= 0.
struct smr_i8_gemm_direct {
  const float *multiplier;
  int8_t *out;
  size_t out_stride;
  float hi;  // before the zero point is added
  int32_t lo, zero;
};

/// Products of staged rows with weights.
struct smr_i8_gemm_rows {
  const void *staged;          // the first row, unless
  const uint8_t *const *rows;  // in_place: rows of the tallest tile lie here, those that there are
  size_t tiles;                // in_place, direct: so many of the tallest, each with its rows
  const size_t *taps;          // in_place: bytes from a row to each of its taps of `groups` groups
  size_t tap_count;
  const int8_t *w;
  size_t panel_stride_bytes, groups;  // groups of four rows of weights
  size_t columns;
  const int32_t *from;  // sums = from + products, up to whole panels; rows are `from_stride` apart
  size_t from_stride;   // SMR_I8_GEMM_SUMS, or 0: the same for all rows
  int32_t *sums;        // rows are SMR_I8_GEMM_SUMS apart; may be `from`
  struct smr_i8_gemm_direct *direct;  // NULL, or where whole panels go instead of to sums
};

/// A function for a number of rows. Of those that are `direct` it returns how many columns it has
/// written to call->direct.
struct smr_i8_gemm_tile_kernel {
  size_t rows;
  size_t least;  // rows that are worth it: the others are computed from what lies staged
  size_t (*run)(const struct smr_i8_gemm_rows *call);
};

/// Moves on by `step` columns, which divides a panel's; returns the new column.
static inline size_t smr_i8_gemm_next(struct smr_i8_gemm_rows *at, size_t column, size_t step) {
  column += step;
  at->from += step;
  at->sums += step;
  at->w += step * SMR_I8_GROUP;
  // Panels of no rows have no bytes: then it goes back.
  const ptrdiff_t panel = (ptrdiff_t)at->panel_stride_bytes, group = SMR_I8_PANEL * SMR_I8_GROUP;
  if (column % SMR_I8_PANEL == 0) at->w += panel - group;
  return column;
}

/// What becomes of sums: [rows][SMR_I8_GEMM_SUMS].
struct smr_i8_gemm_ends {
  /// The sum of n bytes.
  int32_t (*row_sum)(const int8_t *a, size_t n);

  /// Takes w_zero[j] times the sum of its row off every sum.
  void (*subtract_zeros)(size_t rows, size_t columns, int32_t *sums, const uint32_t *row_sums,
                         const int32_t *w_zero);
  /// Columns [first, columns); first is a multiple of a panel.
  void (*to_i8)(size_t rows, size_t first, size_t columns, const int32_t *sums,
                const struct smr_i8_gemm_direct *to);
  void (*to_f32)(size_t rows, size_t columns, const int32_t *sums,
                 const struct smr_i8_gemm_columns *arrays, const float *row_scale, float *out,
                 const struct smr_i8_gemm_params *params);
};

/// The functions of an instruction set. A row of A is staged in its form: unsigned, widened, or
/// woven into its neighbours.
struct smr_i8_gemm_funcs {
  uint8_t staged_bytes;  // of an element
  uint8_t woven;         // rows that lie together
  bool in_place;  // tiles take rows from anywhere; an element is a byte, up to 3 of them too many
  bool fills;     // staging sets at least the 15 elements behind the last ones, to anything
  const struct smr_i8_gemm_tile_kernel *tiles;  // tallest first, to 1
  const struct smr_i8_gemm_ends *ends;

  /// in_place: `rows` windows of `count` taps of n bytes one after the other, without gaps. Less
  /// than 64 bytes behind the last may change.
  void (*gather)(size_t rows, const int8_t *const *begin, const size_t *taps, size_t count,
                 size_t n, uint8_t *to);

  /// n bytes of every row become its elements at .. at + n; what lies less than 64 bytes behind
  /// them may change.
  void (*stage)(size_t rows, const int8_t *const *a, size_t n, size_t at, void *staged);
};

/// `stage` of those that read bytes as they are.
void smr_i8_gemm_stage_bytes(size_t rows, const int8_t *const *a, size_t n, size_t at,
                             void *staged);

/// One call: columns <= config->nr. `a` is its first row (direct) or NULL;
/// `indirect` its first row of pointers `[rows][taps]` or NULL; `row_scale` its first row's
/// (SMR_I8_TO_F32).
void smr_i8_gemm_call(const struct smr_i8_gemm_config *config, size_t rows, size_t columns,
                      const int8_t *a, const int8_t *const *indirect, const int8_t *w,
                      const struct smr_i8_gemm_columns *arrays, const float *row_scale, void *out,
                      const struct smr_i8_gemm_params *params);

/// The same for one row of any number of columns, direct.
void smr_i8_gemm_call_row(const struct smr_i8_gemm_config *config, size_t columns, const int8_t *a,
                          const int8_t *w, const struct smr_i8_gemm_columns *arrays,
                          const float *row_scale, void *out,
                          const struct smr_i8_gemm_params *params);

#endif
