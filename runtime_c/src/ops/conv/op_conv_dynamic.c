// SPDX-License-Identifier: Apache-2.0
// conv_dynamic: convolutions of float32 images by quantized weights. Images are quantized while it
// runs.
//
// Three phases: find the peak of each image, part of an image per tile; quantize the images;
// multiply blocks of output pixels, over windows or, if depthwise, over pointers to pixels. With
// one scale for all of x, the first phase finds ranges, and x has a zero point.
#include "base/fp.h"

#include "base/checked.h"
#include "base/cut.h"
#include "base/lean.h"
#include "kernels/i8_dwconv/i8_dwconv.h"

#include "ops/algorithm.h"
#include "ops/check/check.h"
#include "ops/conv/conv_indirection.h"
#include "ops/conv/conv_shape.h"
#include "ops/conv/qwindows.h"
#include "ops/matmul/dynamic.h"
#include "ops/partition.h"
#include "ops/table/funcs.h"
#include "simd/common.h"

#include <string.h>

enum {
  CONV_DYNAMIC_PIECE = 16 * 1024,               // elements of x per tile of the first two phases
  CONV_DYNAMIC_POINTERS = SMR_LEAN(4096, 256),  // per block of output pixels
};

struct conv_dynamic_state {
  struct smr_conv_shape shape;
  struct smr_dynamic dynamic;
  size_t image, pieces;          // elements of an image of x; tiles that it is divided into
  size_t q_offset;               // in scratch: x as bytes
  size_t peak_offset;            // peaks of tiles
  size_t scale_offset;           // scales of output pixels
  bool whole;                    // all of x has one scale and a zero point
  size_t range_offset;           // then: ranges of tiles, in place of peaks
  size_t zero_offset;            // the zero point
  size_t shift_offset;           // depthwise: what the zero point adds to the sums of channels
  struct smr_i8_gemm_plan plan;  // of the algorithm `point`
  struct smr_qwindows windows;
  size_t rows;         // depthwise: output pixels per block
  size_t pad_offset;   // in scratch: a pixel of padding bytes
  size_t sums_offset;  // in thread scratch, after the pointers
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

static bool conv_dynamic_fits_windows(const struct smr_job *job) {
  return !conv_dynamic_fits_depthwise(job) && !smr_conv_fits_point(job);
}

// A resize may add padding or change the dims of computed weights.
static bool conv_dynamic_any_windows(const struct smr_job *job) {
  return conv_dynamic_fits_windows(job) || job->inputs[1]->constant < 0 ||
         (!conv_dynamic_fits_depthwise(job) && SMR_ATTR(job, conv_dynamic, pads)->varies);
}

static bool conv_dynamic_fills(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return smr_qwindows_fills(job, &s->window, s->groups);
}

static samara_status conv_dynamic_windows_kernels(struct smr_job *job) {
  SMR_NEED(job, i8_gemm_join);
  if (conv_dynamic_fills(job)) SMR_NEED(job, linear_pack);
  return SAMARA_OK;
}

// ---- preparing ----

static void *conv_dynamic_scratch(const struct smr_job *job, size_t offset) {
  return job->scratch != NULL ? (char *)job->scratch + offset : NULL;
}

// Decide where the weights lie; take scratch for the quantized x.
static samara_status conv_dynamic_take(struct smr_job *job) {
  struct conv_dynamic_state *s = job->state;
  const size_t x = (size_t)smr_numel(job->inputs[0]), batch = (size_t)s->shape.window.batch;
  SMR_TRY(smr_dynamic_prepare(job, SMR_ATTR_GROUP(job, conv_dynamic, epilogue), &s->dynamic));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  s->image = x / batch;
  s->pieces = s->image / CONV_DYNAMIC_PIECE + 1;
  s->whole = SMR_ATTR(job, conv_dynamic, range)->i != 0;
  SMR_TRY(smr_scratch_take(job, x, 1, &s->q_offset));
  if (s->whole) {
    SMR_TRY(smr_scratch_take(job, batch * s->pieces, sizeof(struct smr_i8_dynamic_range),
                             &s->range_offset));
    SMR_TRY(smr_scratch_take(job, 1, sizeof(int32_t), &s->zero_offset));
    if (conv_dynamic_fits_depthwise(job))
      SMR_TRY(smr_scratch_take(job, s->dynamic.linear.n, sizeof(int32_t), &s->shift_offset));
  } else {
    SMR_TRY(smr_scratch_take(job, batch * s->pieces, sizeof(uint32_t), &s->peak_offset));
  }
  return smr_scratch_take(job, s->shape.pixels, sizeof(float), &s->scale_offset);
}

// Set up the first two phases, and `tiles` tiles of the last.
static void conv_dynamic_phases(struct smr_job *job, size_t tiles) {
  const struct conv_dynamic_state *s = job->state;
  const size_t first = (size_t)s->shape.window.batch * s->pieces;
  job->barriers[0] = first;
  job->barriers[1] = 2 * first;
  if (!smr_add_size(2 * first, tiles, &job->tiles)) job->tiles = SIZE_MAX;
}

// ---- quantizing images ----

// First element and number of elements of tile `tile`, counted over all images.
static size_t conv_dynamic_piece(const struct conv_dynamic_state *s, size_t tile, size_t *first) {
  const size_t at = tile % s->pieces * CONV_DYNAMIC_PIECE;
  *first = tile / s->pieces * s->image + at;
  return s->image - at < CONV_DYNAMIC_PIECE ? s->image - at : CONV_DYNAMIC_PIECE;
}

static void conv_dynamic_peak(const struct smr_job *job, const struct conv_dynamic_state *s,
                              size_t tile) {
  size_t first;
  const size_t n = conv_dynamic_piece(s, tile, &first);
  const float *x = (const float *)job->inputs[0]->data + first;
  if (s->whole) {
    struct smr_i8_dynamic_range *ranges = conv_dynamic_scratch(job, s->range_offset);
    ranges[tile] = smr_i8_dynamic_kernels(job->isa)->find(n, x);
    return;
  }
  uint32_t *peaks = conv_dynamic_scratch(job, s->peak_offset);
  peaks[tile] = smr_i8_dynamic_kernels(job->isa)->peak(n, x);
}

static int32_t conv_dynamic_zero(const struct smr_job *job) {
  const struct conv_dynamic_state *s = job->state;
  return s->whole ? *(const int32_t *)conv_dynamic_scratch(job, s->zero_offset) : 0;
}

// What the zero point means for the products. Tile 0 of the second phase calls it.
static void conv_dynamic_settle(const struct smr_job *job, const struct conv_dynamic_state *s,
                                int32_t zero) {
  *(int32_t *)conv_dynamic_scratch(job, s->zero_offset) = zero;
  if (!conv_dynamic_fits_depthwise(job)) {
    smr_dynamic_shift(job, &s->dynamic, zero);
    return;
  }
  smr_dynamic_shifts(job, &s->dynamic, zero, conv_dynamic_scratch(job, s->shift_offset));
  memset(conv_dynamic_scratch(job, s->pad_offset), zero, (size_t)s->shape.window.channels_in);
}

static void conv_dynamic_place(const struct smr_job *job, const struct conv_dynamic_state *s,
                               size_t tile) {
  const struct smr_i8_dynamic_range *ranges = conv_dynamic_scratch(job, s->range_offset);
  struct smr_i8_dynamic_range range = ranges[0];
  for (size_t i = 1; i < (size_t)s->shape.window.batch * s->pieces; i++)
    range = smr_i8_dynamic_join(range, ranges[i]);
  const struct smr_i8_dynamic_places found = smr_i8_dynamic_places(range);
  size_t first;
  const size_t n = conv_dynamic_piece(s, tile, &first);
  int8_t *q = (int8_t *)conv_dynamic_scratch(job, s->q_offset) + first;
  if (found.scale > 0.0f)
    smr_i8_dynamic_kernels(job->isa)->place(n, (const float *)job->inputs[0]->data + first,
                                            found.scale, found.zero, q);
  else if (n > 0)
    memset(q, 0, n);
  if (tile != 0) return;
  float *scales = conv_dynamic_scratch(job, s->scale_offset);
  for (size_t i = 0; i < s->shape.pixels; i++) scales[i] = found.scale;
  conv_dynamic_settle(job, s, found.zero);
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
  if (tile % s->pieces != 0) return;
  const size_t pixels = s->shape.pixels / (size_t)s->shape.window.batch;
  float *scales = (float *)conv_dynamic_scratch(job, s->scale_offset) + image * pixels;
  for (size_t i = 0; i < pixels; i++) scales[i] = found.scale;
}

// Run those of tiles [*begin, *end) that belong to the first two phases. Leave the remaining range,
// counted from the start of the third phase.
static void conv_dynamic_images(const struct smr_job *job, size_t *begin, size_t *end) {
  const struct conv_dynamic_state *s = job->state;
  const size_t pieces = (size_t)s->shape.window.batch * s->pieces, first = 2 * pieces;
  for (; *begin < *end && *begin < pieces; ++*begin) conv_dynamic_peak(job, s, *begin);
  for (; *begin < *end && *begin < first; ++*begin) {
    if (s->whole)
      conv_dynamic_place(job, s, *begin - pieces);
    else
      conv_dynamic_quantize(job, s, *begin - pieces);
  }
  *end = *end > first ? *end - first : 0;
  *begin = *begin > first ? *begin - first : 0;
}

// ---- products ----

// Arguments of the product for all output pixels; groups are the product's batch.
static struct smr_i8_gemm_args conv_dynamic_args(const struct smr_job *job) {
  const struct conv_dynamic_state *s = job->state;
  struct smr_i8_gemm_args args = {.a = conv_dynamic_scratch(job, s->q_offset)};
  smr_dynamic_args(job, &s->dynamic, &args);
  args.m = s->shape.pixels;
  args.k = args.a_batch_stride = s->shape.channels;
  args.a_stride = (size_t)s->shape.window.channels_in;
  args.row_scale = conv_dynamic_scratch(job, s->scale_offset);
  args.out = job->outputs[0]->data;
  args.out_stride = (size_t)s->shape.window.channels_out;
  args.out_batch_stride = s->dynamic.linear.n;
  return args;
}

static samara_status conv_dynamic_point_prepare(struct smr_job *job) {
  struct conv_dynamic_state *s = job->state;
  smr_conv_linear(&s->shape, &s->dynamic.linear);
  SMR_TRY(conv_dynamic_take(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  const struct smr_i8_gemm_args args = conv_dynamic_args(job);
  smr_i8_gemm_plan_make(smr_i8_gemm_config(job->isa), &args, &s->plan);
  smr_i8_gemm_plan_share(&s->plan, smr_partition(job));
  job->kernel = s->plan.kernel;
  conv_dynamic_phases(job, s->plan.units);
  return SAMARA_OK;
}

static samara_status conv_dynamic_point_run(const struct smr_job *job, size_t begin, size_t end,
                                            void *thread_scratch) {
  (void)thread_scratch;
  const struct conv_dynamic_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    if (job->tiles != 0) smr_dynamic_prologue(job, &s->dynamic);
    return SAMARA_OK;
  }
  conv_dynamic_images(job, &begin, &end);
  const struct smr_i8_gemm_args args = conv_dynamic_args(job);
  smr_i8_gemm_run(&s->plan, &args, begin, end);
  return SAMARA_OK;
}

static samara_status conv_dynamic_windows_prepare(struct smr_job *job) {
  struct conv_dynamic_state *s = job->state;
  struct smr_linear *linear = &s->dynamic.linear;
  const struct smr_i8_gemm_config *config = smr_i8_gemm_config(job->isa);
  smr_conv_linear(&s->shape, linear);
  if (conv_dynamic_fills(job) && smr_i8_gemm_native(config, SMR_I8_GROUP, false)) {
    const size_t row = (size_t)s->shape.window.kernel[2];
    linear->pads_taps = true;
    linear->tap_stride = linear->k = s->shape.channels * row;
    linear->taps = s->shape.taps / row;
    // This layout has no SMR_LINEAR_KEY_. Column sums are the same with or without filling, so they
    // use the key of one group, 1, as in every convolution.
    linear->weight_key = 1;
  }
  SMR_TRY(conv_dynamic_take(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  struct smr_i8_gemm_args args = conv_dynamic_args(job);
  SMR_TRY(smr_qwindows_prepare(job, &s->shape.window, config, s->dynamic.shifted, linear->pads_taps,
                               &args, &s->windows));
  conv_dynamic_phases(job, s->windows.tiles);
  return SAMARA_OK;
}

static samara_status conv_dynamic_windows_run(const struct smr_job *job, size_t begin, size_t end,
                                              void *thread_scratch) {
  const struct conv_dynamic_state *s = job->state;
  if (begin == end) {
    if (job->tiles == 0) return SAMARA_OK;
    smr_dynamic_prologue(job, &s->dynamic);
    smr_qwindows_prologue(job, &s->shape.window, &s->windows);
    return SAMARA_OK;
  }
  conv_dynamic_images(job, &begin, &end);
  const struct smr_i8_gemm_args args = conv_dynamic_args(job);
  return smr_qwindows_run(job, &s->shape.window, &s->windows, &args, conv_dynamic_zero(job), begin,
                          end, thread_scratch);
}

// ---- depthwise ----

static samara_status conv_dynamic_depthwise_prepare(struct smr_job *job) {
  struct conv_dynamic_state *s = job->state;
  const size_t pixels = s->shape.pixels, channels = (size_t)s->shape.window.channels_out;
  size_t count, offset;
  smr_conv_linear(&s->shape, &s->dynamic.linear);
  s->dynamic.linear.bytes_by_row = true;
  SMR_TRY(conv_dynamic_take(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  job->kernel = "i8_dwconv_indirect";
  s->rows = CONV_DYNAMIC_POINTERS / s->shape.taps;
  if (s->rows > pixels) s->rows = pixels;
  if (s->rows == 0) s->rows = 1;
  conv_dynamic_phases(job, smr_ceil_div(pixels, s->rows));
  SMR_TRY(smr_scratch_take(job, channels, 1, &s->pad_offset));
  if (!smr_mul_size(s->rows, s->shape.taps, &count)) count = SIZE_MAX;
  SMR_TRY(smr_thread_scratch_take(job, count, sizeof(int8_t *), &offset));
  if (!smr_mul_size(s->rows, channels, &count)) count = SIZE_MAX;
  return smr_thread_scratch_take(job, count, sizeof(int32_t), &s->sums_offset);
}

// Add `shift` to the sums of one pixel.
SMR_VECTORIZED static void conv_dynamic_add(size_t n, const int32_t *restrict shift,
                                            int32_t *restrict sums) {
  for (size_t c = 0; c < n; c++) sums[c] = (int32_t)((uint32_t)sums[c] + (uint32_t)shift[c]);
}

// Convert the sums of one pixel to floats. `bias` may be NULL.
SMR_VECTORIZED static void conv_dynamic_finish(size_t n, const int32_t *sums, float scale,
                                               const float *multiplier, const float *bias, float lo,
                                               float hi, float *restrict y) {
  if (bias != NULL)
    for (size_t c = 0; c < n; c++) y[c] = (float)sums[c] * (scale * multiplier[c]) + bias[c];
  else
    for (size_t c = 0; c < n; c++) y[c] = (float)sums[c] * (scale * multiplier[c]) + 0.0f;
  for (size_t c = 0; c < n; c++) {  // NaN passes through
    const float above = y[c] < lo ? lo : y[c];
    y[c] = above > hi ? hi : above;
  }
}

static void conv_dynamic_depthwise_block(const struct smr_job *job,
                                         const struct smr_i8_gemm_args *like, size_t first,
                                         char *thread_scratch) {
  const struct conv_dynamic_state *s = job->state;
  const size_t left = s->shape.pixels - first, count = left < s->rows ? left : s->rows;
  const size_t channels = s->dynamic.linear.n;
  const int8_t *pad = conv_dynamic_scratch(job, s->pad_offset);
  const int8_t **pointers = (const int8_t **)(void *)thread_scratch;
  int32_t *sums = (int32_t *)(void *)(thread_scratch + s->sums_offset);
  float *out = (float *)like->out + first * channels;
  smr_conv_indirection_i8(&s->shape.window, like->a, channels, pad, first, count, pointers);
  const struct smr_i8_dwconv_indirect_args args = {
      .pixels = count,
      .taps = s->shape.taps,
      .channels = channels,
      .indirect = pointers,
      .pad = pad,
      .w = like->w,
      .panel_stride_bytes = like->panel_stride_bytes,
      .w_zero = like->columns.w_zero,
      .out = sums,
      .out_stride = channels,
      .end = {.to = SMR_I8_TO_I32},
  };
  smr_i8_dwconv_indirect_run(smr_i8_dwconv_config(job->isa), &args, 0, count);
  const int32_t *shift = conv_dynamic_scratch(job, s->shift_offset);
  for (size_t i = 0; s->whole && i < count; i++)
    conv_dynamic_add(channels, shift, sums + i * channels);
  for (size_t i = 0; i < count; i++)
    conv_dynamic_finish(channels, sums + i * channels, like->row_scale[first + i],
                        like->columns.multiplier, like->columns.bias, like->f32_lo, like->f32_hi,
                        out + i * channels);
  if (like->post != NULL) like->post(like->post_context, out, count, channels, channels);
}

static samara_status conv_dynamic_depthwise_run(const struct smr_job *job, size_t begin, size_t end,
                                                void *thread_scratch) {
  const struct conv_dynamic_state *s = job->state;
  if (begin == end) {
    if (job->tiles == 0) return SAMARA_OK;
    smr_dynamic_prologue(job, &s->dynamic);
    memset(conv_dynamic_scratch(job, s->pad_offset), 0, (size_t)s->shape.window.channels_in);
    return SAMARA_OK;
  }
  conv_dynamic_images(job, &begin, &end);
  const struct smr_i8_gemm_args like = conv_dynamic_args(job);
  struct smr_deadline_watch watch = {.job = job};
  for (; begin < end; begin++) {
    SMR_TRY(smr_deadline_step(&watch, SMR_DEADLINE_WORK));
    conv_dynamic_depthwise_block(job, &like, begin * s->rows, thread_scratch);
  }
  return SAMARA_OK;
}

// ---- the table ----

// All rows give the same bits. Parts that every node needs stand for rows that every build keeps.
static const struct smr_algorithm conv_dynamic_depthwise = {
    .name = "depthwise",
    .part = SMR_PART_i8_gemm_to_f32,
    .fits = conv_dynamic_fits_depthwise,
    .prepare = conv_dynamic_depthwise_prepare,
    .run = conv_dynamic_depthwise_run,
};

static const struct smr_algorithm conv_dynamic_point = {
    .name = "point",
    .part = SMR_PART_i8_gemm_to_f32,
    .fits = smr_conv_fits_point,
    .prepare = conv_dynamic_point_prepare,
    .run = conv_dynamic_point_run,
};

static const struct smr_algorithm conv_dynamic_windows = {
    .name = "windows",
    .part = SMR_PART_i8_gemm_windows,
    .fits = conv_dynamic_fits_windows,
    .fits_any = SMR_ALGORITHM_ANY(conv_dynamic_any_windows),
    .kernels = conv_dynamic_windows_kernels,
    .prepare = conv_dynamic_windows_prepare,
    .run = conv_dynamic_windows_run,
};

static const struct smr_algorithm *const conv_dynamic_rows[] = {
    &conv_dynamic_depthwise,
    &conv_dynamic_point,
    SMR_ALGORITHM(i8_gemm_windows, conv_dynamic_windows),
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
