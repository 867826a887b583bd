// SPDX-License-Identifier: Apache-2.0
// Compiles the float product for every instruction set, chooses one, and visits the tiles.
#include "base/fp.h"

#include "kernels/f32_gemm/f32_gemm.h"

#include "base/cut.h"
#include "base/isa.h"
#include "kernels/rows.h"

#include <float.h>
#include <math.h>

// The configuration at the end of each instruction set's file.
#define GEMM_IN(part, name) SMR_HAS(part) ? N(name) : NULL
#define GEMM_CONFIG(rows, columns, ...)                                                           \
  static const struct smr_f32_gemm_config N(f32_gemm_config) = {                                  \
      .isa = SMR_SIMD_NAME,                                                                       \
      .mr = rows,                                                                                 \
      .nr = {columns, columns},                                                                   \
      .ukernel = {GEMM_IN(f32_gemm, f32_gemm_kernel),                                             \
                  GEMM_IN(f32_gemm_f16w, f32_gemm_kernel_f16w)},                                  \
      .gemv = {GEMM_IN(f32_gemv, f32_gemm_gemv_kernel),                                           \
               GEMM_IN(f32_gemv_f16w, f32_gemm_gemv_kernel_f16w), NULL,                           \
               GEMM_IN(f32_gemv_s8, f32_gemm_gemv_kernel_s8)},                                    \
      .gemv_nr = {SMR_PANEL, SMR_PANEL, 0, SMR_PANEL},                                            \
      .names = {"f32_gemm_" #rows "x" #columns "__" SMR_SIMD_NAME,                                \
                "f32_gemm_" #rows "x" #columns "_f16w__" SMR_SIMD_NAME},                          \
      .gemv_names = {"f32_gemm_gemv__" SMR_SIMD_NAME, "f32_gemm_gemv_f16w__" SMR_SIMD_NAME, NULL, \
                     "f32_gemm_gemv_s8__" SMR_SIMD_NAME},                                         \
      .unfold_s8 = GEMM_IN(f32_gemv_s8, f32_gemm_unfold_s8),                                      \
      __VA_ARGS__}

// Tiles in float16 arithmetic call those of NEON, so NEON comes first.
#define SMR_SIMD_BODY "kernels/f32_gemm/body.h"
#define SMR_SIMD_HOT
#include "kernels/float.inc"
#undef SMR_SIMD_HOT
#include "kernels/f32_gemm/kernels.inc"
#undef SMR_SIMD_BODY
#undef GEMM_CONFIG
#undef GEMM_IN

size_t smr_panels(size_t n) { return n / SMR_PANEL + (n % SMR_PANEL != 0); }

size_t smr_panel_stride_bytes(size_t rows, size_t element_bytes) {
  return (rows * SMR_PANEL * element_bytes + 63) / 64 * 64;
}

static const struct smr_kernel_row f32_gemm_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_f32_gemm_config_##suffix},
#include "kernels/f32_gemm/kernels.inc"
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_gemm_config *smr_f32_gemm_config(uint32_t isa) {
  return smr_best_row(f32_gemm_rows, isa)->kernels;
}

enum {
  F32_GEMM_A_BLOCK_BYTES = 128 * 1024,    // rows of A read once per column group: a share of L2
  F32_GEMM_OUT_BLOCK_BYTES = 256 * 1024,  // output of one block: each line is written once
  F32_GEMM_PAGE = 4096,                   // rows this far apart fall into the same set of the L1
                                          // cache
  F32_GEMM_HALF_PANELS = 2,  // fewest panels for which rounding rows of A to float16 pays off
  F32_GEMM_HALF_SUM = 32,    // fewest terms of such sums
  F32_GEMM_SHORT_ROWS = 8,   // with at least so many rows, tiles have four rows or more on every
                             // ISA (WebAssembly: three, f32_gemm/v128.h)
};

// Whether there are so few rows that they are computed one by one.
static bool f32_gemm_is_vector(const struct smr_f32_gemm_args *args) {
  return !args->indirect && args->m <= (args->source.rows > 1 ? args->source.rows : 1);
}

// Whether there is one panel, more than half filled.
static bool f32_gemm_is_narrow(const struct smr_f32_gemm_args *args) {
  return !args->indirect && args->n <= SMR_PANEL && args->n > SMR_PANEL / 2;
}

samara_status smr_f32_gemm_need(const struct smr_f32_gemm_args *args, bool rows_vary,
                                bool columns_vary, struct smr_parts *parts, samara_error *error) {
  const bool vary = rows_vary || columns_vary, is_vector = f32_gemm_is_vector(args);
  const bool vector = is_vector || (vary && !args->indirect), tiles = !is_vector || vary;
  if (args->source.expand) SMR_NEED_IN(parts, error, f32_gemm_source);
  if (args->indirect) SMR_NEED_IN(parts, error, f32_gemm_indirect);
  if (args->w_type == SMR_GEMM_F16) {
    if (vector) SMR_NEED_IN(parts, error, f32_gemv_f16w);
    if (tiles) SMR_NEED_IN(parts, error, f32_gemm_f16w);
    return SAMARA_OK;
  }
  if (args->w_type == SMR_GEMM_S8) {
    SMR_NEED_IN(parts, error, f32_gemv_s8);
    return SAMARA_OK;
  }
  // A CPU without bfloat16 products computes these in float32.
  if (vector) SMR_NEED_IN(parts, error, f32_gemv);
  if (!tiles) return SAMARA_OK;
  SMR_NEED_IN(parts, error, f32_gemm);
  if (vary || args->m < F32_GEMM_SHORT_ROWS) SMR_NEED_IN(parts, error, f32_gemm_short);
  const size_t last = (args->n + SMR_PANEL - 1) % SMR_PANEL + 1;  // columns of the last panel
  if (columns_vary || last <= SMR_PANEL / 2) SMR_NEED_IN(parts, error, f32_gemm_half);
  if (!args->indirect && (columns_vary || f32_gemm_is_narrow(args)))
    SMR_NEED_IN(parts, error, f32_gemm_tall);
  return SAMARA_OK;
}

void smr_f32_gemm_plan_make(const struct smr_f32_gemm_config *config,
                            const struct smr_f32_gemm_args *args, struct smr_f32_gemm_plan *plan) {
  const size_t panels = smr_panels(args->n);
  const size_t sum = args->indirect ? args->k * args->taps : args->k;
  if (config->plain && (panels < F32_GEMM_HALF_PANELS || sum < F32_GEMM_HALF_SUM))
    config = config->plain;
  size_t mr = config->mr;
  *plan = (struct smr_f32_gemm_plan){
      .config = config,
      .ukernel = config->ukernel[args->w_type],
      .kernel = config->names[args->w_type],
      .group_panels = config->nr[args->w_type] / SMR_PANEL,
  };
  if (args->batch == 0 || args->m == 0 || args->n == 0) return;

  if (f32_gemm_is_vector(args)) {
    mr = 1;
    plan->ukernel = config->gemv[args->w_type];
    plan->kernel = config->gemv_names[args->w_type];
    plan->group_panels = config->gemv_nr[args->w_type] / SMR_PANEL;
  } else if (config->tall_mr && f32_gemm_is_narrow(args) && args->w_type == SMR_GEMM_F32 &&
             args->a_stride * sizeof(float) % F32_GEMM_PAGE != 0) {
    // Taller tiles hide more loads, but so many rows a page apart would evict each other.
    mr = config->tall_mr;
    plan->ukernel = config->tall;
    plan->kernel = config->tall_name;
  }
  const size_t row_tiles = smr_ceil_div(args->m, mr);

  // Rows per block: A's rows stay in L2 while all column groups read them.
  const size_t depth = sum > 0 ? sum : 1;
  size_t rows = F32_GEMM_A_BLOCK_BYTES / sizeof(float) / depth;
  const size_t out_rows = F32_GEMM_OUT_BLOCK_BYTES / sizeof(float) / args->n;
  if (out_rows < rows) rows = out_rows;
  // Unfolding panels costs as much as some rows, so let more rows share it.
  const size_t least = args->source.rows ? 16 : 4;
  size_t tiles = rows / mr < least ? least : rows / mr;
  if (tiles > row_tiles) tiles = row_tiles;
  plan->rows = smr_tile_blocks_make(row_tiles, smr_ceil_div(row_tiles, tiles));

  // Choose column groups of nearly equal width: four panels are 2 + 2, not 3 + 1.
  plan->groups = smr_ceil_div(panels, plan->group_panels);
  plan->units = args->batch * plan->rows.count * plan->groups;
}

void smr_f32_gemm_plan_share(struct smr_f32_gemm_plan *plan, size_t units) {
  plan->units = smr_tile_blocks_share(&plan->rows, plan->units, units);
}

size_t smr_f32_gemm_source_bytes(const struct smr_f32_gemm_config *config, size_t rows) {
  const size_t stride = smr_panel_stride_bytes(rows, sizeof(float));
  return config->nr[SMR_GEMM_F32] / SMR_PANEL * stride;
}

// The rows of a column group one by one, over panels that are not unfolded.
static void f32_gemm_source_rows(const struct smr_f32_gemm_plan *plan,
                                 const struct smr_f32_gemm_args *args,
                                 const struct smr_f32_gemm_params *params, size_t b, size_t column,
                                 size_t columns, const char *w, size_t first, size_t last,
                                 const float *bias, char *out, const char *residual) {
  const size_t out_bytes = args->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  struct smr_f32_gemm_params none = *params;
  none.k = 0;  // only the end of a row is left: its sums are passed as bias
  for (size_t j = 0; j < columns; j += SMR_PANEL, w += args->panel_stride_bytes) {
    const size_t n = columns - j < SMR_PANEL ? columns - j : SMR_PANEL;
    for (size_t i = first; i < last; i++) {
      float sums[SMR_PANEL] = {0};
      for (size_t l = 0; bias && l < SMR_PANEL; l++) sums[l] = bias[j + l];
      const float *a = args->a + b * args->a_batch_stride + i * args->a_stride;
      args->source.row(args->source.context, b, column + j, n, w, a, sums);
      plan->ukernel(1, n, a, NULL, w, sums, out + (i * args->out_stride + j) * out_bytes,
                    residual ? residual + (i * args->residual_stride + j) * out_bytes : NULL,
                    &none);
    }
  }
}

// Column groups [group, group_end) over one block of rows. Several groups only in matrix-vector
// products.
static void f32_gemm_unit(const struct smr_f32_gemm_plan *plan,
                          const struct smr_f32_gemm_args *args, size_t b, size_t block,
                          size_t group, size_t group_end) {
  const size_t panels = smr_panels(args->n);
  const size_t panel = smr_cut(panels, plan->groups, group);
  const size_t panel_end = smr_cut(panels, plan->groups, group_end);
  const size_t column = panel * SMR_PANEL;
  const size_t column_end = panel_end * SMR_PANEL < args->n ? panel_end * SMR_PANEL : args->n;
  const size_t columns = column_end - column;
  size_t tile_begin = block * plan->rows.each;
  const size_t tile_last = tile_begin + plan->rows.each;
  const size_t tile_end = tile_last < plan->rows.tiles ? tile_last : plan->rows.tiles;
  const size_t out_bytes = args->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);

  struct smr_f32_gemm_params params = {
      .k = args->k,
      .taps = args->indirect ? args->taps : 1,
      .a_stride = args->a_stride,
      .a_offset_bytes = args->a_offset_bytes + b * args->a_batch_stride * sizeof(float),
      .zero = args->zero,
      .panel_stride_bytes = args->panel_stride_bytes,
      .out_stride = args->out_stride,
      .residual_stride = args->residual_stride,
      .out_type = args->out_type,
      .lo = args->lo,
      .hi = args->hi,
  };
  const char *w =
      (const char *)args->w + b * args->w_batch_stride_bytes + panel * args->panel_stride_bytes;
  const float *bias = args->bias ? args->bias + b * args->bias_batch_stride + column : NULL;
  char *out = (char *)args->out + (b * args->out_batch_stride + column) * out_bytes;
  const char *residual = args->residual ? (const char *)args->residual +
                                              (b * args->residual_batch_stride + column) * out_bytes
                                        : NULL;
  const float *a = args->indirect ? NULL : args->a + b * args->a_batch_stride;

  const size_t first = smr_cut(args->m, plan->rows.tiles, tile_begin);
  const size_t height = args->m / plan->rows.tiles, taller = args->m % plan->rows.tiles;
  size_t row = first;
  if (SMR_HAS(f32_gemm_source) && args->source.expand &&
      plan->ukernel == plan->config->gemv[args->w_type]) {
    row += (tile_end - tile_begin) * height;  // register tiles of one row
    f32_gemm_source_rows(plan, args, &params, b, column, columns, w, first, row, bias, out,
                         residual);
    tile_begin = tile_end;
  } else if (SMR_HAS(f32_gemm_source) && args->source.expand) {
    const size_t rows = params.taps * params.k;
    params.panel_stride_bytes = smr_panel_stride_bytes(rows, sizeof(float));
    args->source.expand(args->source.context, b, column, columns, w, args->panel_stride_bytes,
                        args->source.first_row, rows, args->source.scratch,
                        params.panel_stride_bytes);
    w = (const char *)args->source.scratch;
  }
  for (size_t tile = tile_begin; tile < tile_end; tile++) {
    const size_t rows = height + (tile < taller);
    plan->ukernel(rows, columns, a ? a + row * args->a_stride : NULL,
                  args->indirect ? args->indirect + row * args->taps : NULL, w, bias,
                  out + row * args->out_stride * out_bytes,
                  residual ? residual + row * args->residual_stride * out_bytes : NULL, &params);
    row += rows;
  }
  if (args->post) {
    args->post(args->post_context, out + first * args->out_stride * out_bytes, row - first, columns,
               args->out_stride, args->out_type);
  }
}

void smr_f32_gemm_run(const struct smr_f32_gemm_plan *plan, const struct smr_f32_gemm_args *args,
                      size_t begin, size_t end) {
  const bool vector = plan->ukernel == plan->config->gemv[args->w_type];
  for (size_t unit = begin, count; unit < end; unit += count) {
    const size_t group = unit % plan->groups, rest = unit / plan->groups;
    const size_t left = plan->groups - group;
    // Pass all panels of a row in one call: the cost of a call exceeds that of a short panel.
    count = !vector ? 1 : left < end - unit ? left : end - unit;
    f32_gemm_unit(plan, args, rest / plan->rows.count, rest % plan->rows.count, group,
                  group + count);
  }
}
