// SPDX-License-Identifier: Apache-2.0
// The functions that instruction sets provide for a product, used by i8_gemm_call.c.
#ifndef SMR_KERNELS_I8_GEMM_FUNCS_H
#define SMR_KERNELS_I8_GEMM_FUNCS_H

#include <stdbool.h>

#include "base/isa.h"
#include "base/lean.h"
#include "base/parts.h"
#include "kernels/i8_gemm/i8_gemm.h"

enum {
  // Whether the build has an instruction set with tall tiles: AMX.
  SMR_I8_GEMM_TALL = 0
#define SMR_UKERNEL(bit, suffix, lanes) || (bit) == SMR_ISA_AMX_INT8
#include "kernels/i8_gemm/kernels.inc"
#undef SMR_UKERNEL
  ,
  SMR_I8_GEMM_TILE = SMR_LEAN(8, 4),  // rows of the largest call of the others
  SMR_I8_GEMM_MR = SMR_I8_GEMM_TALL ? 32 : SMR_I8_GEMM_TILE,
  // columns of the largest call; also the elements between rows of sums
  SMR_I8_GEMM_SUMS = SMR_I8_GEMM_TALL ? 192 : SMR_LEAN(96, 32),
  // Size of the buffer that stages rows of A for a tile: long enough to amortize the fixed costs of
  // a chunk, short enough that all rows leave half of a small L1 cache to the weights. The pitch
  // spreads the rows over different sets.
  SMR_I8_GEMM_STAGE_BYTES = SMR_LEAN(2048, 256),
  SMR_I8_GEMM_PITCH_BYTES = SMR_I8_GEMM_STAGE_BYTES + 64,
  SMR_I8_GEMM_TALL_STAGE_BYTES = SMR_I8_GEMM_STAGE_BYTES / 2,
  SMR_I8_GEMM_TALL_PITCH_BYTES = SMR_I8_GEMM_TALL_STAGE_BYTES + 64,
};

/// Conversion of sums to int8, from a first column on. hi >= 0 if tiles convert themselves
/// (`direct`).
struct smr_i8_gemm_direct {
  const float *multiplier;
  int8_t *out;
  size_t out_stride;
  float hi;  // before the zero point is added
  int32_t lo, zero;
};

/// Products of staged rows with weights.
struct smr_i8_gemm_rows {
  const void *staged;          // first row, if staged; otherwise
  const uint8_t *const *rows;  // in_place: rows of the tallest tile
  size_t tiles;                // in_place, direct: number of tallest tiles, each with its rows
  const size_t *taps;          // in_place: bytes from a row to each of its taps, which have
                               // `groups` groups
  size_t tap_count;
  const int8_t *w;
  size_t panel_stride_bytes, groups;  // groups of four rows of weights
  size_t columns;
  const int32_t *from;  // start values: sums = from + products, up to whole panels; rows
                        // `from_stride` apart
  size_t from_stride;   // SMR_I8_GEMM_SUMS, or 0: the same for all rows
  int32_t *sums;        // rows are SMR_I8_GEMM_SUMS apart; may be `from`
  struct smr_i8_gemm_direct *direct;  // NULL, or the output of whole panels, which are then not
                                      // written to sums
};

/// The function for a number of rows. With `direct`, it returns the number of columns that it wrote
/// to call->direct.
struct smr_i8_gemm_tile_kernel {
  size_t rows;
  size_t least;  // fewest rows to call it for; missing rows are computed from old bytes of the
                 // buffer
  size_t (*run)(const struct smr_i8_gemm_rows *call);
};

/// Advance by `step` columns, a divisor of a panel's. Returns the new column.
static inline size_t smr_i8_gemm_next(struct smr_i8_gemm_rows *at, size_t column, size_t step) {
  column += step;
  at->from += step;
  at->sums += step;
  at->w += step * SMR_I8_GROUP;
  // A panel without rows has no bytes, so this may step back.
  const ptrdiff_t panel = (ptrdiff_t)at->panel_stride_bytes, group = SMR_I8_PANEL * SMR_I8_GROUP;
  if (column % SMR_I8_PANEL == 0) at->w += panel - group;
  return column;
}

/// Functions on sums, [rows][SMR_I8_GEMM_SUMS].
struct smr_i8_gemm_ends {
  /// The sum of n bytes.
  int32_t (*row_sum)(const int8_t *a, size_t n);

  /// Subtract w_zero[j] times the sum of its row from every sum.
  void (*subtract_zeros)(size_t rows, size_t columns, int32_t *sums, const uint32_t *row_sums,
                         const int32_t *w_zero);
  /// Columns [first, columns); first is a multiple of a panel.
  void (*to_i8)(size_t rows, size_t first, size_t columns, const int32_t *sums,
                const struct smr_i8_gemm_direct *to);
  void (*to_f32)(size_t rows, size_t columns, const int32_t *sums,
                 const struct smr_i8_gemm_columns *arrays, const float *row_scale, float *out,
                 const struct smr_i8_gemm_params *params);
};

/// The functions of an instruction set. Staged rows of A are in its own form: unsigned, widened, or
/// interleaved.
struct smr_i8_gemm_funcs {
  uint8_t staged_bytes;  // of an element
  uint8_t woven;         // rows interleaved with each other
  bool in_place;  // tiles read rows from any address; elements are bytes, and up to 3 bytes too
                  // many are read
  bool fills;     // staging writes at least 15 elements after the last ones, with any values
  const struct smr_i8_gemm_tile_kernel *tiles;  // tallest first, down to 1 row

  /// Before the first tile of more than one row of a call, whose sums have `depth` products, and
  /// after the last, on the same thread; or NULL.
  void (*begin)(size_t depth);
  void (*end)(void);

  const struct smr_i8_gemm_ends *ends;

  /// Copy `rows` windows of `count` taps of n bytes to rows `pitch` bytes apart, in order: up to 63
  /// bytes after each may change. Elements are bytes. NULL: taps are joined, then staged.
  void (*gather)(size_t rows, const int8_t *const *begin, const size_t *taps, size_t count,
                 size_t n, size_t pitch, uint8_t *to);

  /// Convert n bytes of every row to its elements at .. at + n. Up to 63 bytes after them may
  /// change.
  void (*stage)(size_t rows, const int8_t *const *a, size_t n, size_t at, void *staged);
};

/// `stage` of instruction sets that read plain bytes.
void smr_i8_gemm_stage_bytes(size_t rows, const int8_t *const *a, size_t n, size_t at,
                             void *staged);

/// One call: columns <= config->nr. `a` is its first row (direct) or NULL; `indirect` is its first
/// row of pointers `[rows][taps]` or NULL; `row_scale` is that of its first row (SMR_I8_TO_F32).
void smr_i8_gemm_call(const struct smr_i8_gemm_config *config, size_t rows, size_t columns,
                      const int8_t *a, const int8_t *const *indirect, const int8_t *w,
                      const struct smr_i8_gemm_columns *arrays, const float *row_scale, void *out,
                      const struct smr_i8_gemm_params *params);

/// The same for one direct row and any number of columns.
void smr_i8_gemm_call_row(const struct smr_i8_gemm_config *config, size_t columns, const int8_t *a,
                          const int8_t *w, const struct smr_i8_gemm_columns *arrays,
                          const float *row_scale, void *out,
                          const struct smr_i8_gemm_params *params);

#endif
