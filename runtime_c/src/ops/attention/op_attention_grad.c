// SPDX-License-Identifier: Apache-2.0
// attention_grad: the gradients of q, k and v, one block of query rows at a time.
//
// With the weights P = softmax(scale * q kᵀ + mask), recomputed per block, and the output's
// gradient dy:
//
//   dP = dy vᵀ    dS = P (dP - row sums of P dP)    dq = scale dS k
//   dv = sum over blocks of Pᵀ dy                   dk = sum over blocks of dSᵀ (scale q)
//
// (Dao et al., FlashAttention, 2022, without its blocks over keys.) A tile is a head of k and v,
// with all heads of q that share it, so the order of the sums over its blocks is fixed. The sums
// are kept transposed, dvᵀ = dyᵀ P, so that P and dS are right operands of the products: packing
// those copies whole lines, and only small matrices are transposed.
#include "base/fp.h"

#include "kernels/f32_softmax_grad/f32_softmax_grad.h"
#include "kernels/pack/transpose_f32.h"
#include "ops/attention/attention.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <string.h>

enum { ATTENTION_GRAD_MOST_ROWS = 64, ATTENTION_GRAD_DY = 3, ATTENTION_GRAD_MASK = 4 };

// k or v, and its gradient.
struct attention_grad_side {
  size_t sum_offset;   // the transposed gradient, [width][score_stride]
  size_t left_offset;  // dyᵀ or scale qᵀ of a block, [width][left_stride]
};

struct attention_grad_state {
  struct smr_attention all;
  struct smr_attention_panels keys, values;  // k and vᵀ
  struct smr_attention_panels block;         // P, then dS
  struct attention_grad_side k, v;
  size_t slopes_offset;  // dP, then dS
  size_t left_stride;
  smr_f32_softmax_grad_row softmax_grad;
};

static samara_status attention_grad_take_side(struct smr_job *job, struct attention_grad_state *s,
                                              size_t width, struct attention_grad_side *side) {
  size_t sum, left;
  if (!smr_mul_size(width, s->all.score_stride, &sum) ||
      !smr_mul_size(width, s->left_stride, &left))
    SMR_FAIL(job->error, LIMIT, "%s: too many keys", job->op->name);
  SMR_TRY(smr_thread_scratch_take(job, sum, sizeof(float), &side->sum_offset));
  return smr_thread_scratch_take(job, left, sizeof(float), &side->left_offset);
}

static samara_status attention_grad_prepare(struct smr_job *job) {
  struct attention_grad_state *s = job->state;
  struct smr_attention *all = &s->all;
  *s = (struct attention_grad_state){.softmax_grad = smr_f32_softmax_grad_config(job->isa)->row[0]};
  smr_attention_read(job, all, job->inputs[ATTENTION_GRAD_DY], ATTENTION_GRAD_MASK);
  SMR_TRY(smr_attention_need(job, all));
  SMR_TRY(smr_linear_need_any(job));
  job->kernel = "attention_grad";
  job->tiles = 0;
  // Empty rows may come in any number.
  size_t elements = 0;
  for (uint32_t i = 0; i < job->output_count; i++) elements |= (size_t)smr_numel(job->outputs[i]);
  if (elements == 0) return SAMARA_OK;
  job->tiles = all->products / all->groups;
  all->score_stride = SMR_PANEL;
  if (all->s != 0) {
    SMR_TRY(smr_attention_take_scratch(job, all, ATTENTION_GRAD_MOST_ROWS));
    SMR_TRY(smr_attention_take_panels(job, all->t, all->d, &s->keys));
    SMR_TRY(smr_attention_take_panels(job, all->dv, all->t, &s->values));
    SMR_TRY(smr_attention_take_panels(job, all->block_rows, all->t, &s->block));
    SMR_TRY(smr_thread_scratch_take(job, all->block_rows * all->score_stride, sizeof(float),
                                    &s->slopes_offset));
    s->left_stride = (smr_panels(all->block_rows) | 1) * SMR_PANEL;
    SMR_TRY(attention_grad_take_side(job, s, all->d, &s->k));
    SMR_TRY(attention_grad_take_side(job, s, all->dv, &s->v));
    const struct smr_f32_gemm_args args = {
        .batch = 1, .m = all->block_rows, .n = all->t, .k = all->d, .taps = 1, .a_stride = all->d};
    struct smr_f32_gemm_plan plan;
    smr_f32_gemm_plan_make(all->gemm, &args, &plan);
    job->kernel = plan.kernel;
  }
  return SAMARA_OK;
}

