// SPDX-License-Identifier: Apache-2.0
// What attention and its gradient share.
#include "base/fp.h"

#include "ops/attention/attention.h"

#include "kernels/pack/pack_f32.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/table/opattrs.h"

#include <math.h>
#include <string.h>

enum {
  ATTENTION_LEAST_ROWS = 16,          // fewest rows for which packing pays off
  ATTENTION_SCORE_BYTES = 96 * 1024,  // target size of a block if it leaves enough rows: a share of
                                      // L2
};

samara_status smr_attention_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "q", SMR_DTYPES_FLOAT));
  for (uint32_t i = 1; i < job->input_count; i++)
    if (job->inputs[i] != NULL)
      SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[i], "inputs"));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->outputs[i], "q and an output"));
  return SAMARA_OK;
}

static struct smr_attention_rows attention_rows_of(const struct smr_tensor *x, bool rows_first) {
  const size_t n = (size_t)x->dims[x->rank - 1];
  const size_t heads = x->rank > 2 ? (size_t)x->dims[x->rank - (rows_first ? 2 : 3)] : 1;
  const size_t rows = (size_t)x->dims[x->rank - (rows_first ? 3 : 2)];
  return (struct smr_attention_rows){.heads = heads,
                                     .batch_stride = heads * rows * n,
                                     .head_stride = rows_first ? n : rows * n,
                                     .row_stride = rows_first ? heads * n : n};
}

