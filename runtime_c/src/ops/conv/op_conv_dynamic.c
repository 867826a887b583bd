// SPDX-License-Identifier: Apache-2.0
// conv_dynamic: convolutions of quantized weights and float32 images that are quantized on the way.
//
// Three phases: the peak of each image, piece by piece; images become bytes; blocks of output
// pixels as products over pointers to pixels, or over rows that are copied together.
#include "base/fp.h"

#include "base/lean.h"
#include "kernels/i8_dwconv/i8_dwconv.h"

#include "ops/check/check.h"
#include "ops/conv/conv_indirection.h"
#include "ops/conv/qpatches.h"
#include "ops/conv/window.h"
#include "ops/matmul/dynamic.h"
#include "ops/table/funcs.h"
#include "simd/common.h"

#include <string.h>

enum {
  CONV_DYNAMIC_PIECE = 16 * 1024,               // elements of x to a tile of the first phases
  CONV_DYNAMIC_POINTERS = SMR_LEAN(4096, 256),  // of a block of output pixels
  CONV_DYNAMIC_COPIED = 32 * 1024,              // bytes of a block of copied rows
  CONV_DYNAMIC_MANY = 64,                       // channels from which pointers beat copied rows
};

enum conv_dynamic_path {
  CONV_DYNAMIC_DEPTHWISE,
  CONV_DYNAMIC_INDIRECT,  // many channels, in fours: a product over pointers
  CONV_DYNAMIC_COLUMNS,   // what a pixel meets is copied into a row
};

struct conv_dynamic_state {
  struct smr_dynamic dynamic;
  struct smr_window window;
  enum conv_dynamic_path path;
  size_t taps, channels, pixels;       // channels of one group, pixels of the output
  size_t image, pieces;                // elements of an image of x, pieces of it
  size_t rows, blocks;                 // output pixels to a block
  struct smr_i8_gemm_plan plan, tail;  // of a block; `tail` of the last one
  size_t units;                        // tiles of a block: of the plan, or 1
  size_t q_offset, peak_offset, scale_offset, pad_offset;  // in scratch
  size_t row_offset, copy_offset;  // in a thread's scratch, after the pointers
};

static samara_status conv_dynamic_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[1], "w", SMR_DTYPE_QS8));
  return smr_linear_check_weights(job, 0);
}

static struct smr_i8_gemm_args conv_dynamic_args(const struct smr_job *job,
                                                 const struct conv_dynamic_state *s, size_t m) {
  static const int8_t *const some_pointers[1] = {NULL};  // a plan asks only whether there are any
  struct smr_i8_gemm_args args = {.m = m};
  smr_dynamic_args(job, &s->dynamic, &args);
  args.k = s->channels * s->taps;
  args.out_stride = (size_t)s->window.channels_out;
  args.out_batch_stride = s->dynamic.linear.n;
  if (s->path == CONV_DYNAMIC_INDIRECT) {
    args.k = s->channels;
    args.taps = s->taps;
    args.indirect = some_pointers;
    args.a_batch_stride = s->channels;
  } else {
    args.a_stride = s->dynamic.linear.groups * args.k;
    args.a_batch_stride = args.k;
  }
  return args;
}

// Bytes of a copied row: what an output pixel meets in all groups.
static size_t conv_dynamic_row(const struct conv_dynamic_state *s) {
  return s->dynamic.linear.groups * s->taps * s->channels;
}

static samara_status conv_dynamic_thread_scratch(struct smr_job *job,
                                                 struct conv_dynamic_state *s) {
  size_t count, offset;
  const size_t pointers = s->path == CONV_DYNAMIC_COLUMNS ? 0 : s->taps;
  if (!smr_mul_size(s->rows, pointers, &count)) count = SIZE_MAX;
  SMR_TRY(smr_thread_scratch_take(job, count, sizeof(int8_t *), &offset));
  SMR_TRY(smr_thread_scratch_take(job, s->rows, sizeof(float), &s->row_offset));
  if (s->path == CONV_DYNAMIC_INDIRECT) return SAMARA_OK;
  // Sums of a depthwise block, or its columns.
  const bool depthwise = s->path == CONV_DYNAMIC_DEPTHWISE;
  const size_t width = depthwise ? (size_t)s->window.channels_out : conv_dynamic_row(s);
  if (!smr_mul_size(s->rows, width, &count)) count = SIZE_MAX;
  return smr_thread_scratch_take(job, count, depthwise ? sizeof(int32_t) : 1, &s->copy_offset);
}

