// SPDX-License-Identifier: Apache-2.0
// batch_norm with the statistics of its batch, and its gradient.
//
// Three phases: partial sums of tiles, in any order; channels; all elements. Tiles and the order in
// which their sums are combined depend on the dims only.
#include "base/fp.h"

#include "base/checked.h"
#include "kernels/f32_channel_norm/f32_channel_norm.h"
#include "ops/check/check.h"
#include "ops/norm/channel_norm.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <math.h>

struct batch_norm_state {
  const struct smr_f32_channel_norm *kernels;
  const struct smr_f32_channel_norm_grad *grads;  // of the gradient
  struct smr_channel_plan plan;
  size_t pieces, joins;  // tiles of the first and the last phase; tiles of the second
  float eps;
};

// Passed between the phases: three arrays of partial sums; factor, slope and bias per channel.
struct batch_norm_scratch {
  float *first, *second, *third, *factor, *slope, *bias;
};

static struct batch_norm_scratch batch_norm_scratch_of(const struct smr_job *job) {
  const struct batch_norm_state *s = job->state;
  const size_t n = smr_channel_partials(&s->plan), c = s->plan.channels;
  float *at = job->scratch;
  float *channels = at + 3 * n;
  return (struct batch_norm_scratch){at,       at + n,       at + 2 * n,
                                     channels, channels + c, channels + 2 * c};
}

static samara_status batch_norm_check(const struct smr_job *job) {
  return smr_expect_one_dtype(job, SMR_DTYPES_FLOAT);
}

static samara_status batch_norm_prepare(struct smr_job *job) {
  struct batch_norm_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  *s = (struct batch_norm_state){.kernels = smr_f32_channel_norm_config(job->isa),
                                 .grads = smr_f32_channel_norm_grad_config(job->isa),
                                 .eps = SMR_ATTR(job, batch_norm, eps)->f};
  s->plan = smr_channel_plan_make(1, (size_t)smr_product(x->dims, x->rank - 1u),
                                  (size_t)x->dims[x->rank - 1]);
  job->kernel = s->kernels->name;
  if (s->plan.channels == 0) return SAMARA_OK;
  s->pieces = smr_channel_pieces(&s->plan);
  s->joins = s->plan.blocks;
  job->barriers[0] = s->pieces;
  job->barriers[1] = s->pieces + s->joins;
  job->tiles = 2 * s->pieces + s->joins;
  size_t floats = 3 * smr_channel_partials(&s->plan) + 3 * s->plan.channels;
  if (!smr_mul_size(floats, sizeof(float), &job->scratch_bytes))
    SMR_FAIL(job->error, LIMIT, "%s: scratch does not fit memory", job->op->name);
  return SAMARA_OK;
}

static void batch_norm_join(const struct smr_job *job, size_t block) {
  const struct batch_norm_state *s = job->state;
  const struct batch_norm_scratch work = batch_norm_scratch_of(job);
  const struct smr_tensor *scale = smr_optional_input(job, 1), *bias = smr_optional_input(job, 2);
  double mean[SMR_CHANNEL_COLUMNS], square[SMR_CHANNEL_COLUMNS];
  smr_channel_moments(&s->plan, 0, block, work.first, work.second, work.third, mean, square);
  const size_t count = smr_channel_count(&s->plan, block), first = smr_channel_first(block);
  for (size_t j = 0; j < count; j++) {
    const size_t c = first + j;
    if (s->plan.pixels == 0) mean[j] = 0.0;
    const double variance = s->plan.pixels ? square[j] / (double)s->plan.pixels : 0.0;
    const double r = 1.0 / sqrt(variance + (double)s->eps);
    const double factor = scale != NULL ? r * (double)((const float *)scale->data)[c] : r;
    const float centre = (float)mean[j];
    ((float *)job->outputs[1]->data)[c] = centre;
    ((float *)job->outputs[2]->data)[c] = (float)variance;
    work.factor[c] = (float)factor;
    // Add back the rounding error of the mean.
    work.bias[c] = (float)((bias != NULL ? (double)((const float *)bias->data)[c] : 0.0) +
                           ((double)centre - mean[j]) * factor);
  }
}

