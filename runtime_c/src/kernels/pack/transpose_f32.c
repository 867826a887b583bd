// SPDX-License-Identifier: Apache-2.0
// Transposes float32 matrices through weight panels: sixteen rows become sixteen adjacent columns.
#include "base/fp.h"

#include "kernels/pack/transpose_f32.h"

#include "kernels/pack/pack_f32.h"

#include <string.h>

enum {
  TRANSPOSE_F32_COLUMNS = 64
};  // columns of a panel on the stack, which are consecutive rows
    // of `dst`

// Columns [0, columns) of `rows` <= 16 rows.
static void transpose_f32_panel(size_t rows, size_t columns, const float *src, size_t src_stride,
                                float *dst, size_t dst_stride, uint32_t isa) {
  float panel[TRANSPOSE_F32_COLUMNS * SMR_PANEL];
  const struct smr_pack_f32_args args = {.k = columns,
                                         .n = rows,
                                         .src = src,
                                         .type = SMR_GEMM_F32,
                                         .k_stride = 1,
                                         .n_stride = src_stride,
                                         .dst = panel,
                                         .panel_stride_bytes = sizeof panel};
  smr_pack_f32(&args, isa, 0, 1);
  for (size_t c = 0; c < columns; c++) {
    const float *from = panel + c * SMR_PANEL;
    if (rows == SMR_PANEL)  // a constant length
      memcpy(dst + c * dst_stride, from, SMR_PANEL * sizeof *from);
    else
      memcpy(dst + c * dst_stride, from, rows * sizeof *from);
  }
}

void smr_transpose_f32(size_t rows, size_t columns, const float *src, size_t src_stride, float *dst,
                       size_t dst_stride, uint32_t isa) {
  for (size_t c = 0; c < columns; c += TRANSPOSE_F32_COLUMNS) {
    const size_t wide = columns - c < TRANSPOSE_F32_COLUMNS ? columns - c : TRANSPOSE_F32_COLUMNS;
    for (size_t r = 0; r < rows; r += SMR_PANEL)
      transpose_f32_panel(rows - r < SMR_PANEL ? rows - r : SMR_PANEL, wide,
                          src + r * src_stride + c, src_stride, dst + c * dst_stride + r,
                          dst_stride, isa);
  }
}
