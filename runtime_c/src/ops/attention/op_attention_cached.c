// SPDX-License-Identifier: Apache-2.0
// attention_cached: attention of the newest rows over a cache of keys and values.
//
// A tile is one row of one head of k, for all heads of q that share it, so that each row of keys is
// read once. The arithmetic is fixed to the bit (docs/reference/numerics.md) and does not depend on
// how many rows a run has.
#include "base/fp.h"

#include "kernels/f32_exact/f32_exact.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/table/attrs.h"
#include "ops/table/opattrs.h"

#include <inttypes.h>
#include <string.h>

enum { CACHED_BLOCK_ROWS = 64 };

struct cached_state {
  const struct smr_f32_exact *exact;
  size_t rows, room, heads, shared, group;  // group: heads of q to one of k
  size_t d, e;
  size_t window;      // most positions of a row
  size_t score_room;  // scores of a head in scratch
  size_t scores_offset;
};

static samara_status cached_check(const struct smr_job *job) {
  const int64_t heads = job->inputs[0]->dims[2], shared = job->inputs[1]->dims[2];
  const int64_t window = SMR_ATTR(job, attention_cached, window)->i;
  for (uint32_t i = 0; i < 3; i++)
    SMR_TRY(smr_expect_dtype(job, job->inputs[i], "an operand", SMR_DTYPE_F32));
  SMR_TRY(smr_expect_dtype(job, job->inputs[3], "length", SMR_DTYPE_I64));
  SMR_TRY(smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_F32));
  if (shared < 1 || heads % shared != 0)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: %" PRId64 " heads of q do not share %" PRId64 " of k evenly", job->op->name,
             heads, shared);
  if (window < 0)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: window %" PRId64 " is negative", job->op->name, window);
  return SAMARA_OK;
}

static samara_status cached_prepare(struct smr_job *job) {
  struct cached_state *s = job->state;
  const struct smr_tensor *q = job->inputs[0], *k = job->inputs[1], *v = job->inputs[2];
  const size_t window = (size_t)SMR_ATTR(job, attention_cached, window)->i;
  SMR_NEED(job, f32_exact_dot);
  SMR_NEED(job, f32_exact_add);
  SMR_NEED(job, f32_exact_softmax);
  *s = (struct cached_state){.exact = smr_f32_exact_config(job->isa),
                             .rows = (size_t)q->dims[1],
                             .room = (size_t)k->dims[1],
                             .heads = (size_t)q->dims[2],
                             .shared = (size_t)k->dims[2],
                             .group = (size_t)(q->dims[2] / k->dims[2]),
                             .d = (size_t)q->dims[3],
                             .e = (size_t)v->dims[3],
                             .window = window != 0 ? window : SIZE_MAX};
  s->score_room = s->window < s->room ? s->window : s->room;
  job->kernel = "attention_cached";
  job->tiles = 0;
  if (smr_numel(job->outputs[0]) == 0) return SAMARA_OK;
  size_t scores;
  if (!smr_mul_size(s->group, s->score_room, &scores))
    SMR_FAIL(job->error, LIMIT, "%s: too many keys", job->op->name);
  SMR_TRY(smr_thread_scratch_take(job, scores, sizeof(float), &s->scores_offset));
  job->tiles = (size_t)q->dims[0] * s->rows * s->shared;
  return SAMARA_OK;
}

// Rows of one head of k or v: position p is at base + row * stride.
struct cached_rows {
  const float *base;
  size_t stride;
};

static struct cached_rows cached_head(const struct cached_state *s, const struct smr_tensor *t,
                                      size_t batch, size_t head, size_t width) {
  const float *base = t->data;
  return (struct cached_rows){base + (batch * s->room * s->shared + head) * width,
                              s->shared * width};
}

// Which positions a run has, and whether the cache holds what they see.
static samara_status cached_length(const struct smr_job *job, size_t *length) {
  const struct cached_state *s = job->state;
  const int64_t given = *(const int64_t *)job->inputs[3]->data;
  const bool ring = SMR_ATTR(job, attention_cached, ring)->i != 0;
  bool fits = given >= (int64_t)s->rows && (ring || given <= (int64_t)s->room);
  if (fits && given > (int64_t)s->room) {
    // The oldest row must find the start of its window.
    const size_t seen = s->rows - 1 < SIZE_MAX - s->window ? s->rows - 1 + s->window : SIZE_MAX;
    fits = seen <= s->room;
  }
  if (!fits)
    SMR_FAIL(job->error, BAD_DATA,
             "the last %zu of %" PRId64 " positions cannot see theirs in %zu rows", s->rows, given,
             s->room);
  *length = (size_t)given;
  return SAMARA_OK;
}

// The next part of positions [at, end): rows that follow each other in the cache, few enough to
// stay in it for all heads of a group.
static size_t cached_part(const struct cached_state *s, size_t at, size_t end) {
  const size_t room = s->room - at % s->room, left = end - at;
  const size_t most = room < CACHED_BLOCK_ROWS ? room : CACHED_BLOCK_ROWS;
  return left < most ? left : most;
}

static void cached_tile(const struct smr_job *job, size_t tile, size_t length, float *scores) {
  const struct cached_state *s = job->state;
  const struct smr_f32_exact *exact = s->exact;
  const float scale = SMR_ATTR(job, attention_cached, scale)->f;
  const size_t head = tile % s->shared, row = tile / s->shared % s->rows;
  const size_t batch = tile / s->shared / s->rows;
  const size_t end = length - s->rows + row + 1, begin = end > s->window ? end - s->window : 0;
  const size_t first = (batch * s->rows + row) * s->heads + head * s->group;
  const float *q = (const float *)job->inputs[0]->data + first * s->d;
  float *y = (float *)job->outputs[0]->data + first * s->e;
  const struct cached_rows k = cached_head(s, job->inputs[1], batch, head, s->d);
  const struct cached_rows v = cached_head(s, job->inputs[2], batch, head, s->e);
  for (size_t at = begin, n; at < end; at += n) {
    n = cached_part(s, at, end);
    for (size_t j = 0; j < s->group; j++)
      exact->dots(n, s->d, q + j * s->d, k.base + at % s->room * k.stride, k.stride,
                  scores + j * s->score_room + (at - begin));
  }
  for (size_t j = 0; j < s->group; j++) {
    float *weights = scores + j * s->score_room;
    exact->scale(end - begin, scale, weights, weights);
    const float sum =
        exact->exp_sum(end - begin, weights, exact->max(end - begin, weights), weights);
    exact->scale(end - begin, 1.0f / sum, weights, weights);
  }
  memset(y, 0, s->group * s->e * sizeof *y);
  for (size_t at = begin, n; at < end; at += n) {
    n = cached_part(s, at, end);
    for (size_t j = 0; j < s->group; j++)
      exact->scale_add_rows(n, s->e, scores + j * s->score_room + (at - begin),
                            v.base + at % s->room * v.stride, v.stride, y + j * s->e);
  }
}

static samara_status cached_run(const struct smr_job *job, size_t begin, size_t end,
                                void *thread_scratch) {
  const struct cached_state *s = job->state;
  float *scores = (float *)(void *)((char *)thread_scratch + s->scores_offset);
  size_t length = 0;
  SMR_TRY(cached_length(job, &length));
  for (size_t tile = begin; tile < end; tile++) cached_tile(job, tile, length, scores);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_attention_cached_funcs = {
    .check = cached_check,
    .prepare = cached_prepare,
    .run = cached_run,
    .state_bytes = sizeof(struct cached_state)};