static float *attention_grad_at(char *scratch, size_t offset) {
  return (float *)(void *)(scratch + offset);
}

// side's sum of `keys` += leftᵀ of `rows` rows, times the block [rows][keys] at `right`.
static samara_status attention_grad_add(struct smr_deadline_watch *watch,
                                        const struct attention_grad_state *s,
                                        const struct attention_grad_side *side, size_t width,
                                        const float *left, size_t row_stride, const float *right,
                                        size_t rows, struct smr_attention_span keys,
                                        char *scratch) {
  const struct smr_attention_rows block = {.row_stride = s->all.score_stride};
  const size_t count = keys.end - keys.begin;
  smr_attention_pack(watch->job, right, &block, rows, count, false, &s->block, scratch);
  float *turned = attention_grad_at(scratch, side->left_offset);
  smr_transpose_f32(rows, width, left, row_stride, turned, s->left_stride, watch->job->isa);
  float *sum = attention_grad_at(scratch, side->sum_offset) + keys.begin;
  const struct smr_f32_gemm_args args = {
      .m = width,
      .n = count,
      .k = rows,
      .a = turned,
      .a_stride = s->left_stride,
      .w = scratch + s->block.offset,
      .panel_stride_bytes = s->block.stride_bytes,
      .out = sum,
      .out_stride = s->all.score_stride,
      .residual = sum,
      .residual_stride = s->all.score_stride,
  };
  return smr_attention_multiply(watch, &s->all, args);
}

// Compute dS of a block at slopes_offset. `dy` points to the block's rows.
static samara_status attention_grad_slopes(struct smr_deadline_watch *watch,
                                           const struct attention_grad_state *s, const float *dy,
                                           size_t first, size_t rows,
                                           struct smr_attention_span keys, char *scratch) {
  const struct smr_attention *all = &s->all;
  float *slopes = attention_grad_at(scratch, s->slopes_offset);
  const float *weights = attention_grad_at(scratch, all->scores_offset);
  const struct smr_f32_gemm_args args = {
      .m = rows,
      .n = keys.end - keys.begin,
      .k = all->dv,
      .a = dy,
      .a_stride = all->y.row_stride,
      .w = scratch + s->values.offset + keys.begin / SMR_PANEL * s->values.stride_bytes,
      .panel_stride_bytes = s->values.stride_bytes,
      .out = slopes,
      .out_stride = all->score_stride,
  };
  SMR_TRY(smr_attention_multiply(watch, all, args));
  for (size_t i = 0; i < rows && keys.end > keys.begin; i++) {
    const struct smr_attention_span seen = smr_attention_seen(all, first + i);
    const size_t skipped = seen.begin - keys.begin, count = seen.end - seen.begin;
    float *row = slopes + i * all->score_stride, *at = row + skipped;
    memset(row, 0, skipped * sizeof *row);
    if (count > 0) s->softmax_grad(count, at, weights + i * all->score_stride + skipped, at);
    memset(at + count, 0, (keys.end - seen.end) * sizeof *row);
  }
  return SAMARA_OK;
}

