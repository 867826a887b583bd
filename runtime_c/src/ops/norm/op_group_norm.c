// SPDX-License-Identifier: Apache-2.0
// group_norm and its gradient, which also serves instance_norm.
//
// Three phases, as in op_batch_norm.c: partial sums of tiles; groups, one image at a time; all
// elements. The gradient recomputes the statistics from x.
#include "base/fp.h"

#include "base/checked.h"
#include "kernels/f32_channel_norm/f32_channel_norm.h"
#include "ops/check/check.h"
#include "ops/norm/channel_norm.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <inttypes.h>
#include <math.h>

struct group_norm_state {
  const struct smr_f32_channel_norm *kernels;
  const struct smr_f32_channel_norm_grad *grads;  // of the gradient
  struct smr_channel_plan plan;
  size_t groups;
  size_t pieces;
  size_t arrays;  // arrays of partial sums
  float eps;
};

enum { GROUP_MAPS = 4 };  // shift, factor, slope, bias per image and channel

// Stored before the partial sums: [images][2][channels] doubles, first moments, then each image's
// contribution to dbias and dscale.
static double *group_moments(const struct smr_job *job, size_t image) {
  const struct group_norm_state *s = job->state;
  return (double *)job->scratch + 2 * image * s->plan.channels;
}

static float *group_map(const struct smr_job *job, size_t image) {
  const struct group_norm_state *s = job->state;
  return (float *)group_moments(job, s->plan.images) + GROUP_MAPS * image * s->plan.channels;
}

static float *group_partials(const struct smr_job *job, size_t array) {
  const struct group_norm_state *s = job->state;
  return group_map(job, s->plan.images) + array * smr_channel_partials(&s->plan);
}

// `groups` must divide the channels; 0 means one group per channel.
static samara_status group_norm_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const int64_t groups = SMR_ATTR(job, group_norm, groups)->i, channels = x->dims[x->rank - 1];
  if (groups < 0 || (groups > 0 && channels % groups != 0))
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %" PRId64 " groups do not divide %" PRId64 " channels",
             job->op->name, groups, channels);
  return smr_expect_one_dtype(job, SMR_DTYPES_FLOAT);
}

static bool group_scratch(const struct group_norm_state *s, size_t *bytes) {
  const size_t c = s->plan.channels;
  size_t per_channel, maps, partials;
  return smr_mul_size(s->plan.images, c, &per_channel) &&
         smr_mul_size(per_channel, 2 * sizeof(double) + GROUP_MAPS * sizeof(float), &maps) &&
         smr_mul_size(smr_channel_partials(&s->plan), s->arrays * sizeof(float), &partials) &&
         smr_add_size(maps, partials, bytes);
}

static samara_status group_prepare(struct smr_job *job, size_t arrays, bool sums) {
  struct group_norm_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  *s = (struct group_norm_state){.kernels = smr_f32_channel_norm_config(job->isa),
                                 .groups = (size_t)SMR_ATTR(job, group_norm, groups)->i,
                                 .arrays = arrays,
                                 .eps = SMR_ATTR(job, group_norm, eps)->f};
  s->plan =
      smr_channel_plan_make((size_t)x->dims[0], (size_t)smr_product(x->dims + 1, x->rank - 2u),
                            (size_t)x->dims[x->rank - 1]);
  job->kernel = s->kernels->name;
  if (s->plan.channels == 0) return SAMARA_OK;
  if (s->groups == 0) s->groups = s->plan.channels;
  s->pieces = smr_channel_pieces(&s->plan);
  job->barriers[0] = s->pieces;
  job->barriers[1] = s->pieces + s->plan.images;
  job->tiles = 2 * s->pieces + s->plan.images + (sums ? 1 : 0);
  if (!group_scratch(s, &job->scratch_bytes))
    SMR_FAIL(job->error, LIMIT, "%s: scratch does not fit memory", job->op->name);
  return SAMARA_OK;
}

static samara_status group_norm_prepare(struct smr_job *job) {
  return group_prepare(job, 3, false);
}

static samara_status group_norm_grad_prepare(struct smr_job *job) {
  SMR_TRY(group_prepare(job, 5, true));
  struct group_norm_state *s = job->state;
  s->grads = smr_f32_channel_norm_grad_config(job->isa);
  return SAMARA_OK;
}

// Mean and 1 / sqrt(variance + eps) of a group, from the moments of its channels.
static void group_statistics(const struct group_norm_state *s, const double *mean,
                             const double *square, size_t count, double *centre, double *r) {
  double total = 0, squares = 0;
  for (size_t c = 0; c < count; c++) total += mean[c];
  *centre = total / (double)count;
  for (size_t c = 0; c < count; c++) {
    const double d = mean[c] - *centre;
    squares += square[c] + (double)s->plan.pixels * d * d;
  }
  *r = 1.0 / sqrt(squares / ((double)count * (double)s->plan.pixels) + (double)s->eps);
}

