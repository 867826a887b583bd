// SPDX-License-Identifier: Apache-2.0
// attention: softmax(scale * q kᵀ + mask) v, one block of query rows at a time.
//
// A tile is a block of rows of one head. Its scores live in thread scratch, so the matrix of all
// scores never exists. The keys and values of a head are packed for the products once per call of
// run and head: neighbouring tiles of a head share them, and threads share nothing.
#include "base/fp.h"

#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/f32_softmax/f32_softmax.h"
#include "kernels/f32_vbinary/f32_vbinary.h"
#include "kernels/pack/pack_f32.h"
#include "ops/check.h"
#include "ops/funcs.h"
#include "ops/linear.h"
#include "ops/opattrs.h"
#include "ops/widen.h"

#include <math.h>
#include <string.h>

enum {
  ATTENTION_MOST_ROWS = 48,           // of a block: whole tiles of 6, 8, 12 and 16 rows
  ATTENTION_LEAST_ROWS = 16,          // below, packing costs as much as the products
  ATTENTION_SCORE_BYTES = 96 * 1024,  // of a block, where that leaves enough rows: a share of L2
};

// Where the rows of one operand lie, in elements.
struct attention_rows {
  size_t batch_stride, head_stride, row_stride;
};

// An operand packed into panels, in thread scratch.
struct attention_panels {
  size_t offset, stride_bytes;
};

struct attention_state {
  size_t heads, products;  // heads of one batch entry; all of them
  size_t s, t, d, dv;
  size_t block_rows, blocks;  // blocks of one head
  struct attention_rows q, k, v, y;
  uint32_t leading;
  size_t lead[SAMARA_MAX_RANK];       // batch and heads
  size_t mask_lead[SAMARA_MAX_RANK];  // strides of the mask along them, 0 where it has 1
  size_t mask_row, mask_column;       // the same along S and T
  struct attention_panels keys, values;
  size_t queries_offset, scores_offset, score_stride;
  float scale;
  bool causal;
  const struct smr_f32_gemm_config *gemm;
  smr_f32_softmax_row softmax;
  smr_f32_vbinary_ukernel add, mul;
};

static samara_status attention_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "q", SMR_DTYPES_FLOAT));
  for (uint32_t i = 1; i < job->input_count; i++)
    if (job->inputs[i] != NULL)
      SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[i], "inputs"));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "q and output");
}

static struct attention_rows attention_rows_of(const struct smr_tensor *x, bool rows_first) {
  const size_t n = (size_t)x->dims[x->rank - 1];
  const size_t heads = x->rank > 2 ? (size_t)x->dims[x->rank - (rows_first ? 2 : 3)] : 1;
  const size_t rows = (size_t)x->dims[x->rank - (rows_first ? 3 : 2)];
  return (struct attention_rows){.batch_stride = heads * rows * n,
                                 .head_stride = rows_first ? n : rows * n,
                                 .row_stride = rows_first ? heads * n : n};
}

// Strides of the mask along the axes of the scores, [leading..., S, T].
static void attention_mask(const struct smr_tensor *mask, struct attention_state *s) {
  size_t stride = 1;
  for (uint32_t i = 1; i <= mask->rank; i++) {
    const size_t n = (size_t)mask->dims[mask->rank - i], step = n != 1 ? stride : 0;
    if (i == 1)
      s->mask_column = step;
    else if (i == 2)
      s->mask_row = step;
    else
      s->mask_lead[s->leading + 2 - i] = step;
    stride *= n;
  }
}

static samara_status attention_take_panels(struct smr_job *job, size_t rows, size_t columns,
                                           struct attention_panels *panels) {
  if (rows > PTRDIFF_MAX / (SMR_PANEL * sizeof(float)) - 1)
    SMR_FAIL(job->error, LIMIT, "%s: keys and values are too large to pack", job->op->name);
  panels->stride_bytes = smr_panel_stride_bytes(rows, sizeof(float));
  return smr_thread_scratch_take(job, smr_panels(columns), panels->stride_bytes, &panels->offset);
}

