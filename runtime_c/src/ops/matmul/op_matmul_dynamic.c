// SPDX-License-Identifier: Apache-2.0
// matmul_dynamic: products of float32 rows by quantized weights. Rows are quantized at run time.
//
// Two phases: quantize rows, each with its own scale; multiply. Few rows are quantized before the
// tiles. With one scale for all of x, the phase before them finds its range. A single row is
// multiplied by the kernel that knows that x has no -128 (kernels/i8_blocks): it needs the fewest
// instructions, and reads weights at the speed of memory.
#include "base/fp.h"

#include "base/cut.h"
#include "kernels/i8_blocks/i8_blocks.h"
#include "ops/check/check.h"
#include "ops/matmul/dynamic.h"
#include "ops/table/funcs.h"

#include <string.h>

enum {
  MATMUL_DYNAMIC_PIECE = 16 * 1024,  // elements that a tile quantizes
  MATMUL_DYNAMIC_PANELS = 4,         // that a tile multiplies by a single row
};

struct matmul_dynamic_state {
  struct smr_dynamic dynamic;
  size_t m, k;
  size_t rows, pieces;            // rows of x per tile of the first phase; number of such tiles,
                                  // 0: quantized before the tiles
  size_t q_offset, scale_offset;  // in scratch
  size_t range_offset;            // ranges of pieces
  bool whole;                     // all of x has one scale and a zero point
  const struct smr_i8_blocks_config *row;  // of a product with a single row, or NULL
  struct smr_i8_gemm_plan plan;
};

static samara_status matmul_dynamic_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_rank(job, job->inputs[1], "w", 2, 2));
  SMR_TRY(smr_expect_dtype(job, job->inputs[1], "w", SMR_DTYPE_QS8));
  return smr_linear_check_weights(job, SMR_ATTR(job, matmul_dynamic, transpose_w)->i != 0 ? 0 : 1);
}

static struct smr_i8_gemm_args matmul_dynamic_args(const struct smr_job *job,
                                                   const struct matmul_dynamic_state *s) {
  struct smr_i8_gemm_args args = {.m = s->m, .k = s->k, .a_stride = s->k};
  smr_dynamic_args(job, &s->dynamic, &args);
  args.out = job->outputs[0]->data;
  args.out_stride = s->dynamic.linear.n;
  if (job->scratch == NULL) return args;
  args.a = (const int8_t *)job->scratch + s->q_offset;
  args.row_scale = (const float *)(const void *)((const char *)job->scratch + s->scale_offset);
  return args;
}

static samara_status matmul_dynamic_prepare(struct smr_job *job) {
  struct matmul_dynamic_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  const bool turned = SMR_ATTR(job, matmul_dynamic, transpose_w)->i != 0;
  *s = (struct matmul_dynamic_state){.m = (size_t)smr_product(x->dims, x->rank - 1u),
                                     .k = (size_t)x->dims[x->rank - 1]};
  const size_t n = (size_t)w->dims[turned ? 0 : 1];
  s->dynamic.linear = (struct smr_linear){
      .groups = 1,
      .taps = 1,
      .k = s->k,
      .n = n,
      .k_stride = turned ? 1 : n,
      .n_stride = turned ? s->k : 1,
      .weight_key = SMR_LINEAR_KEY_MATMUL | (uint32_t)turned,
  };
  SMR_TRY(smr_dynamic_prepare(job, SMR_ATTR_GROUP(job, matmul_dynamic, epilogue), &s->dynamic));
  SMR_TRY(smr_scratch_take(job, smr_ceil_div(s->m * s->k, SMR_I8_BLOCKS_ALIGN), SMR_I8_BLOCKS_ALIGN,
                           &s->q_offset));
  SMR_TRY(smr_scratch_take(job, s->m, sizeof(float), &s->scale_offset));
  s->rows = s->k < MATMUL_DYNAMIC_PIECE ? MATMUL_DYNAMIC_PIECE / (s->k != 0 ? s->k : 1) : 1;
  s->pieces = smr_ceil_div(s->m, s->rows);
  s->whole = SMR_ATTR(job, matmul_dynamic, range)->i != 0;
  if (!s->whole && s->pieces == 1) s->pieces = 0;
  if (s->whole)
    SMR_TRY(
        smr_scratch_take(job, s->pieces, sizeof(struct smr_i8_dynamic_range), &s->range_offset));
  const struct smr_i8_gemm_args args = matmul_dynamic_args(job, s);
  smr_i8_gemm_plan_make(smr_i8_gemm_config(job->isa), &args, &s->plan);
  job->kernel = s->plan.kernel;
  job->tiles = 0;
  if (s->plan.units == 0) return SAMARA_OK;
  const bool may_row = !s->whole && !s->dynamic.shifted;
  if (may_row && (s->m == 1 || job->dims_vary)) SMR_NEED(job, i8_blocks_8);
  if (SMR_HAS(i8_blocks_8) && may_row && s->m == 1) {
    s->row = smr_i8_blocks_config(job->isa);
    s->plan.units = smr_ceil_div(smr_panels(n), MATMUL_DYNAMIC_PANELS);
    job->kernel = s->row->names[1];
  }
  if (s->pieces != 0) job->barriers[0] = s->pieces;
  job->tiles = s->pieces + s->plan.units;
  if (s->whole) {
    job->barriers[1] = 2 * s->pieces;
    job->tiles += s->pieces;
  }
  return SAMARA_OK;
}