// Strides of the mask along the axes of the scores, [leading..., S, T].
static void attention_mask(const struct smr_tensor *mask, struct smr_attention *s) {
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

void smr_attention_read(const struct smr_job *job, struct smr_attention *all,
                        const struct smr_tensor *y, uint32_t mask_input) {
  const struct smr_tensor *q = job->inputs[0], *k = job->inputs[1], *v = job->inputs[2];
  const struct smr_tensor *mask = smr_optional_input(job, mask_input);
  const bool rows_first = SMR_ATTR(job, attention, layout)->i == SMR_ATTENTION_LAYOUT_BSHD;
  const uint32_t rank = q->rank, rows = rank - (rows_first ? 3u : 2u);
  *all = (struct smr_attention){
      .products = 1,
      .s = (size_t)q->dims[rows],
      .t = (size_t)k->dims[rows],
      .d = (size_t)q->dims[rank - 1],
      .dv = (size_t)v->dims[rank - 1],
      .q = attention_rows_of(q, rows_first),
      .k = attention_rows_of(k, rows_first),
      .v = attention_rows_of(v, rows_first),
      .y = attention_rows_of(y, rows_first),
      .mask_input = mask_input,
      .scale = SMR_ATTR(job, attention, scale)->f,
      .causal = SMR_ATTR(job, attention, causal)->i != 0,
      .groups = (size_t)SMR_ATTR(job, attention, groups)->i,
      .window = (size_t)SMR_ATTR(job, attention, window)->i,
      .gemm = smr_linear_config(job),
      .softmax = smr_f32_softmax_config(job->isa)->row[0],
      .add = smr_f32_vbinary_kernel(job->isa, SMR_F32_VBINARY_ADD),
      .mul = smr_f32_vbinary_kernel(job->isa, SMR_F32_VBINARY_MUL),
  };
  for (uint32_t i = 0; i + 1 < rank; i++)
    if (i != rows) all->lead[all->leading++] = (size_t)q->dims[i];
  for (uint32_t i = 0; i < all->leading; i++) all->products *= all->lead[i];
  if (SMR_ATTR(job, attention, align)->i == SMR_ATTENTION_ALIGN_END) {
    all->ahead = all->t > all->s ? all->t - all->s : 0;
    all->behind = all->s > all->t ? all->s - all->t : 0;
  }
  if (all->window == 0) all->window = SIZE_MAX;
  if (mask != NULL) attention_mask(mask, all);
}

samara_status smr_attention_need(struct smr_job *job, const struct smr_attention *s) {
  SMR_NEED(job, f32_softmax_row);
  SMR_NEED(job, f32_vbinary_mul);
  SMR_NEED(job, f32_vbinary_broadcast);
  if (smr_optional_input(job, s->mask_input) != NULL && (job->dims_vary || !s->mask_column))
    SMR_NEED(job, f32_vbinary_add);
  return SAMARA_OK;
}

samara_status smr_attention_take_panels(struct smr_job *job, size_t rows, size_t columns,
                                        struct smr_attention_panels *panels) {
  if (rows > PTRDIFF_MAX / (SMR_PANEL * sizeof(float)) - 1)
    SMR_FAIL(job->error, LIMIT, "%s: operands are too large to pack", job->op->name);
  panels->stride_bytes = smr_panel_stride_bytes(rows, sizeof(float));
  return smr_thread_scratch_take(job, smr_panels(columns), panels->stride_bytes, &panels->offset);
}

samara_status smr_attention_take_scratch(struct smr_job *job, struct smr_attention *s,
                                         size_t most_rows) {
  size_t rows = ATTENTION_SCORE_BYTES / sizeof(float) / (s->t ? s->t : 1) / 8 * 8;
  if (rows > most_rows) rows = most_rows;
  if (rows < ATTENTION_LEAST_ROWS) rows = ATTENTION_LEAST_ROWS;
  if (rows > s->s) rows = s->s;
  s->block_rows = rows;
  s->blocks = (s->s - 1) / rows + 1;
  // An odd number of cache lines between rows: rows a power of two apart compete for few cache sets
  // (softmax of 128 keys then takes 1.7 times as long).
  s->score_stride = (smr_panels(s->t) | 1) * SMR_PANEL;
  SMR_TRY(smr_attention_take_panels(job, s->d, s->t, &s->keys));
  size_t scores;
  if (!smr_mul_size(rows, s->score_stride, &scores))
    SMR_FAIL(job->error, LIMIT, "%s: too many keys", job->op->name);
  SMR_TRY(smr_thread_scratch_take(job, rows * s->d, sizeof(float), &s->queries_offset));
  return smr_thread_scratch_take(job, scores, sizeof(float), &s->scores_offset);
}

float *smr_attention_head(const struct smr_tensor *x, const struct smr_attention_rows *rows,
                          size_t head) {
  return (float *)x->data + head / rows->heads * rows->batch_stride +
         head % rows->heads * rows->head_stride;
}

void smr_attention_pack(const struct smr_job *job, const float *head,
                        const struct smr_attention_rows *rows, size_t n, size_t width,
                        bool transposed, const struct smr_attention_panels *panels, char *scratch) {
  const struct smr_pack_f32_args args = {
      .k = transposed ? width : n,
      .n = transposed ? n : width,
      .src = head,
      .type = SMR_GEMM_F32,
      .k_stride = transposed ? 1 : rows->row_stride,
      .n_stride = transposed ? rows->row_stride : 1,
      .dst = scratch + panels->offset,
      .panel_stride_bytes = panels->stride_bytes,
  };
  smr_pack_f32(&args, job->isa, 0, smr_panels(args.n));
}

struct smr_attention_span smr_attention_seen(const struct smr_attention *all, size_t row) {
  if (!all->causal) return (struct smr_attention_span){.end = all->t};
  size_t end = row + 1 + all->ahead;
  end = end > all->behind ? end - all->behind : 0;
  const size_t begin = end > all->window ? end - all->window : 0;
  return (struct smr_attention_span){.begin = begin < all->t ? begin : all->t,
                                     .end = end < all->t ? end : all->t};
}

struct smr_attention_span smr_attention_keys(const struct smr_attention *all, size_t first,
                                             size_t rows, size_t origin) {
  struct smr_attention_span keys = {smr_attention_seen(all, first).begin,
                                    smr_attention_seen(all, first + rows - 1).end};
  keys.begin -= (keys.begin - origin) % SMR_PANEL;
  return keys;
}

// Row `row` of the mask of a head.
static const float *attention_mask_row(const struct smr_attention *s, const struct smr_tensor *mask,
                                       size_t product, size_t row) {
  size_t at = row * s->mask_row;
  for (uint32_t i = s->leading; i-- > 0; product /= s->lead[i])
    at += product % s->lead[i] * s->mask_lead[i];
  return (const float *)mask->data + at;
}

samara_status smr_attention_multiply(struct smr_deadline_watch *watch,
                                     const struct smr_attention *all,
                                     struct smr_f32_gemm_args args) {
  args.batch = args.taps = 1;
  args.lo = -INFINITY;
  args.hi = INFINITY;
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(all->gemm, &args, &plan);
  return smr_linear_multiply(watch, &plan, &args, 0, plan.units);
}

// scale * q kᵀ + mask, for `rows` rows from `first` on and the columns of `keys`.
static samara_status attention_scores(struct smr_deadline_watch *watch,
                                      const struct smr_attention *s, size_t product, size_t first,
                                      size_t rows, struct smr_attention_span keys, size_t origin,
                                      char *scratch) {
  const struct smr_job *job = watch->job;
  float *queries = (float *)(void *)(scratch + s->queries_offset);
  float *scores = (float *)(void *)(scratch + s->scores_offset);
  const float *q = smr_attention_head(job->inputs[0], &s->q, product) + first * s->q.row_stride;
  for (size_t i = 0; i < rows; i++)
    s->mul(s->d, q + i * s->q.row_stride, 1, &s->scale, 0, queries + i * s->d);
  const struct smr_tensor *mask = smr_optional_input(job, s->mask_input);
  const float *added = NULL;
  if (mask != NULL)
    added = attention_mask_row(s, mask, product, first) + keys.begin * s->mask_column;
  const struct smr_f32_gemm_args args = {
      .m = rows,
      .n = keys.end - keys.begin,
      .k = s->d,
      .a = queries,
      .a_stride = s->d,
      .w = scratch + s->keys.offset + (keys.begin - origin) / SMR_PANEL * s->keys.stride_bytes,
      .panel_stride_bytes = s->keys.stride_bytes,
      .out = scores,
      .out_stride = s->score_stride,
      .residual = s->mask_column ? added : NULL,
      .residual_stride = s->mask_row,
  };
  SMR_TRY(smr_attention_multiply(watch, s, args));
  if (added == NULL || s->mask_column) return SAMARA_OK;
  for (size_t i = 0; i < rows; i++) {  // one value per row
    float *row = scores + i * s->score_stride;
    s->add(keys.end - keys.begin, row, 1, added + i * s->mask_row, 0, row);
  }
  return SAMARA_OK;
}

samara_status smr_attention_weights(struct smr_deadline_watch *watch,
                                    const struct smr_attention *all, size_t product, size_t first,
                                    size_t rows, struct smr_attention_span keys, size_t origin,
                                    char *scratch) {
  float *scores = (float *)(void *)(scratch + all->scores_offset);
  SMR_TRY(attention_scores(watch, all, product, first, rows, keys, origin, scratch));
  for (size_t i = 0; i < rows && keys.end > keys.begin; i++) {
    const struct smr_attention_span seen = smr_attention_seen(all, first + i);
    float *row = scores + i * all->score_stride, *at = row + (seen.begin - keys.begin);
    const size_t count = seen.end - seen.begin;
    memset(row, 0, (seen.begin - keys.begin) * sizeof *row);
    if (count > 0) all->softmax(count, at, at);
    memset(at + count, 0, (keys.end - seen.end) * sizeof *row);
  }
  return SAMARA_OK;
}