// Moments of the channels of an image, from partial sums 0 to 2.
static void group_channel_moments(const struct smr_job *job, size_t image) {
  const struct group_norm_state *s = job->state;
  double *mean = group_moments(job, image), *square = mean + s->plan.channels;
  for (size_t block = 0; block < s->plan.blocks; block++)
    smr_channel_moments(&s->plan, image, block, group_partials(job, 0), group_partials(job, 1),
                        group_partials(job, 2), mean + smr_channel_first(block),
                        square + smr_channel_first(block));
}

static void group_norm_join(const struct smr_job *job, size_t image) {
  const struct group_norm_state *s = job->state;
  const struct smr_tensor *scale = smr_optional_input(job, 1), *bias = smr_optional_input(job, 2);
  const size_t channels = s->plan.channels, count = channels / s->groups;
  const double *mean = group_moments(job, image), *square = mean + channels;
  float *shift = group_map(job, image), *factor = shift + channels;
  float *slope = shift + 2 * channels, *offset = shift + 3 * channels;
  group_channel_moments(job, image);
  for (size_t first = 0; first < channels; first += count) {
    double centre, r;
    group_statistics(s, mean + first, square + first, count, &centre, &r);
    for (size_t c = first; c < first + count; c++) {
      const double times = scale != NULL ? r * (double)((const float *)scale->data)[c] : r;
      shift[c] = (float)centre;
      factor[c] = (float)times;
      slope[c] = 0.0f;
      // Add back the rounding error of the mean.
      offset[c] = (float)((bias != NULL ? (double)((const float *)bias->data)[c] : 0.0) +
                          ((double)shift[c] - centre) * times);
    }
  }
}

// The columns of a tile in an image's maps.
static struct smr_f32_channel_map group_map_of(const struct smr_job *job,
                                               const struct smr_channel_piece *piece,
                                               float room[GROUP_MAPS][SMR_CHANNEL_COLUMNS]) {
  const struct group_norm_state *s = job->state;
  const size_t channels = s->plan.channels;
  const float *at = group_map(job, piece->image);
  return (struct smr_f32_channel_map){
      .shift = smr_channel_spread(&s->plan, piece, at, room[0]),
      .factor = smr_channel_spread(&s->plan, piece, at + channels, room[1]),
      .slope = smr_channel_spread(&s->plan, piece, at + 2 * channels, room[2]),
      .bias = smr_channel_spread(&s->plan, piece, at + 3 * channels, room[3])};
}