static samara_status conv_dynamic_blocks(struct smr_job *job, struct conv_dynamic_state *s) {
  const struct smr_i8_gemm_config *config = smr_i8_gemm_config(job->isa);
  const size_t row = conv_dynamic_row(s);
  s->rows = s->path == CONV_DYNAMIC_COLUMNS ? CONV_DYNAMIC_COPIED / (row != 0 ? row : 1)
                                            : CONV_DYNAMIC_POINTERS / s->taps;
  s->rows = s->rows < config->mr ? config->mr : s->rows - s->rows % config->mr;
  if (s->rows > s->pixels) s->rows = s->pixels;
  s->blocks = s->pixels / s->rows + (s->pixels % s->rows != 0);
  struct smr_i8_gemm_args args = conv_dynamic_args(job, s, s->rows);
  smr_i8_gemm_plan_make(config, &args, &s->plan);
  args.m = s->pixels - (s->blocks - 1) * s->rows;
  smr_i8_gemm_plan_make(config, &args, &s->tail);
  job->kernel = s->path == CONV_DYNAMIC_DEPTHWISE ? "i8_dwconv_indirect" : s->plan.kernel;
  const bool whole = s->path != CONV_DYNAMIC_INDIRECT || s->dynamic.linear.post.function != NULL;
  s->units = whole ? 1 : s->plan.units;
  const size_t last = whole ? 1 : s->tail.units, first = (size_t)s->window.batch * s->pieces;
  job->barriers[0] = first;
  job->barriers[1] = 2 * first;
  job->tiles = 2 * first + (s->blocks - 1) * s->units + last;
  return conv_dynamic_thread_scratch(job, s);
}

static samara_status conv_dynamic_prepare(struct smr_job *job) {
  struct conv_dynamic_state *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  *s = (struct conv_dynamic_state){.pixels = 0};
  SMR_TRY(smr_window_read(job, SMR_ATTR_GROUP(job, conv_dynamic, window), w->dims + 1, &s->window));
  const struct smr_window *window = &s->window;
  const int64_t groups = SMR_ATTR(job, conv_dynamic, groups)->i;
  s->taps = (size_t)smr_window_taps(window);
  s->channels = (size_t)w->dims[w->rank - 1];
  s->pixels = (size_t)(window->batch * smr_window_pixels(window));
  const bool depthwise = w->layout == SMR_LAYOUT_DWPANEL ||
                         (w->layout == SMR_LAYOUT_PLAIN && groups == window->channels_in &&
                          groups == window->channels_out && groups > 1);
  s->path = depthwise                                                  ? CONV_DYNAMIC_DEPTHWISE
            : s->channels % 4 == 0 && s->channels >= CONV_DYNAMIC_MANY ? CONV_DYNAMIC_INDIRECT
                                                                       : CONV_DYNAMIC_COLUMNS;
  if (s->path == CONV_DYNAMIC_INDIRECT || (job->dims_vary && !depthwise))
    SMR_NEED(job, i8_gemm_indirect);
  const size_t n = (size_t)(w->dims[0] / groups), depth = s->taps * s->channels;
  s->dynamic.linear = (struct smr_linear){
      .groups = depthwise ? 1 : (size_t)groups,
      .taps = 1,
      .k = depth,
      .n = depthwise ? (size_t)w->dims[0] : n,
      .group_stride = n * depth,
      .k_stride = 1,
      .n_stride = depth,
      .weight_key = depthwise                       ? SMR_LINEAR_KEY_DEPTHWISE
                    : groups < SMR_LINEAR_KEY_LIMIT ? SMR_LINEAR_KEY_CONV | (uint32_t)groups
                                                    : 0,
      .bytes_by_row = depthwise,
  };
  SMR_TRY(smr_dynamic_prepare(job, SMR_ATTR_GROUP(job, conv_dynamic, epilogue), &s->dynamic));
  job->tiles = 0;
  job->kernel = "nothing";
  if (smr_numel(job->outputs[0]) == 0) return SAMARA_OK;
  const size_t x = (size_t)smr_numel(job->inputs[0]), batch = (size_t)window->batch;
  s->image = x / batch;
  s->pieces = s->image / CONV_DYNAMIC_PIECE + 1;
  SMR_TRY(smr_scratch_take(job, x, 1, &s->q_offset));
  SMR_TRY(smr_scratch_take(job, batch * s->pieces, sizeof(uint32_t), &s->peak_offset));
  SMR_TRY(smr_scratch_take(job, batch, sizeof(float), &s->scale_offset));
  SMR_TRY(smr_scratch_take(job, (size_t)window->channels_in, 1, &s->pad_offset));
  return conv_dynamic_blocks(job, s);
}

// ---- images as bytes ----