static samara_status attention_take_scratch(struct smr_job *job, struct attention_state *s) {
  size_t rows = ATTENTION_SCORE_BYTES / sizeof(float) / (s->t ? s->t : 1) / 8 * 8;
  if (rows > ATTENTION_MOST_ROWS) rows = ATTENTION_MOST_ROWS;
  if (rows < ATTENTION_LEAST_ROWS) rows = ATTENTION_LEAST_ROWS;
  if (rows > s->s) rows = s->s;
  s->block_rows = rows;
  s->blocks = (s->s - 1) / rows + 1;
  // An odd number of lines between rows: rows a power of two apart compete for few sets of the
  // caches (softmax of 128 keys takes 1.7 times as long). t is far below SIZE_MAX: v was checked.
  s->score_stride = (smr_panels(s->t) | 1) * SMR_PANEL;
  SMR_TRY(attention_take_panels(job, s->d, s->t, &s->keys));
  SMR_TRY(attention_take_panels(job, s->t, s->dv, &s->values));
  size_t scores;
  if (!smr_mul_size(rows, s->score_stride, &scores))
    SMR_FAIL(job->error, LIMIT, "%s: too many keys", job->op->name);
  SMR_TRY(smr_thread_scratch_take(job, rows * s->d, sizeof(float), &s->queries_offset));
  return smr_thread_scratch_take(job, scores, sizeof(float), &s->scores_offset);
}

static samara_status attention_prepare(struct smr_job *job) {
  const struct smr_tensor *q = job->inputs[0], *k = job->inputs[1], *v = job->inputs[2];
  const struct smr_tensor *mask = smr_optional_input(job, 3), *y = job->outputs[0];
  const bool rows_first = smr_op_attr_int(job, "layout") == SMR_ATTENTION_LAYOUT_BSHD;
  const uint32_t rank = q->rank, rows = rank - (rows_first ? 3u : 2u);
  struct attention_state *s = job->state;
  *s = (struct attention_state){
      .products = 1,
      .s = (size_t)q->dims[rows],
      .t = (size_t)k->dims[rows],
      .d = (size_t)q->dims[rank - 1],
      .dv = (size_t)v->dims[rank - 1],
      .q = attention_rows_of(q, rows_first),
      .k = attention_rows_of(k, rows_first),
      .v = attention_rows_of(v, rows_first),
      .y = attention_rows_of(y, rows_first),
      .scale = smr_op_attr(job, "scale")->f,
      .causal = smr_op_attr_int(job, "causal") != 0,
      .gemm = smr_f32_gemm_config(job->isa),
      .softmax = smr_f32_softmax_config(job->isa)->row[0],
      .add = smr_f32_vbinary_kernel(job->isa, SMR_F32_VBINARY_ADD),
      .mul = smr_f32_vbinary_kernel(job->isa, SMR_F32_VBINARY_MUL),
  };
  job->kernel = "attention";
  job->tiles = 0;
  if (smr_numel(y) == 0) return SAMARA_OK;
  for (uint32_t i = 0; i + 1 < rank; i++)
    if (i != rows) s->lead[s->leading++] = (size_t)q->dims[i];
  for (uint32_t i = 0; i < s->leading; i++) s->products *= s->lead[i];
  s->heads = s->leading ? s->lead[s->leading - 1] : 1;
  if (mask != NULL) attention_mask(mask, s);
  SMR_TRY(attention_take_scratch(job, s));
  const struct smr_f32_gemm_args args = {
      .batch = 1, .m = s->block_rows, .n = s->t, .k = s->d, .taps = 1, .a_stride = s->d};
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(s->gemm, &args, &plan);
  job->kernel = plan.kernel;
  job->tiles = s->products * s->blocks;
  return SAMARA_OK;
}

// Head number `product` of an operand.
static float *attention_head(const struct attention_state *s, const struct smr_tensor *x,
                             const struct attention_rows *rows, size_t product) {
  return (float *)x->data + product / s->heads * rows->batch_stride +
         product % s->heads * rows->head_stride;
}

// The first `keys` keys and values of a head, as panels.
static void attention_pack(const struct smr_job *job, const struct attention_state *s,
                           size_t product, size_t keys, char *scratch) {
  const struct smr_pack_f32_args packed_keys = {
      .k = s->d,
      .n = keys,
      .src = attention_head(s, job->inputs[1], &s->k, product),
      .type = SMR_GEMM_F32,
      .k_stride = 1,
      .n_stride = s->k.row_stride,
      .dst = scratch + s->keys.offset,
      .panel_stride_bytes = s->keys.stride_bytes,
  };
  smr_pack_f32(&packed_keys, job->isa, 0, smr_panels(keys));
  const struct smr_pack_f32_args packed_values = {
      .k = keys,
      .n = s->dv,
      .src = attention_head(s, job->inputs[2], &s->v, product),
      .type = SMR_GEMM_F32,
      .k_stride = s->v.row_stride,
      .n_stride = 1,
      .dst = scratch + s->values.offset,
      .panel_stride_bytes = s->values.stride_bytes,
  };
  smr_pack_f32(&packed_values, job->isa, 0, smr_panels(s->dv));
}