static samara_status attention_grad_block(struct smr_deadline_watch *watch,
                                          const struct attention_grad_state *s, size_t product,
                                          size_t first, size_t rows, char *scratch) {
  const struct smr_attention *all = &s->all;
  const struct smr_job *job = watch->job;
  const struct smr_attention_span keys = smr_attention_keys(all, first, rows, 0);
  const float *dy = smr_attention_head(job->inputs[ATTENTION_GRAD_DY], &all->y, product) +
                    first * all->y.row_stride;
  SMR_TRY(smr_attention_weights(watch, all, product, first, rows, keys, 0, scratch));
  SMR_TRY(attention_grad_add(watch, s, &s->v, all->dv, dy, all->y.row_stride,
                             attention_grad_at(scratch, all->scores_offset), rows, keys, scratch));
  SMR_TRY(attention_grad_slopes(watch, s, dy, first, rows, keys, scratch));
  const float *slopes = attention_grad_at(scratch, s->slopes_offset);
  SMR_TRY(attention_grad_add(watch, s, &s->k, all->d,
                             attention_grad_at(scratch, all->queries_offset), all->d, slopes, rows,
                             keys, scratch));
  float *dq = smr_attention_head(job->outputs[0], &all->q, product) + first * all->q.row_stride;
  const struct smr_f32_gemm_args args = {
      .m = rows,
      .n = all->d,
      .k = keys.end - keys.begin,
      .a = slopes,
      .a_stride = all->score_stride,
      .w = scratch + s->keys.offset + keys.begin * SMR_PANEL * sizeof(float),
      .panel_stride_bytes = s->keys.stride_bytes,
      .out = dq,
      .out_stride = all->q.row_stride,
  };
  SMR_TRY(smr_attention_multiply(watch, all, args));
  for (size_t i = 0; i < rows; i++) {
    float *row = dq + i * all->q.row_stride;
    all->mul(all->d, row, 1, &all->scale, 0, row);
  }
  return SAMARA_OK;
}

static void attention_grad_clear(const struct attention_grad_state *s,
                                 const struct attention_grad_side *side, size_t width,
                                 char *scratch) {
  memset(scratch + side->sum_offset, 0, width * s->all.score_stride * sizeof(float));
}

// Write the sums to the outputs; zeros if there are no queries.
static void attention_grad_finish(const struct smr_job *job, const struct attention_grad_state *s,
                                  const struct attention_grad_side *side, size_t width,
                                  const struct smr_attention_rows *rows, float *head,
                                  char *scratch) {
  if (s->all.s != 0) {
    smr_transpose_f32(width, s->all.t, attention_grad_at(scratch, side->sum_offset),
                      s->all.score_stride, head, rows->row_stride, job->isa);
    return;
  }
  for (size_t i = 0; i < s->all.t; i++)
    memset(head + i * rows->row_stride, 0, width * sizeof *head);
}

static samara_status attention_grad_head(struct smr_deadline_watch *watch,
                                         const struct attention_grad_state *s, size_t head,
                                         char *scratch) {
  const struct smr_attention *all = &s->all;
  const struct smr_job *job = watch->job;
  if (all->s != 0) {
    const float *k = smr_attention_head(job->inputs[1], &all->k, head);
    const float *v = smr_attention_head(job->inputs[2], &all->v, head);
    smr_attention_pack(job, k, &all->k, all->t, all->d, true, &all->keys, scratch);
    smr_attention_pack(job, k, &all->k, all->t, all->d, false, &s->keys, scratch);
    smr_attention_pack(job, v, &all->v, all->t, all->dv, true, &s->values, scratch);
    attention_grad_clear(s, &s->k, all->d, scratch);
    attention_grad_clear(s, &s->v, all->dv, scratch);
  }
  for (size_t i = 0; i < all->groups; i++) {
    for (size_t first = 0; first < all->s; first += all->block_rows) {
      const size_t rows = all->s - first < all->block_rows ? all->s - first : all->block_rows;
      SMR_TRY(attention_grad_block(watch, s, head * all->groups + i, first, rows, scratch));
    }
  }
  attention_grad_finish(job, s, &s->k, all->d, &all->k,
                        smr_attention_head(job->outputs[1], &all->k, head), scratch);
  attention_grad_finish(job, s, &s->v, all->dv, &all->v,
                        smr_attention_head(job->outputs[2], &all->v, head), scratch);
  return SAMARA_OK;
}

static samara_status attention_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                        void *thread_scratch) {
  struct smr_deadline_watch watch = {.job = job};
  for (size_t head = begin; head < end; head++)
    SMR_TRY(attention_grad_head(&watch, job->state, head, thread_scratch));
  return SAMARA_OK;
}

SMR_WIDENED_OP(attention_grad, smr_attention_check, attention_grad_prepare, attention_grad_run,
               sizeof(struct attention_grad_state))
