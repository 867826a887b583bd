// SPDX-License-Identifier: Apache-2.0
// Float products with weights of 8 or 4 bits: the contract.
//
// A panel holds 16 columns of quantized weights, in which element (row r, column n) means
//
//   (q[r][n] - zero[r / block][n]) * scale[r / block][n]
//
// 8 bits: `[ceil(rows / 4)][16][4]` of int8, as integer products read it. 4 bits: `[ceil(rows /
// 32)][4][16][4]` bytes; in a group of 32 rows, byte [j][n][i] holds row 4 * j + i in its low half
// and row 16 + 4 * j + i in its high half. So a column is a lane of int32, and shifts extract a row
// from a vector. The padding of the last group is never used.
//
// `expand` writes floats for a product to read. `row` multiplies one row of x by a panel without
// writing floats. Both round each step to float32. `expand` gives the same bits on all instruction
// sets; the order of the sums of `row` depends only on the instruction set.
#ifndef SMR_KERNELS_F32_NARROW_H
#define SMR_KERNELS_F32_NARROW_H

#include <stddef.h>
#include <stdint.h>

enum {
  SMR_NARROW_COLUMNS = 16,  // per panel
  SMR_NARROW_ROWS_8 = 4,    // rows in a group
  SMR_NARROW_ROWS_4 = 32,
};

typedef enum { SMR_NARROW_I8 = 0, SMR_NARROW_I4 = 1, SMR_NARROW_U4 = 2 } smr_narrow_type;

struct smr_f32_narrow_panel {
  const void *w;
  size_t rows;
  size_t block;           ///< rows that share a scale: a multiple of 16; with 8 bits of 4
  const void *scales;     ///< [ceil(rows / block)][16] of float32, or of float16
  const uint16_t *zeros;  ///< the same, float16; NULL if all are 0
  int scales_are_f16;
};

/// Rows [first, first + count) as float32: out[count][16].
typedef void (*smr_f32_narrow_expand)(const struct smr_f32_narrow_panel *panel, size_t first,
                                      size_t count, float *out);

/// sums[16] += sum over rows r of a[r] * w[r]; reads `rows` floats of `a`.
typedef void (*smr_f32_narrow_row)(const struct smr_f32_narrow_panel *panel, const float *a,
                                   float *sums);

/// The kernels of one ISA, by smr_narrow_type.
struct smr_f32_narrow_config {
  const char *isa;
  smr_f32_narrow_expand expand[3];
  smr_f32_narrow_row row[3];
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_narrow_config *smr_f32_narrow_config(uint32_t isa);

/// Rows stored for `rows` rows: whole groups.
size_t smr_narrow_stored_rows(smr_narrow_type type, size_t rows);
/// Bytes of a panel of `rows` rows, rounded up to 64.
size_t smr_narrow_panel_bytes(smr_narrow_type type, size_t rows);

#endif