// Row `row` of the mask of a head.
static const float *attention_mask_row(const struct attention_state *s,
                                       const struct smr_tensor *mask, size_t product, size_t row) {
  size_t at = row * s->mask_row;
  for (uint32_t i = s->leading; i-- > 0; product /= s->lead[i])
    at += product % s->lead[i] * s->mask_lead[i];
  return (const float *)mask->data + at;
}

static void attention_multiply(const struct attention_state *s,
                               const struct smr_f32_gemm_args *args) {
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(s->gemm, args, &plan);
  smr_f32_gemm_run(&plan, args, 0, plan.units);
}

// scale * q kᵀ + mask, `rows` rows from `first` on, `keys` columns.
static void attention_scores(const struct smr_job *job, const struct attention_state *s,
                             size_t product, size_t first, size_t rows, size_t keys,
                             char *scratch) {
  float *queries = (float *)(void *)(scratch + s->queries_offset);
  float *scores = (float *)(void *)(scratch + s->scores_offset);
  const float *q = attention_head(s, job->inputs[0], &s->q, product) + first * s->q.row_stride;
  for (size_t i = 0; i < rows; i++)
    s->mul(s->d, q + i * s->q.row_stride, 1, &s->scale, 0, queries + i * s->d);
  const struct smr_tensor *mask = smr_optional_input(job, 3);
  const float *added = mask != NULL ? attention_mask_row(s, mask, product, first) : NULL;
  const struct smr_f32_gemm_args args = {
      .batch = 1,
      .m = rows,
      .n = keys,
      .k = s->d,
      .taps = 1,
      .a = queries,
      .a_stride = s->d,
      .w = scratch + s->keys.offset,
      .panel_stride_bytes = s->keys.stride_bytes,
      .out = scores,
      .out_stride = s->score_stride,
      .residual = s->mask_column ? added : NULL,
      .residual_stride = s->mask_row,
      .lo = -INFINITY,
      .hi = INFINITY,
  };
  attention_multiply(s, &args);
  if (added == NULL || s->mask_column) return;
  for (size_t i = 0; i < rows; i++) {  // one number per row
    float *row = scores + i * s->score_stride;
    s->add(keys, row, 1, added + i * s->mask_row, 0, row);
  }
}

static void attention_block(const struct smr_job *job, const struct attention_state *s,
                            size_t product, size_t first, size_t rows, char *scratch) {
  const size_t keys = s->causal && first + rows < s->t ? first + rows : s->t;
  float *scores = (float *)(void *)(scratch + s->scores_offset);
  attention_scores(job, s, product, first, rows, keys, scratch);
  for (size_t i = 0; i < rows && keys > 0; i++) {
    const size_t seen = s->causal && first + i + 1 < keys ? first + i + 1 : keys;
    float *row = scores + i * s->score_stride;
    s->softmax(seen, row, row);
    memset(row + seen, 0, (keys - seen) * sizeof *row);
  }
  const struct smr_f32_gemm_args args = {
      .batch = 1,
      .m = rows,
      .n = s->dv,
      .k = keys,
      .taps = 1,
      .a = scores,
      .a_stride = s->score_stride,
      .w = scratch + s->values.offset,
      .panel_stride_bytes = s->values.stride_bytes,
      .out = attention_head(s, job->outputs[0], &s->y, product) + first * s->y.row_stride,
      .out_stride = s->y.row_stride,
      .lo = -INFINITY,
      .hi = INFINITY,
  };
  attention_multiply(s, &args);
}

static samara_status attention_run(const struct smr_job *job, size_t begin, size_t end,
                                   void *thread_scratch) {
  const struct attention_state *s = job->state;
  while (begin < end) {
    const size_t product = begin / s->blocks, block = begin % s->blocks;
    const size_t count = end - begin < s->blocks - block ? end - begin : s->blocks - block;
    const size_t row_end = block + count < s->blocks ? (block + count) * s->block_rows : s->s;
    attention_pack(job, s, product, s->causal && row_end < s->t ? row_end : s->t, thread_scratch);
    for (size_t first = block * s->block_rows; first < row_end; first += s->block_rows) {
      const size_t rows = row_end - first < s->block_rows ? row_end - first : s->block_rows;
      attention_block(job, s, product, first, rows, thread_scratch);
    }
    begin += count;
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(attention, attention_check, attention_prepare, attention_run,
               sizeof(struct attention_state))