static samara_status group_norm_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  (void)thread_scratch;
  const struct group_norm_state *s = job->state;
  const size_t joins = s->plan.images;
  const float *x = job->inputs[0]->data;
  float room[GROUP_MAPS][SMR_CHANNEL_COLUMNS];
  for (size_t tile = begin; tile < end; tile++) {
    if (tile >= s->pieces && tile < s->pieces + joins) {
      group_norm_join(job, tile - s->pieces);
      continue;
    }
    const struct smr_channel_piece piece =
        smr_channel_piece_at(&s->plan, tile < s->pieces ? tile : tile - s->pieces - joins);
    if (tile < s->pieces) {
      s->kernels->moments(piece.rows, piece.columns, s->plan.width, x + piece.offset,
                          group_partials(job, 0) + piece.partial,
                          group_partials(job, 1) + piece.partial,
                          group_partials(job, 2) + piece.partial);
      continue;
    }
    const struct smr_f32_channel_map map = group_map_of(job, &piece, room);
    s->kernels->apply(piece.rows, piece.columns, s->plan.width, x + piece.offset, &map,
                      (float *)job->outputs[0]->data + piece.offset);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(group_norm, group_norm_check, group_norm_prepare, group_norm_run,
               sizeof(struct group_norm_state))

// ---- the gradient: dy, x, scale? -> dx, dscale, dbias ----

// With h = dy * scale over a group of n elements, and r = 1 / sqrt(variance + eps):
// dx = r * (h - mean of h - (x - mean) * r^2 * mean of h * (x - mean)).
static void group_norm_grad_join(const struct smr_job *job, size_t image) {
  const struct group_norm_state *s = job->state;
  const struct smr_tensor *scale = smr_optional_input(job, 2);
  const size_t channels = s->plan.channels, count = channels / s->groups;
  const double n = (double)count * (double)s->plan.pixels;
  double *mean = group_moments(job, image), *square = mean + channels;
  float *shift = group_map(job, image), *factor = shift + channels;
  float *slope = shift + 2 * channels, *offset = shift + 3 * channels;
  group_channel_moments(job, image);
  for (size_t first = 0; first < channels; first += count) {
    double centre, r;
    group_statistics(s, mean + first, square + first, count, &centre, &r);
    for (size_t c = first; c < first + count; c++) {
      mean[c] = centre;
      square[c] = r;
    }
  }
  for (size_t block = 0; block < s->plan.blocks; block++) {
    double sum[SMR_CHANNEL_COLUMNS], product[SMR_CHANNEL_COLUMNS];
    const size_t first = smr_channel_first(block), width = smr_channel_count(&s->plan, block);
    smr_channel_products(&s->plan, image, block, group_partials(job, 3), group_partials(job, 4),
                         group_partials(job, 0), mean + first, sum, product);
    for (size_t j = 0; j < width; j++) {
      shift[first + j] = (float)mean[first + j];
      offset[first + j] = (float)((double)shift[first + j] - mean[first + j]);
      factor[first + j] = (float)square[first + j];
      mean[first + j] = sum[j];
      // Without pixels the sums are 0, even if the statistics are NaN.
      square[first + j] = s->plan.pixels ? product[j] * square[first + j] : 0.0;
    }
  }
  // From here on `mean` is the sum of dy and `square` the sum of dy * (x - mean) * r.
  for (size_t first = 0; first < channels; first += count) {
    double plain = 0, product = 0;
    for (size_t c = first; c < first + count; c++) {
      const double g = scale != NULL ? (double)((const float *)scale->data)[c] : 1.0;
      plain += g * mean[c];
      product += g * square[c];
    }
    for (size_t c = first; c < first + count; c++) {
      const double r = (double)factor[c], gain = -r * r * product / n;
      slope[c] = (float)gain;
      // Add back the rounding error of the mean.
      offset[c] = (float)(-r * plain / n + gain * (double)offset[c]);
      if (scale != NULL) factor[c] *= ((const float *)scale->data)[c];
    }
  }
}

static void group_norm_grad_sums(const struct smr_job *job) {
  const struct group_norm_state *s = job->state;
  const size_t channels = s->plan.channels;
  float *dscale = job->outputs[1]->data, *dbias = job->outputs[2]->data;
  for (size_t c = 0; c < channels; c++) {
    double scale = 0, bias = 0;
    for (size_t image = 0; image < s->plan.images; image++) {
      bias += group_moments(job, image)[c];
      scale += group_moments(job, image)[channels + c];
    }
    dscale[c] = (float)scale;
    dbias[c] = (float)bias;
  }
}

static void group_norm_grad_piece(const struct smr_job *job, const struct smr_channel_piece *piece,
                                  bool apply) {
  const struct group_norm_state *s = job->state;
  const float *dy = (const float *)job->inputs[0]->data + piece->offset;
  const float *x = (const float *)job->inputs[1]->data + piece->offset;
  if (apply) {
    float room[GROUP_MAPS][SMR_CHANNEL_COLUMNS];
    const struct smr_f32_channel_map map = group_map_of(job, piece, room);
    s->grads->grad(piece->rows, piece->columns, s->plan.width, dy, x, &map,
                   (float *)job->outputs[0]->data + piece->offset);
    return;
  }
  float *mean = group_partials(job, 0) + piece->partial;
  s->kernels->moments(piece->rows, piece->columns, s->plan.width, x, mean,
                      group_partials(job, 1) + piece->partial,
                      group_partials(job, 2) + piece->partial);
  s->grads->products(piece->rows, piece->columns, s->plan.width, dy, x, mean,
                     group_partials(job, 3) + piece->partial,
                     group_partials(job, 4) + piece->partial);
}

// The last tile adds up dscale and dbias.
static samara_status group_norm_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                         void *thread_scratch) {
  (void)thread_scratch;
  const struct group_norm_state *s = job->state;
  const size_t joins = s->plan.images, last = 2 * s->pieces + joins;
  for (size_t tile = begin; tile < end; tile++) {
    if (tile == last) {
      group_norm_grad_sums(job);
    } else if (tile >= s->pieces && tile < s->pieces + joins) {
      group_norm_grad_join(job, tile - s->pieces);
    } else {
      const bool apply = tile >= s->pieces;
      const struct smr_channel_piece piece =
          smr_channel_piece_at(&s->plan, apply ? tile - s->pieces - joins : tile);
      group_norm_grad_piece(job, &piece, apply);
    }
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(group_norm_grad, group_norm_check, group_norm_grad_prepare, group_norm_grad_run,
               sizeof(struct group_norm_state))