static void *conv_dynamic_scratch(const struct smr_job *job, size_t offset) {
  return (char *)job->scratch + offset;
}

// Elements of piece `tile` of all images' pieces.
static size_t conv_dynamic_piece(const struct conv_dynamic_state *s, size_t tile, size_t *first) {
  const size_t at = tile % s->pieces * CONV_DYNAMIC_PIECE;
  *first = tile / s->pieces * s->image + at;
  return s->image - at < CONV_DYNAMIC_PIECE ? s->image - at : CONV_DYNAMIC_PIECE;
}

static void conv_dynamic_peak(const struct smr_job *job, const struct conv_dynamic_state *s,
                              size_t tile) {
  size_t first;
  const size_t n = conv_dynamic_piece(s, tile, &first);
  uint32_t *peaks = conv_dynamic_scratch(job, s->peak_offset);
  peaks[tile] =
      smr_i8_dynamic_kernels(job->isa)->peak(n, (const float *)job->inputs[0]->data + first);
}

static void conv_dynamic_quantize(const struct smr_job *job, const struct conv_dynamic_state *s,
                                  size_t tile) {
  const size_t image = tile / s->pieces;
  const uint32_t *peaks = conv_dynamic_scratch(job, s->peak_offset);
  uint32_t peak = 0;
  for (size_t i = image * s->pieces; i < (image + 1) * s->pieces; i++)
    if (peaks[i] > peak) peak = peaks[i];
  const struct smr_i8_dynamic_scale found = smr_i8_dynamic_scale(peak);
  size_t first;
  const size_t n = conv_dynamic_piece(s, tile, &first);
  int8_t *q = conv_dynamic_scratch(job, s->q_offset);
  smr_i8_dynamic_row(smr_i8_dynamic_kernels(job->isa), n,
                     (const float *)job->inputs[0]->data + first, found.inv, q + first);
  if (tile % s->pieces == 0)
    ((float *)conv_dynamic_scratch(job, s->scale_offset))[image] = found.scale;
}

// ---- products ----

// A block of output pixels: its first, how many, their scales and what their taps meet.
struct conv_dynamic_block {
  size_t first, count;
  const float *scales;
  const int8_t **pointers;
  void *copy;
  float *out;
};

// One pixel's sums as floats; `bias` may be NULL.
SMR_VECTORIZED static void conv_dynamic_finish(size_t n, const int32_t *sums, float scale,
                                               const float *multiplier, const float *bias, float lo,
                                               float hi, float *restrict y) {
  if (bias != NULL)
    for (size_t c = 0; c < n; c++) y[c] = (float)sums[c] * (scale * multiplier[c]) + bias[c];
  else
    for (size_t c = 0; c < n; c++) y[c] = (float)sums[c] * (scale * multiplier[c]) + 0.0f;
  for (size_t c = 0; c < n; c++) {  // NaN stays
    const float above = y[c] < lo ? lo : y[c];
    y[c] = above > hi ? hi : above;
  }
}

static void conv_dynamic_depthwise(const struct smr_job *job, const struct conv_dynamic_state *s,
                                   const struct conv_dynamic_block *b) {
  const struct smr_i8_gemm_args like = conv_dynamic_args(job, s, b->count);
  const size_t channels = s->dynamic.linear.n;
  int32_t *sums = b->copy;
  const struct smr_i8_dwconv_indirect_args args = {
      .pixels = b->count,
      .taps = s->taps,
      .channels = channels,
      .indirect = b->pointers,
      .pad = conv_dynamic_scratch(job, s->pad_offset),
      .w = like.w,
      .panel_stride_bytes = like.panel_stride_bytes,
      .w_zero = like.columns.w_zero,
      .out = sums,
      .out_stride = channels,
      .end = {.to = SMR_I8_TO_I32},
  };
  smr_i8_dwconv_indirect_run(smr_i8_dwconv_config(job->isa), &args, 0, b->count);
  for (size_t i = 0; i < b->count; i++)
    conv_dynamic_finish(channels, sums + i * channels, b->scales[i], like.columns.multiplier,
                        like.columns.bias, like.f32_lo, like.f32_hi, b->out + i * channels);
}

