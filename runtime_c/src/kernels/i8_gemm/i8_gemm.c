// SPDX-License-Identifier: Apache-2.0
// Compiles the int8 product for every instruction set, chooses one, packs panels, and visits the
// tiles.
#include "base/fp.h"

#include "kernels/i8_gemm/i8_gemm.h"

#include <string.h>

#include "base/cut.h"
#include "base/isa.h"
#include "base/parts.h"
#include "kernels/i8_gemm/funcs.h"
#include "kernels/rows.h"
#include "simd/requantize.h"
#include "simd/common.h"

// The configuration at the end of each instruction set's file; `offset` is its a_offset.
#define I8_GEMM_CONFIG(rows, columns, offset)                  \
  static const struct smr_i8_gemm_config N(i8_gemm_config) = { \
      SMR_SIMD_NAME,                                           \
      rows,                                                    \
      columns,                                                 \
      offset,                                                  \
      &N(i8_gemm_funcs),                                       \
      {"i8_gemm_" #rows "x" #columns "__" SMR_SIMD_NAME, "i8_gemm_gemv__" SMR_SIMD_NAME}}

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_gemm/ends.h"
#include "kernels/int8.inc"
#undef SMR_SIMD_BODY
#define SMR_SIMD_BODY "kernels/i8_gemm/body.h"
#include "kernels/i8_gemm/kernels.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT
#undef I8_GEMM_CONFIG

static const struct smr_kernel_row i8_gemm_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_i8_gemm_config_##suffix},
#include "kernels/i8_gemm/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_gemm_config *smr_i8_gemm_config(uint32_t isa) {
  return smr_best_row(i8_gemm_rows, isa)->kernels;
}

// Rows of A that are read once per column group, and their block of output. Caches could hold more,
// but as many rows as in the float product leave enough blocks for all threads.
enum { I8_GEMM_A_BLOCK_BYTES = 32 * 1024, I8_GEMM_OUT_BLOCK_BYTES = 64 * 1024 };

static int i8_gemm_is_vector(const struct smr_i8_gemm_args *args) {
  return args->m == 1 && !args->indirect && !args->windows;
}

void smr_i8_gemm_plan_make(const struct smr_i8_gemm_config *config,
                           const struct smr_i8_gemm_args *args, struct smr_i8_gemm_plan *plan) {
  const int vector = i8_gemm_is_vector(args);
  *plan = (struct smr_i8_gemm_plan){
      .config = config,
      .kernel = config->names[vector],
      .group_panels = config->nr / SMR_I8_PANEL,
  };
  if (args->batch == 0 || args->m == 0 || args->n == 0) return;
  const size_t row_tiles = smr_ceil_div(args->m, config->mr);

  const size_t sum = args->indirect || args->windows ? args->k * args->taps : args->k;
  size_t rows = I8_GEMM_A_BLOCK_BYTES / (sum > 0 ? sum : 1);
  const size_t out_rows = I8_GEMM_OUT_BLOCK_BYTES / smr_i8_output_bytes(args->to) / args->n;
  if (out_rows < rows) rows = out_rows;
  size_t tiles = rows / config->mr < 4 ? 4 : rows / config->mr;
  if (tiles > row_tiles) tiles = row_tiles;
  plan->rows = smr_tile_blocks_make(row_tiles, smr_ceil_div(row_tiles, tiles));

  // Choose column groups of nearly equal width, in pairs of panels, which some tiles compute
  // together: with groups of eight, ten panels are 6 + 4, not 8 + 2.
  plan->groups = smr_ceil_div(smr_ceil_div(args->n, SMR_I8_PANEL), plan->group_panels);
  plan->units = args->batch * plan->rows.count * plan->groups;
}

void smr_i8_gemm_plan_share(struct smr_i8_gemm_plan *plan, size_t units) {
  plan->units = smr_tile_blocks_share(&plan->rows, plan->units, units);
}

// One column group over one block of rows.
SMR_HOT static void i8_gemm_unit(const struct smr_i8_gemm_plan *plan,
                                 const struct smr_i8_gemm_args *args, size_t b, size_t block,
                                 size_t group) {
  const size_t pairs = smr_ceil_div(args->n, 2 * SMR_I8_PANEL);
  const size_t panel = 2 * smr_cut(pairs, plan->groups, group);
  const size_t panel_end = 2 * smr_cut(pairs, plan->groups, group + 1);
  const size_t column = panel * SMR_I8_PANEL;
  const size_t column_end = panel_end * SMR_I8_PANEL < args->n ? panel_end * SMR_I8_PANEL : args->n;
  const size_t out_bytes = smr_i8_output_bytes(args->to);
  struct smr_i8_gemm_params params = {
      .k = args->k,
      .taps = args->indirect || args->windows ? args->taps : 1,
      .a_stride = args->a_stride,
      .a_offset_bytes = b * args->a_batch_stride,
      .windows = SMR_HAS(i8_gemm_windows) ? args->windows : NULL,
      .pad = args->pad,
      .panel_stride_bytes = args->panel_stride_bytes,
      .out_stride = args->out_stride,
      .to = args->to,
      .zero = args->zero,
      .lo = args->lo,
      .hi = args->hi,
      .f32_lo = args->f32_lo,
      .f32_hi = args->f32_hi,
  };
  const struct smr_i8_gemm_columns *all = &args->columns;
  const size_t at = b * args->columns_batch_stride + column;
  const struct smr_i8_gemm_columns arrays = {
      .start = all->start + at,
      .w_zero = all->w_zero ? all->w_zero + at : NULL,
      .multiplier = all->multiplier ? all->multiplier + at : NULL,
      .bias = all->bias ? all->bias + at : NULL,
  };
  const int8_t *w = args->w + b * args->w_batch_stride_bytes + panel * args->panel_stride_bytes;
  const int8_t *a = args->indirect ? NULL : args->a + b * args->a_batch_stride;
  const float *row_scale =
      args->row_scale ? args->row_scale + b * args->row_scale_batch_stride : NULL;
  char *out = (char *)args->out + (b * args->out_batch_stride + column) * out_bytes;

  size_t rows = 1;
  if (i8_gemm_is_vector(args)) {
    smr_i8_gemm_call_row(plan->config, column_end - column, a, w, &arrays, row_scale, out, &params);
  } else {
    const size_t row = block * plan->rows.each * plan->config->mr;
    const size_t most = plan->rows.each * plan->config->mr, left = args->m - row;
    rows = left < most ? left : most;
    params.first = row;
    out += row * args->out_stride * out_bytes;
    smr_i8_gemm_call(
        plan->config, rows, column_end - column, a && !args->windows ? a + row * args->a_stride : a,
        SMR_HAS(i8_gemm_indirect) && args->indirect ? args->indirect + row * args->taps : NULL, w,
        &arrays, row_scale ? row_scale + row : NULL, out, &params);
  }
  if (SMR_HAS(i8_gemm_to_f32) && args->post)
    args->post(args->post_context, (float *)(void *)out, rows, column_end - column,
               args->out_stride);
}

SMR_HOT void smr_i8_gemm_run(const struct smr_i8_gemm_plan *plan,
                             const struct smr_i8_gemm_args *args, size_t begin, size_t end) {
  for (size_t unit = begin; unit < end; unit++) {
    const size_t group = unit % plan->groups, rest = unit / plan->groups;
    i8_gemm_unit(plan, args, rest / plan->rows.count, rest % plan->rows.count, group);
  }
}

bool smr_i8_gemm_native(const struct smr_i8_gemm_config *config, size_t k, bool w_zero) {
  return config->funcs->in_place && k % SMR_I8_GROUP == 0 && !w_zero;
}

void smr_i8_gemm_copy(const struct smr_i8_gemm_config *config, const int8_t *from, size_t n,
                      int8_t *to) {
  config->funcs->stage(1, &from, n, 0, to);
}

size_t smr_i8_panel_stride_bytes(size_t rows) {
  return smr_ceil_div(rows, SMR_I8_GROUP) * SMR_I8_GROUP * SMR_I8_PANEL;
}

// A group of four rows of a panel. Missing rows and columns become zeros.
SMR_HOT static void i8_gemm_pack_edge(size_t rows, size_t columns, const int8_t *w,
                                      size_t row_stride, size_t column_stride, int8_t *group) {
  memset(group, 0, SMR_I8_GROUP * SMR_I8_PANEL);
  for (size_t j = 0; j < columns; j++) {
    for (size_t r = 0; r < rows; r++) {
      group[j * SMR_I8_GROUP + r] = w[r * row_stride + j * column_stride];
    }
  }
}

// The same for a full group of contiguous rows: a 4x16 transpose.
SMR_HOT static void i8_gemm_pack_rows(const int8_t *w, size_t row_stride, int8_t *group) {
  uint8_t row[SMR_I8_GROUP][SMR_I8_PANEL];
  uint16_t low[SMR_I8_PANEL], high[SMR_I8_PANEL];
  uint32_t words[SMR_I8_PANEL];
  for (size_t r = 0; r < SMR_I8_GROUP; r++) memcpy(row[r], w + r * row_stride, SMR_I8_PANEL);
  for (size_t j = 0; j < SMR_I8_PANEL; j++) low[j] = (uint16_t)(row[0][j] | row[1][j] << 8);
  for (size_t j = 0; j < SMR_I8_PANEL; j++) high[j] = (uint16_t)(row[2][j] | row[3][j] << 8);
  for (size_t j = 0; j < SMR_I8_PANEL; j++) words[j] = low[j] | (uint32_t)high[j] << 16;
  memcpy(group, words, sizeof words);
}

SMR_HOT void smr_i8_pack(size_t rows, size_t n, const int8_t *w, size_t row_stride,
                         size_t column_stride, int8_t *panels) {
  const size_t stride = smr_i8_panel_stride_bytes(rows);
  for (size_t column = 0; column < n; column += SMR_I8_PANEL, panels += stride) {
    const size_t columns = n - column < SMR_I8_PANEL ? n - column : SMR_I8_PANEL;
    for (size_t row = 0; row < rows; row += SMR_I8_GROUP) {
      const size_t height = rows - row < SMR_I8_GROUP ? rows - row : SMR_I8_GROUP;
      const int8_t *from = w + row * row_stride + column * column_stride;
      int8_t *group = panels + row * SMR_I8_PANEL;
      if (height < SMR_I8_GROUP || columns < SMR_I8_PANEL) {
        i8_gemm_pack_edge(height, columns, from, row_stride, column_stride, group);
      } else if (row_stride == 1) {
        for (size_t j = 0; j < SMR_I8_PANEL; j++) {
          memcpy(group + j * SMR_I8_GROUP, from + j * column_stride, SMR_I8_GROUP);
        }
      } else if (column_stride == 1) {
        i8_gemm_pack_rows(from, row_stride, group);
      } else {
        i8_gemm_pack_edge(height, columns, from, row_stride, column_stride, group);
      }
    }
  }
}

// Column sums of a panel with `groups` groups of rows.
SMR_HOT static void i8_gemm_column_sums(size_t groups, const int8_t *panel, int32_t *sums) {
  for (size_t j = 0; j < SMR_I8_PANEL; j++) sums[j] = 0;
  for (size_t g = 0; g < groups; g++, panel += SMR_I8_GROUP * SMR_I8_PANEL) {
    for (size_t j = 0; j < SMR_I8_PANEL; j++) {
      const int8_t *p = panel + j * SMR_I8_GROUP;
      sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)(p[0] + p[1] + p[2] + p[3]));
    }
  }
}

SMR_HOT void smr_i8_gemm_start(const struct smr_i8_gemm_config *config, size_t rows, size_t n,
                               const int8_t *panels, const int32_t *bias, int32_t a_zero,
                               const int32_t *w_zero, int32_t *start) {
  const size_t stride = smr_i8_panel_stride_bytes(rows);
  const uint32_t shift = (uint32_t)a_zero + (uint32_t)config->a_offset;
  for (size_t column = 0; column < n; column += SMR_I8_PANEL, panels += stride) {
    int32_t sums[SMR_I8_PANEL];
    i8_gemm_column_sums(smr_ceil_div(rows, SMR_I8_GROUP), panels, sums);
    for (size_t j = 0; j < SMR_I8_PANEL; j++) {
      uint32_t sum = 0;
      if (column + j < n) {
        sum = (bias ? (uint32_t)bias[column + j] : 0u) - shift * (uint32_t)sums[j];
        if (w_zero) sum += (uint32_t)rows * shift * (uint32_t)w_zero[column + j];
      }
      start[column + j] = (int32_t)sum;
    }
  }
}