static void *matmul_dynamic_scratch(const struct smr_job *job, size_t offset) {
  return (char *)job->scratch + offset;
}

// Rows [first, last) of a piece.
static size_t matmul_dynamic_rows(const struct matmul_dynamic_state *s, size_t piece,
                                  size_t *first) {
  *first = piece * s->rows;
  return *first + s->rows < s->m ? *first + s->rows : s->m;
}

static void matmul_dynamic_find(const struct smr_job *job, const struct matmul_dynamic_state *s,
                                size_t piece) {
  struct smr_i8_dynamic_range *ranges = matmul_dynamic_scratch(job, s->range_offset);
  size_t first;
  const size_t last = matmul_dynamic_rows(s, piece, &first);
  const float *x = (const float *)job->inputs[0]->data + first * s->k;
  ranges[piece] = smr_i8_dynamic_kernels(job->isa)->find((last - first) * s->k, x);
}

static void matmul_dynamic_place(const struct smr_job *job, const struct matmul_dynamic_state *s,
                                 size_t piece) {
  const struct smr_i8_dynamic_range *ranges = matmul_dynamic_scratch(job, s->range_offset);
  struct smr_i8_dynamic_range range = ranges[0];
  for (size_t i = 1; i < s->pieces; i++) range = smr_i8_dynamic_join(range, ranges[i]);
  const struct smr_i8_dynamic_places found = smr_i8_dynamic_places(range);
  size_t first;
  const size_t last = matmul_dynamic_rows(s, piece, &first), count = (last - first) * s->k;
  int8_t *q = (int8_t *)matmul_dynamic_scratch(job, s->q_offset) + first * s->k;
  float *scale = matmul_dynamic_scratch(job, s->scale_offset);
  if (found.scale > 0.0f)
    smr_i8_dynamic_kernels(job->isa)->place(
        count, (const float *)job->inputs[0]->data + first * s->k, found.scale, found.zero, q);
  else if (count > 0)
    memset(q, 0, count);
  for (size_t i = first; i < last; i++) scale[i] = found.scale;
  if (piece == 0) smr_dynamic_shift(job, &s->dynamic, found.zero);
}