static samara_status batch_norm_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  (void)thread_scratch;
  const struct batch_norm_state *s = job->state;
  const struct batch_norm_scratch work = batch_norm_scratch_of(job);
  const float *x = job->inputs[0]->data;
  float room[3][SMR_CHANNEL_COLUMNS];
  for (size_t tile = begin; tile < end; tile++) {
    if (tile >= s->pieces && tile < s->pieces + s->joins) {
      batch_norm_join(job, tile - s->pieces);
      continue;
    }
    const struct smr_channel_piece piece =
        smr_channel_piece_at(&s->plan, tile < s->pieces ? tile : tile - s->pieces - s->joins);
    if (tile < s->pieces) {
      s->kernels->moments(piece.rows, piece.columns, s->plan.width, x + piece.offset,
                          work.first + piece.partial, work.second + piece.partial,
                          work.third + piece.partial);
      continue;
    }
    const struct smr_f32_channel_map map = {
        .shift = smr_channel_spread(&s->plan, &piece, job->outputs[1]->data, room[0]),
        .factor = smr_channel_spread(&s->plan, &piece, work.factor, room[1]),
        .bias = smr_channel_spread(&s->plan, &piece, work.bias, room[2])};
    s->kernels->apply(piece.rows, piece.columns, s->plan.width, x + piece.offset, &map,
                      (float *)job->outputs[0]->data + piece.offset);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(batch_norm, batch_norm_check, batch_norm_prepare, batch_norm_run,
               sizeof(struct batch_norm_state))

// ---- the gradient: dy, x, mean, var, scale? -> dx, dscale, dbias ----

// dx = r * scale * (dy - mean of dy - (x - mean) * r^2 * mean of dy * (x - mean)).
static void batch_norm_grad_join(const struct smr_job *job, size_t block) {
  const struct batch_norm_state *s = job->state;
  const struct batch_norm_scratch work = batch_norm_scratch_of(job);
  const struct smr_tensor *scale = smr_optional_input(job, 4);
  const float *var = job->inputs[3]->data;
  double sum[SMR_CHANNEL_COLUMNS], product[SMR_CHANNEL_COLUMNS];
  smr_channel_products(&s->plan, 0, block, work.first, work.second, NULL, NULL, sum, product);
  const size_t count = smr_channel_count(&s->plan, block), first = smr_channel_first(block);
  for (size_t j = 0; j < count; j++) {
    const size_t c = first + j;
    const double r = 1.0 / sqrt((double)var[c] + (double)s->eps), n = (double)s->plan.pixels;
    const double factor = scale != NULL ? r * (double)((const float *)scale->data)[c] : r;
    // Without pixels the sums are 0, whatever the variance.
    ((float *)job->outputs[1]->data)[c] = s->plan.pixels ? (float)(product[j] * r) : 0.0f;
    ((float *)job->outputs[2]->data)[c] = (float)sum[j];
    work.factor[c] = (float)factor;
    work.slope[c] = (float)(-factor * r * r * product[j] / n);
    work.bias[c] = (float)(-factor * sum[j] / n);
  }
}

static samara_status batch_norm_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                         void *thread_scratch) {
  (void)thread_scratch;
  const struct batch_norm_state *s = job->state;
  const struct batch_norm_scratch work = batch_norm_scratch_of(job);
  const float *dy = job->inputs[0]->data, *x = job->inputs[1]->data;
  float room[4][SMR_CHANNEL_COLUMNS];
  for (size_t tile = begin; tile < end; tile++) {
    if (tile >= s->pieces && tile < s->pieces + s->joins) {
      batch_norm_grad_join(job, tile - s->pieces);
      continue;
    }
    const struct smr_channel_piece piece =
        smr_channel_piece_at(&s->plan, tile < s->pieces ? tile : tile - s->pieces - s->joins);
    const float *mean = smr_channel_spread(&s->plan, &piece, job->inputs[2]->data, room[0]);
    if (tile < s->pieces) {
      s->grads->products(piece.rows, piece.columns, s->plan.width, dy + piece.offset,
                         x + piece.offset, mean, work.first + piece.partial,
                         work.second + piece.partial);
      continue;
    }
    const struct smr_f32_channel_map map = {
        .shift = mean,
        .factor = smr_channel_spread(&s->plan, &piece, work.factor, room[1]),
        .slope = smr_channel_spread(&s->plan, &piece, work.slope, room[2]),
        .bias = smr_channel_spread(&s->plan, &piece, work.bias, room[3])};
    s->grads->grad(piece.rows, piece.columns, s->plan.width, dy + piece.offset, x + piece.offset,
                   &map, (float *)job->outputs[0]->data + piece.offset);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(batch_norm_grad, batch_norm_check, batch_norm_prepare, batch_norm_grad_run,
               sizeof(struct batch_norm_state))
