// SPDX-License-Identifier: Apache-2.0
// attention: softmax(scale * q kᵀ + mask) v, one block of query rows at a time.
//
// A tile is a block of rows of one head. A call of run packs keys and values once for consecutive
// tiles that share them: those of a head, or of the heads of a group. Threads share nothing.
#include "base/fp.h"

#include "ops/attention/attention.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

enum {
  ATTENTION_MOST_ROWS = 48,
  ATTENTION_MASK = 3
};  // rows: a multiple of register tiles of 6,
    // 8, 12 and 16

struct attention_state {
  struct smr_attention all;
  struct smr_attention_panels values;
};

static samara_status attention_prepare(struct smr_job *job) {
  struct attention_state *state = job->state;
  struct smr_attention *all = &state->all;
  smr_attention_read(job, all, job->outputs[0], ATTENTION_MASK);
  SMR_TRY(smr_attention_need(job, all));
  if (job->dims_vary || all->causal) SMR_TRY(smr_linear_need_any(job));
  job->kernel = "attention";
  job->tiles = 0;
  if (smr_numel(job->outputs[0]) == 0) return SAMARA_OK;
  SMR_TRY(smr_attention_take_scratch(job, all, ATTENTION_MOST_ROWS));
  SMR_TRY(smr_attention_take_panels(job, all->t, all->dv, &state->values));
  const struct smr_f32_gemm_args args = {
      .batch = 1, .m = all->block_rows, .n = all->t, .k = all->d, .taps = 1, .a_stride = all->d};
  for (size_t i = 0; i < 4; i++) {  // a full and the last block; scores and values
    struct smr_f32_gemm_args part = args;
    if (i & 1u) part.m = all->s - (all->blocks - 1) * all->block_rows;
    if (i & 2u) part.n = all->dv;
    SMR_TRY(smr_linear_need(job, &part, false));
  }
  struct smr_f32_gemm_plan plan;
  smr_f32_gemm_plan_make(all->gemm, &args, &plan);
  job->kernel = plan.kernel;
  job->tiles = all->products * all->blocks;
  return SAMARA_OK;
}

static samara_status attention_block(struct smr_deadline_watch *watch,
                                     const struct attention_state *state, size_t product,
                                     size_t first, size_t rows, size_t origin, char *scratch) {
  const struct smr_attention *s = &state->all;
  const struct smr_attention_span keys = smr_attention_keys(s, first, rows, origin);
  SMR_TRY(smr_attention_weights(watch, s, product, first, rows, keys, origin, scratch));
  float *y = smr_attention_head(watch->job->outputs[0], &s->y, product);
  const struct smr_f32_gemm_args args = {
      .m = rows,
      .n = s->dv,
      .k = keys.end - keys.begin,
      .a = (float *)(void *)(scratch + s->scores_offset),
      .a_stride = s->score_stride,
      .w = scratch + state->values.offset + (keys.begin - origin) * SMR_PANEL * sizeof(float),
      .panel_stride_bytes = state->values.stride_bytes,
      .out = y + first * s->y.row_stride,
      .out_stride = s->y.row_stride,
  };
  return smr_attention_multiply(watch, s, args);
}

// What a call of run has packed: some keys of a head of k and v.
struct attention_packed {
  size_t head;
  struct smr_attention_span keys;
};

// Pack the keys and values that rows [first, end) see, unless they are there.
static void attention_pack(const struct smr_job *job, size_t head, size_t first, size_t end,
                           struct attention_packed *packed, char *scratch) {
  const struct attention_state *state = job->state;
  const struct smr_attention *s = &state->all;
  const struct smr_attention_span keys = {smr_attention_seen(s, first).begin,
                                          smr_attention_seen(s, end - 1).end};
  if (packed->head == head && packed->keys.begin == keys.begin && packed->keys.end >= keys.end)
    return;
  const float *k = smr_attention_head(job->inputs[1], &s->k, head);
  const float *v = smr_attention_head(job->inputs[2], &s->v, head);
  const size_t count = keys.end - keys.begin;
  smr_attention_pack(job, k + keys.begin * s->k.row_stride, &s->k, count, s->d, true, &s->keys,
                     scratch);
  smr_attention_pack(job, v + keys.begin * s->v.row_stride, &s->v, count, s->dv, false,
                     &state->values, scratch);
  *packed = (struct attention_packed){head, keys};
}

static samara_status attention_run(const struct smr_job *job, size_t begin, size_t end,
                                   void *thread_scratch) {
  const struct attention_state *state = job->state;
  const struct smr_attention *s = &state->all;
  struct smr_deadline_watch watch = {.job = job};
  struct attention_packed packed = {.head = SIZE_MAX};
  while (begin < end) {
    const size_t product = begin / s->blocks, block = begin % s->blocks;
    const size_t count = end - begin < s->blocks - block ? end - begin : s->blocks - block;
    const size_t row_end = block + count < s->blocks ? (block + count) * s->block_rows : s->s;
    attention_pack(job, product / s->groups, block * s->block_rows, row_end, &packed,
                   thread_scratch);
    for (size_t first = block * s->block_rows; first < row_end; first += s->block_rows) {
      const size_t rows = row_end - first < s->block_rows ? row_end - first : s->block_rows;
      SMR_TRY(
          attention_block(&watch, state, product, first, rows, packed.keys.begin, thread_scratch));
    }
    begin += count;
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(attention, smr_attention_check, attention_prepare, attention_run,
               sizeof(struct attention_state))