static void matmul_dynamic_quantize(const struct smr_job *job, const struct matmul_dynamic_state *s,
                                    size_t first, size_t last) {
  const struct smr_i8_dynamic_kernels *kernels = smr_i8_dynamic_kernels(job->isa);
  int8_t *q = (int8_t *)job->scratch + s->q_offset;
  float *scale = (float *)(void *)((char *)job->scratch + s->scale_offset);
  for (size_t i = first; i < last; i++) {
    const float *x = (const float *)job->inputs[0]->data + i * s->k;
    const struct smr_i8_dynamic_scale found = smr_i8_dynamic_scale(kernels->peak(s->k, x));
    smr_i8_dynamic_row(kernels, s->k, x, found.inv, q + i * s->k);
    scale[i] = found.scale;
  }
  if (s->row != NULL) {  // its kernel reads whole groups
    const size_t filled = smr_ceil_div(s->k, SMR_I8_BLOCKS_ALIGN) * SMR_I8_BLOCKS_ALIGN;
    memset(q + s->k, 0, filled - s->k);
  }
}

// One row times panels [first, last).
static void matmul_dynamic_row(const struct smr_job *job, const struct matmul_dynamic_state *s,
                               size_t first, size_t last) {
  const struct smr_i8_gemm_args args = matmul_dynamic_args(job, s);
  const size_t panels = smr_panels(args.n), end = last < panels ? last : panels;
  int32_t less;
  smr_i8_blocks_less(s->k, s->k, args.a, s->row->shift[SMR_NARROW_I8], &less);
  for (size_t p = first; p < end; p++) {
    const size_t column = p * SMR_PANEL, left = args.n - column;
    const struct smr_i8_blocks_call call = {
        .panel = {.w = args.w + p * args.panel_stride_bytes,
                  .rows = s->k,
                  .block = s->k,
                  .scales = args.columns.multiplier + column},
        .type = SMR_NARROW_I8,
        .x = args.a,
        .x_less = &less,
        .shift = s->row->shift[SMR_NARROW_I8],
        .row_scale = args.row_scale,
        .whole = 1,
        .bias = args.columns.bias != NULL ? args.columns.bias + column : NULL,
        .lo = args.f32_lo,
        .hi = args.f32_hi,
        .out = (float *)args.out + column,
        .columns = left < SMR_PANEL ? left : SMR_PANEL,
    };
    s->row->rows[1](&call, 1);
  }
  float *out = (float *)args.out + first * SMR_PANEL;
  const size_t most = (end - first) * SMR_PANEL, left = args.n - first * SMR_PANEL;
  if (args.post) args.post(args.post_context, out, 1, left < most ? left : most, args.out_stride);
}

static samara_status matmul_dynamic_run(const struct smr_job *job, size_t begin, size_t end,
                                        void *thread_scratch) {
  (void)thread_scratch;
  const struct matmul_dynamic_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    if (job->tiles == 0) return SAMARA_OK;
    if (s->row != NULL)
      smr_dynamic_prologue_row(job, &s->dynamic);
    else
      smr_dynamic_prologue(job, &s->dynamic);
    if (s->pieces == 0) matmul_dynamic_quantize(job, s, 0, s->m);
    return SAMARA_OK;
  }
  const size_t found = s->whole ? s->pieces : 0, first = found + s->pieces;
  for (; begin < end && begin < found; begin++) matmul_dynamic_find(job, s, begin);
  for (; begin < end && begin < first; begin++) {
    if (s->whole) {
      matmul_dynamic_place(job, s, begin - found);
      continue;
    }
    size_t row;
    const size_t last = matmul_dynamic_rows(s, begin, &row);
    matmul_dynamic_quantize(job, s, row, last);
  }
  if (begin == end) return SAMARA_OK;
  if (SMR_HAS(i8_blocks_8) && s->row != NULL) {
    matmul_dynamic_row(job, s, (begin - first) * MATMUL_DYNAMIC_PANELS,
                       (end - first) * MATMUL_DYNAMIC_PANELS);
    return SAMARA_OK;
  }
  const struct smr_i8_gemm_args args = matmul_dynamic_args(job, s);
  smr_i8_gemm_run(&s->plan, &args, begin - first, end - first);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_matmul_dynamic_funcs = {
    .check = matmul_dynamic_check,
    .prepare = matmul_dynamic_prepare,
    .pack = smr_dynamic_pack,
    .run = matmul_dynamic_run,
    .state_bytes = sizeof(struct matmul_dynamic_state)};