static samara_status conv_dynamic_columns(const struct smr_job *job,
                                          const struct conv_dynamic_state *s,
                                          const struct smr_i8_gemm_plan *plan,
                                          const struct conv_dynamic_block *b,
                                          struct smr_deadline_watch *watch) {
  struct smr_i8_gemm_args args = conv_dynamic_args(job, s, b->count);
  const struct smr_qpatches patches = {
      .window = &s->window,
      .x = conv_dynamic_scratch(job, s->q_offset),
      .pixel_stride = (size_t)s->window.channels_in,
      .groups = s->dynamic.linear.groups,
      .channels = s->channels,
      .row_stride = args.a_stride,
  };
  SMR_TRY(smr_qpatches_gather(watch, &patches, b->first, b->count, b->copy));
  args.a = b->copy;
  args.row_scale = b->scales;
  args.out = b->out;
  smr_i8_gemm_run(plan, &args, 0, plan->units);
  return SAMARA_OK;
}

// Tiles [unit, unit + count) of a block.
static samara_status conv_dynamic_block(const struct smr_job *job,
                                        const struct conv_dynamic_state *s, size_t block,
                                        size_t unit, size_t count, char *thread_scratch,
                                        struct smr_deadline_watch *watch) {
  const struct smr_i8_gemm_plan *plan = block + 1 < s->blocks ? &s->plan : &s->tail;
  const size_t first = block * s->rows, left = s->pixels - first;
  const size_t channels = (size_t)s->window.channels_in, per = s->pixels / (size_t)s->window.batch;
  float *scales = (float *)(void *)(thread_scratch + s->row_offset);
  struct conv_dynamic_block b = {
      .first = first,
      .count = left < s->rows ? left : s->rows,
      .scales = scales,
      .pointers = (const int8_t **)(void *)thread_scratch,
      .copy = thread_scratch + s->copy_offset,
      .out = (float *)job->outputs[0]->data + first * (size_t)s->window.channels_out,
  };
  const float *of_images = conv_dynamic_scratch(job, s->scale_offset);
  for (size_t i = 0; i < b.count; i++) scales[i] = of_images[(first + i) / per];
  const int8_t *pad = conv_dynamic_scratch(job, s->pad_offset);
  if (s->path != CONV_DYNAMIC_COLUMNS)
    smr_conv_indirection_i8(&s->window, conv_dynamic_scratch(job, s->q_offset), channels, pad,
                            first, b.count, b.pointers);
  if (s->path == CONV_DYNAMIC_DEPTHWISE) {
    conv_dynamic_depthwise(job, s, &b);
  } else if (s->path == CONV_DYNAMIC_COLUMNS) {
    SMR_TRY(conv_dynamic_columns(job, s, plan, &b, watch));
  } else {
    struct smr_i8_gemm_args args = conv_dynamic_args(job, s, b.count);
    args.indirect = b.pointers;
    args.pad = pad;
    args.row_scale = scales;
    args.out = b.out;
    const bool whole = s->dynamic.linear.post.function != NULL;
    smr_i8_gemm_run(plan, &args, whole ? 0 : unit, whole ? plan->units : unit + count);
  }
  if (s->dynamic.linear.post.function != NULL)
    smr_linear_post((void *)(uintptr_t)&s->dynamic.linear.post, b.out, b.count,
                    (size_t)s->window.channels_out, (size_t)s->window.channels_out, SMR_GEMM_F32);
  return SAMARA_OK;
}

static samara_status conv_dynamic_run(const struct smr_job *job, size_t begin, size_t end,
                                      void *thread_scratch) {
  const struct conv_dynamic_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    if (job->tiles == 0) return SAMARA_OK;
    smr_dynamic_prologue(job, &s->dynamic);
    memset(conv_dynamic_scratch(job, s->pad_offset), 0, (size_t)s->window.channels_in);
    return SAMARA_OK;
  }
  const size_t pieces = (size_t)s->window.batch * s->pieces, last = s->blocks - 1;
  for (; begin < end && begin < pieces; begin++) conv_dynamic_peak(job, s, begin);
  for (; begin < end && begin < 2 * pieces; begin++) conv_dynamic_quantize(job, s, begin - pieces);
  struct smr_deadline_watch watch = {.job = job};
  while (begin < end) {
    const size_t tile = begin - 2 * pieces;
    const size_t block = tile / s->units < last ? tile / s->units : last;
    const size_t unit = tile - block * s->units;
    const size_t units = block < last || s->units == 1 ? s->units : s->tail.units;
    const size_t count = units - unit < end - begin ? units - unit : end - begin;
    SMR_TRY(smr_deadline_step(&watch, SMR_DEADLINE_WORK));
    SMR_TRY(conv_dynamic_block(job, s, block, unit, count, thread_scratch, &watch));
    begin += count;
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_conv_dynamic_funcs = {
    .check = conv_dynamic_check,
    .prepare = conv_dynamic_prepare,
    .pack = smr_dynamic_pack,
    .run = conv_dynamic_run,
    .state_bytes = sizeof(struct conv_dynamic_state)};
