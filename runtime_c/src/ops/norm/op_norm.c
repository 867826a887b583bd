// SPDX-License-Identifier: Apache-2.0
// layer_norm, rms_norm, instance_norm and lrn.
#include "base/fp.h"

#include "kernels/f32_exact/f32_exact.h"
#include "kernels/f32_norm/f32_norm.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <math.h>

struct norm_state {
  const struct smr_f32_norm *kernels;
  size_t groups, n;    // rows: groups of n elements; columns: images of n pixels
  size_t channels;     // columns only
  size_t chunks;       // columns only: tiles per image
  size_t tile_groups;  // rows only
  float eps;
};

enum { NORM_CHUNK = 64 };  // channels per tile

static samara_status norm_check(const struct smr_job *job) {
  return smr_expect_one_dtype(job, SMR_DTYPES_FLOAT);
}

static samara_status norm_prepare_rows(struct smr_job *job) {
  struct norm_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  const int64_t given = SMR_ATTR(job, layer_norm, axis)->i;
  const uint32_t axis = (uint32_t)(given < 0 ? given + (int64_t)x->rank : given);
  *s = (struct norm_state){.kernels = smr_f32_norm_config(job->isa),
                           .groups = (size_t)smr_product(x->dims, axis),
                           .n = (size_t)smr_product(x->dims + axis, x->rank - axis),
                           .eps = SMR_ATTR(job, layer_norm, eps)->f};
  s->tile_groups = s->n && s->n < SMR_GRAIN ? SMR_GRAIN / s->n : 1;
  job->kernel = s->kernels->name;
  job->tiles = s->n ? (s->groups + s->tile_groups - 1) / s->tile_groups : 0;
  return SAMARA_OK;
}

static void norm_run_rows(const struct smr_job *job, size_t begin, size_t end,
                          smr_f32_norm_row kernel) {
  const struct norm_state *s = job->state;
  const struct smr_tensor *scale = smr_optional_input(job, 1), *bias = smr_optional_input(job, 2);
  size_t last = end * s->tile_groups;
  if (last > s->groups) last = s->groups;
  for (size_t i = begin * s->tile_groups; i < last; i++)
    kernel(s->n, (const float *)job->inputs[0]->data + i * s->n, scale != NULL ? scale->data : NULL,
           bias != NULL ? bias->data : NULL, s->eps, (float *)job->outputs[0]->data + i * s->n);
}

static samara_status layer_norm_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  (void)thread_scratch;
  norm_run_rows(job, begin, end, ((const struct norm_state *)job->state)->kernels->centred_row);
  return SAMARA_OK;
}

static samara_status rms_norm_run(const struct smr_job *job, size_t begin, size_t end,
                                  void *thread_scratch) {
  (void)thread_scratch;
  norm_run_rows(job, begin, end, ((const struct norm_state *)job->state)->kernels->plain_row);
  return SAMARA_OK;
}

// The exact form: the mean is the sum over n; the variance the sum of squares over n; the inverse 1
// over the root of variance + eps.
static void norm_run_exact(const struct smr_job *job, size_t begin, size_t end, bool centred) {
  const struct norm_state *s = job->state;
  const struct smr_f32_exact *exact = smr_f32_exact_config(job->isa);
  const struct smr_tensor *scale = smr_optional_input(job, 1), *bias = smr_optional_input(job, 2);
  size_t last = end * s->tile_groups;
  if (last > s->groups) last = s->groups;
  for (size_t i = begin * s->tile_groups; i < last; i++) {
    const float *x = (const float *)job->inputs[0]->data + i * s->n;
    const float n = (float)s->n, mean = centred ? exact->sum(s->n, x) / n : 0.0f;
    const float variance = exact->squares(s->n, x, mean) / n;
    exact->normalize(s->n, x, mean, 1.0f / sqrtf(variance + s->eps),
                     scale != NULL ? scale->data : NULL, bias != NULL ? bias->data : NULL,
                     (float *)job->outputs[0]->data + i * s->n);
  }
}

static samara_status layer_norm_exact_run(const struct smr_job *job, size_t begin, size_t end,
                                          void *thread_scratch) {
  (void)thread_scratch;
  norm_run_exact(job, begin, end, true);
  return SAMARA_OK;
}

static samara_status rms_norm_exact_run(const struct smr_job *job, size_t begin, size_t end,
                                        void *thread_scratch) {
  (void)thread_scratch;
  norm_run_exact(job, begin, end, false);
  return SAMARA_OK;
}

static samara_status norm_prepare_exact(struct smr_job *job) {
  SMR_NEED(job, f32_exact_sum);
  SMR_NEED(job, f32_exact_normalize);
  SMR_TRY(norm_prepare_rows(job));
  job->kernel = smr_f32_exact_config(job->isa)->name;
  return SAMARA_OK;
}

static samara_status layer_norm_prepare(struct smr_job *job) {
  if (SMR_HAS(exact) && job->exact) {
    job->run = layer_norm_exact_run;
    return norm_prepare_exact(job);
  }
  SMR_NEED(job, f32_norm_centred_row);
  return norm_prepare_rows(job);
}

