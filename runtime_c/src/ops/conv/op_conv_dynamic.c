// SPDX-License-Identifier: Apache-2.0
// conv_dynamic: convolutions of quantized weights and float32 images that are quantized on the way.
//
// Three phases: the peak of each image, piece by piece; images become bytes; blocks of output
// pixels as products over pointers to pixels, or over rows that are copied together.
#include "base/fp.h"

#include "base/lean.h"
#include "kernels/i8_dwconv/i8_dwconv.h"

#include "ops/algorithm.h"
#include "ops/check/check.h"
#include "ops/conv/conv_indirection.h"
#include "ops/conv/conv_shape.h"
#include "ops/conv/qpatches.h"
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

// A block of output pixels: its first, how many, their scales, and the thread's room.
struct conv_dynamic_block {
  struct smr_deadline_watch *watch;
  const struct smr_i8_gemm_plan *plan;
  size_t first, count;
  const float *scales;
  const int8_t **pointers;
  void *copy;
  float *out;
};

// Tiles [unit, unit + count) of a block.
typedef samara_status (*conv_dynamic_compute)(const struct smr_job *job,
                                              const struct conv_dynamic_block *block, size_t unit,
                                              size_t count);

struct conv_dynamic_state {
  struct smr_conv_shape shape;
  struct smr_dynamic dynamic;
  conv_dynamic_compute compute;
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

static samara_status conv_dynamic_begin(struct smr_job *job) {
  *(struct conv_dynamic_state *)job->state = (struct conv_dynamic_state){.image = 0};
  return smr_conv_shape_read(job, SMR_ATTR_GROUP(job, conv_dynamic, window),
                             SMR_ATTR(job, conv_dynamic, groups)->i);
}

static samara_status conv_dynamic_pack(const struct smr_job *job, const struct smr_derived *what,
                                       void *out) {
  const struct conv_dynamic_state *s = job->state;
  return smr_dynamic_pack_to(job, &s->dynamic, what, out);
}

// ---- choosing ----

static bool conv_dynamic_fits_depthwise(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return s->depthwise;
}

static bool conv_dynamic_fits_indirect(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return !s->depthwise && s->channels % 4 == 0 && s->channels >= CONV_DYNAMIC_MANY;
}

static bool conv_dynamic_any_indirect(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return !s->depthwise;
}

static bool conv_dynamic_fits_columns(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return !s->depthwise && !conv_dynamic_fits_indirect(job);
}

// ---- preparing ----

// A product of rows that are copied, all taps of a pixel one after another.
static struct smr_i8_gemm_args conv_dynamic_columns_args(const struct smr_job *job) {
  const struct conv_dynamic_state *s = job->state;
  struct smr_i8_gemm_args args = {.m = 0};
  smr_dynamic_args(job, &s->dynamic, &args);
  args.k = args.a_batch_stride = s->shape.channels * s->shape.taps;
  args.a_stride = s->dynamic.linear.groups * args.k;
  args.out_stride = (size_t)s->shape.window.channels_out;
  args.out_batch_stride = s->dynamic.linear.n;
  return args;
}

// One over pointers.
static struct smr_i8_gemm_args conv_dynamic_indirect_args(const struct smr_job *job) {
  static const int8_t *const some_pointers[1] = {NULL};  // a plan asks only whether there are any
  const struct conv_dynamic_state *s = job->state;
  struct smr_i8_gemm_args args = conv_dynamic_columns_args(job);
  args.a_stride = 0;
  args.k = args.a_batch_stride = s->shape.channels;
  args.taps = s->shape.taps;
  args.indirect = some_pointers;
  return args;
}

// Weights, and blocks of about `rows` output pixels: room for x as bytes, and in a thread's scratch
// for `pointers` and `copy` bytes of each pixel. Nothing else where there is no output.
static samara_status conv_dynamic_cut(struct smr_job *job, size_t rows, size_t pointers,
                                      size_t copy) {
  struct conv_dynamic_state *s = job->state;
  const size_t x = (size_t)smr_numel(job->inputs[0]), pixels = s->shape.pixels;
  const size_t batch = (size_t)s->shape.window.batch, mr = smr_i8_gemm_config(job->isa)->mr;
  size_t count, offset;
  smr_conv_linear(&s->shape, &s->dynamic.linear);
  s->dynamic.linear.bytes_by_row = s->shape.depthwise;
  SMR_TRY(smr_dynamic_prepare(job, SMR_ATTR_GROUP(job, conv_dynamic, epilogue), &s->dynamic));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  s->image = x / batch;
  s->pieces = s->image / CONV_DYNAMIC_PIECE + 1;
  SMR_TRY(smr_scratch_take(job, x, 1, &s->q_offset));
  SMR_TRY(smr_scratch_take(job, batch * s->pieces, sizeof(uint32_t), &s->peak_offset));
  SMR_TRY(smr_scratch_take(job, batch, sizeof(float), &s->scale_offset));
  SMR_TRY(smr_scratch_take(job, (size_t)s->shape.window.channels_in, 1, &s->pad_offset));
  s->rows = rows < mr ? mr : rows - rows % mr;
  if (s->rows > pixels) s->rows = pixels;
  s->blocks = pixels / s->rows + (pixels % s->rows != 0);
  if (!smr_mul_size(s->rows, pointers, &count)) count = SIZE_MAX;
  SMR_TRY(smr_thread_scratch_take(job, count, sizeof(int8_t *), &offset));
  SMR_TRY(smr_thread_scratch_take(job, s->rows, sizeof(float), &s->row_offset));
  if (!smr_mul_size(s->rows, copy, &count)) count = SIZE_MAX;
  return copy != 0 ? smr_thread_scratch_take(job, count, 1, &s->copy_offset) : SAMARA_OK;
}

// Phases and products of the blocks: each a tile, unless tiles of the product are.
static void conv_dynamic_plan(struct smr_job *job, struct smr_i8_gemm_args args, bool whole) {
  struct conv_dynamic_state *s = job->state;
  const struct smr_i8_gemm_config *config = smr_i8_gemm_config(job->isa);
  const size_t first = (size_t)s->shape.window.batch * s->pieces;
  args.m = s->rows;
  smr_i8_gemm_plan_make(config, &args, &s->plan);
  args.m = s->shape.pixels - (s->blocks - 1) * s->rows;
  smr_i8_gemm_plan_make(config, &args, &s->tail);
  job->kernel = s->plan.kernel;
  s->units = whole ? 1 : s->plan.units;
  job->barriers[0] = first;
  job->barriers[1] = 2 * first;
  job->tiles = 2 * first + (s->blocks - 1) * s->units + (whole ? 1 : s->tail.units);
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

// Which pixels the taps of a block meet.
static void conv_dynamic_points(const struct smr_job *job, const struct conv_dynamic_block *b) {
  const struct conv_dynamic_state *s = job->state;
  smr_conv_indirection_i8(
      &s->shape.window, conv_dynamic_scratch(job, s->q_offset), (size_t)s->shape.window.channels_in,
      conv_dynamic_scratch(job, s->pad_offset), b->first, b->count, b->pointers);
}

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

static samara_status conv_dynamic_depthwise_block(const struct smr_job *job,
                                                  const struct conv_dynamic_block *b, size_t unit,
                                                  size_t count) {
  (void)unit, (void)count;
  const struct conv_dynamic_state *s = job->state;
  struct smr_i8_gemm_args like = {.m = 0};
  smr_dynamic_args(job, &s->dynamic, &like);
  const size_t channels = s->dynamic.linear.n;
  int32_t *sums = b->copy;
  conv_dynamic_points(job, b);
  const struct smr_i8_dwconv_indirect_args args = {
      .pixels = b->count,
      .taps = s->shape.taps,
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
  return SAMARA_OK;
}

static samara_status conv_dynamic_depthwise_prepare(struct smr_job *job) {
  struct conv_dynamic_state *s = job->state;
  const size_t sums = (size_t)s->shape.window.channels_out * sizeof(int32_t);
  s->compute = conv_dynamic_depthwise_block;
  SMR_TRY(conv_dynamic_cut(job, CONV_DYNAMIC_POINTERS / s->shape.taps, s->shape.taps, sums));
  if (s->blocks == 0) return SAMARA_OK;
  conv_dynamic_plan(job, conv_dynamic_columns_args(job), true);
  job->kernel = "i8_dwconv_indirect";
  return SAMARA_OK;
}

// What an output pixel meets is copied into a row.
static samara_status conv_dynamic_columns_block(const struct smr_job *job,
                                                const struct conv_dynamic_block *b, size_t unit,
                                                size_t count) {
  (void)unit, (void)count;
  const struct conv_dynamic_state *s = job->state;
  struct smr_i8_gemm_args args = conv_dynamic_columns_args(job);
  args.m = b->count;
  const struct smr_qpatches patches = {
      .window = &s->shape.window,
      .x = conv_dynamic_scratch(job, s->q_offset),
      .pixel_stride = (size_t)s->shape.window.channels_in,
      .groups = s->dynamic.linear.groups,
      .channels = s->shape.channels,
      .row_stride = args.a_stride,
  };
  SMR_TRY(smr_qpatches_gather(b->watch, &patches, b->first, b->count, b->copy));
  args.a = b->copy;
  args.row_scale = b->scales;
  args.out = b->out;
  smr_i8_gemm_run(b->plan, &args, 0, b->plan->units);
  return SAMARA_OK;
}

static samara_status conv_dynamic_columns_prepare(struct smr_job *job) {
  struct conv_dynamic_state *s = job->state;
  const size_t row = s->shape.groups * s->shape.taps * s->shape.channels;
  s->compute = conv_dynamic_columns_block;
  SMR_TRY(conv_dynamic_cut(job, CONV_DYNAMIC_COPIED / (row != 0 ? row : 1), 0, row));
  if (s->blocks != 0) conv_dynamic_plan(job, conv_dynamic_columns_args(job), true);
  return SAMARA_OK;
}

// Many channels, in fours: a product over pointers. An activation takes whole pixels.
static bool conv_dynamic_is_whole(const struct conv_dynamic_state *s) {
  return s->dynamic.linear.post.function != NULL;
}

static samara_status conv_dynamic_indirect_block(const struct smr_job *job,
                                                 const struct conv_dynamic_block *b, size_t unit,
                                                 size_t count) {
  const struct conv_dynamic_state *s = job->state;
  struct smr_i8_gemm_args args = conv_dynamic_indirect_args(job);
  args.m = b->count;
  conv_dynamic_points(job, b);
  args.indirect = b->pointers;
  args.pad = conv_dynamic_scratch(job, s->pad_offset);
  args.row_scale = b->scales;
  args.out = b->out;
  const bool whole = conv_dynamic_is_whole(s);
  smr_i8_gemm_run(b->plan, &args, whole ? 0 : unit, whole ? b->plan->units : unit + count);
  return SAMARA_OK;
}

static samara_status conv_dynamic_indirect_prepare(struct smr_job *job) {
  struct conv_dynamic_state *s = job->state;
  s->compute = conv_dynamic_indirect_block;
  SMR_TRY(conv_dynamic_cut(job, CONV_DYNAMIC_POINTERS / s->shape.taps, s->shape.taps, 0));
  if (s->blocks != 0)
    conv_dynamic_plan(job, conv_dynamic_indirect_args(job), conv_dynamic_is_whole(s));
  return SAMARA_OK;
}

static samara_status conv_dynamic_block(struct smr_deadline_watch *watch, size_t block, size_t unit,
                                        size_t count, char *thread_scratch) {
  const struct smr_job *job = watch->job;
  const struct conv_dynamic_state *s = job->state;
  const size_t first = block * s->rows, left = s->shape.pixels - first;
  const size_t per = s->shape.pixels / (size_t)s->shape.window.batch;
  const size_t channels = (size_t)s->shape.window.channels_out;
  float *scales = (float *)(void *)(thread_scratch + s->row_offset);
  const struct conv_dynamic_block b = {
      .watch = watch,
      .plan = block + 1 < s->blocks ? &s->plan : &s->tail,
      .first = first,
      .count = left < s->rows ? left : s->rows,
      .scales = scales,
      .pointers = (const int8_t **)(void *)thread_scratch,
      .copy = thread_scratch + s->copy_offset,
      .out = (float *)job->outputs[0]->data + first * channels,
  };
  const float *of_images = conv_dynamic_scratch(job, s->scale_offset);
  for (size_t i = 0; i < b.count; i++) scales[i] = of_images[(first + i) / per];
  SMR_TRY(s->compute(job, &b, unit, count));
  if (s->dynamic.linear.post.function != NULL)
    smr_linear_post((void *)(uintptr_t)&s->dynamic.linear.post, b.out, b.count, channels, channels,
                    SMR_GEMM_F32);
  return SAMARA_OK;
}

static samara_status conv_dynamic_run(const struct smr_job *job, size_t begin, size_t end,
                                      void *thread_scratch) {
  const struct conv_dynamic_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    if (job->tiles == 0) return SAMARA_OK;
    smr_dynamic_prologue(job, &s->dynamic);
    memset(conv_dynamic_scratch(job, s->pad_offset), 0, (size_t)s->shape.window.channels_in);
    return SAMARA_OK;
  }
  const size_t pieces = (size_t)s->shape.window.batch * s->pieces, last = s->blocks - 1;
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
    SMR_TRY(conv_dynamic_block(&watch, block, unit, count, thread_scratch));
    begin += count;
  }
  return SAMARA_OK;
}

// ---- the table ----

// All give the same bits. What every node needs stands for rows that a build keeps in any case.
static const struct smr_algorithm conv_dynamic_depthwise = {
    .name = "depthwise",
    .part = SMR_PART_i8_gemm_to_f32,
    .fits = conv_dynamic_fits_depthwise,
    .prepare = conv_dynamic_depthwise_prepare,
    .run = conv_dynamic_run,
};

static const struct smr_algorithm conv_dynamic_indirect = {
    .name = "indirect",
    .part = SMR_PART_i8_gemm_indirect,
    .fits = conv_dynamic_fits_indirect,
    .fits_any = SMR_ALGORITHM_ANY(conv_dynamic_any_indirect),
    .prepare = conv_dynamic_indirect_prepare,
    .run = conv_dynamic_run,
};

static const struct smr_algorithm conv_dynamic_columns = {
    .name = "columns",
    .part = SMR_PART_i8_gemm_to_f32,
    .fits = conv_dynamic_fits_columns,
    .prepare = conv_dynamic_columns_prepare,
    .run = conv_dynamic_run,
};

static const struct smr_algorithm *const conv_dynamic_rows[] = {
    &conv_dynamic_depthwise,
    SMR_ALGORITHM(i8_gemm_indirect, conv_dynamic_indirect),
    &conv_dynamic_columns,
};

static const struct smr_algorithms conv_dynamic_algorithms = {
    .begin = conv_dynamic_begin,
    .count = sizeof conv_dynamic_rows / sizeof *conv_dynamic_rows,
    .rows = conv_dynamic_rows,
};

const struct smr_op_funcs smr_op_conv_dynamic_funcs = {
    .check = conv_dynamic_check,
    .prepare = smr_prepare_algorithm,
    .pack = conv_dynamic_pack,
    .algorithms = &conv_dynamic_algorithms,
    .state_bytes = sizeof(struct conv_dynamic_state),
};