static samara_status rms_norm_prepare(struct smr_job *job) {
  if (SMR_HAS(exact) && job->exact) {
    job->run = rms_norm_exact_run;
    return norm_prepare_exact(job);
  }
  SMR_NEED(job, f32_norm_plain_row);
  return norm_prepare_rows(job);
}

SMR_WIDENED_OP(layer_norm, norm_check, layer_norm_prepare, layer_norm_run,
               sizeof(struct norm_state))
SMR_WIDENED_OP(rms_norm, norm_check, rms_norm_prepare, rms_norm_run, sizeof(struct norm_state))

static samara_status instance_norm_prepare(struct smr_job *job) {
  SMR_NEED(job, f32_norm_centred_columns);
  struct norm_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  *s = (struct norm_state){.kernels = smr_f32_norm_config(job->isa),
                           .groups = (size_t)x->dims[0],
                           .n = (size_t)smr_product(x->dims + 1, x->rank - 2u),
                           .channels = (size_t)x->dims[x->rank - 1],
                           .eps = SMR_ATTR(job, instance_norm, eps)->f};
  s->chunks = s->channels / NORM_CHUNK + (s->channels % NORM_CHUNK != 0);
  job->kernel = s->kernels->name;
  job->tiles = s->n ? s->groups * s->chunks : 0;
  return SAMARA_OK;
}

static samara_status instance_norm_run(const struct smr_job *job, size_t begin, size_t end,
                                       void *thread_scratch) {
  (void)thread_scratch;
  const struct norm_state *s = job->state;
  const float *scale = job->inputs[1]->data, *bias = job->inputs[2]->data;
  for (size_t tile = begin; tile < end; tile++) {
    const size_t channel = tile % s->chunks * NORM_CHUNK, rest = s->channels - channel;
    const size_t at = tile / s->chunks * s->n * s->channels + channel;
    s->kernels->centred_columns(s->n, rest < NORM_CHUNK ? rest : NORM_CHUNK, s->channels,
                                (const float *)job->inputs[0]->data + at, scale + channel,
                                bias + channel, s->eps, (float *)job->outputs[0]->data + at);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(instance_norm, norm_check, instance_norm_prepare, instance_norm_run,
               sizeof(struct norm_state))

struct lrn_state {
  size_t block, blocks;  // channels per tile; tiles per pixel
};

static samara_status lrn_check(const struct smr_job *job) {
  SMR_TRY(norm_check(job));
  SMR_TRY(smr_expect_rank(job, job->inputs[0], "input", 1, SAMARA_MAX_RANK));
  if (SMR_ATTR(job, lrn, size)->i < 1)
    SMR_FAIL(job->error, BAD_SHAPE, "lrn: size must be at least 1");
  return SAMARA_OK;
}

// A tile is a block of a pixel's channels: about SMR_GRAIN elements to sum, or a single channel.
static samara_status lrn_prepare(struct smr_job *job) {
  struct lrn_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  const size_t channels = (size_t)x->dims[x->rank - 1], size = (size_t)SMR_ATTR(job, lrn, size)->i;
  const size_t window = size < channels ? size : channels;
  *s = (struct lrn_state){.block = window < SMR_GRAIN ? SMR_GRAIN / (window ? window : 1) : 1};
  s->blocks = channels / s->block + (channels % s->block != 0);
  job->kernel = "lrn";
  job->tiles = channels ? (size_t)smr_product(x->dims, x->rank - 1u) * s->blocks : 0;
  return SAMARA_OK;
}

static samara_status lrn_run(const struct smr_job *job, size_t begin, size_t end,
                             void *thread_scratch) {
  (void)thread_scratch;
  const struct smr_tensor *tx = job->inputs[0];
  const struct lrn_state *s = job->state;
  const int64_t channels = tx->dims[tx->rank - 1];
  const int64_t size = SMR_ATTR(job, lrn, size)->i, before = (size - 1) / 2;
  const int64_t after = size - 1 - before;
  const float bias = SMR_ATTR(job, lrn, bias)->f, beta = SMR_ATTR(job, lrn, beta)->f;
  const float alpha = SMR_ATTR(job, lrn, alpha)->f / (float)size;
  for (size_t tile = begin; tile < end; tile++) {
    const size_t pixel = tile / s->blocks * (size_t)channels;
    const float *x = (const float *)tx->data + pixel;
    float *y = (float *)job->outputs[0]->data + pixel;
    const int64_t first = (int64_t)(tile % s->blocks * s->block);
    const int64_t stop =
        channels - first < (int64_t)s->block ? channels : first + (int64_t)s->block;
    for (int64_t c = first; c < stop; c++) {
      const int64_t from = c > before ? c - before : 0;
      const int64_t to = after < channels - 1 - c ? c + after : channels - 1;
      float sum = 0.0f;
      for (int64_t i = from; i <= to; i++) sum += x[i] * x[i];
      y[c] = x[c] / powf(bias + alpha * sum, beta);
    }
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(lrn, lrn_check, lrn_prepare, lrn_run, sizeof(struct lrn_state))
