// SPDX-License-Identifier: Apache-2.0
// Transposed convolution to few output channels: vectors run along pixels.
//
// With, for example, three output channels the other algorithms would leave most of a vector empty.
// Here the transposed weights of all taps are multiplied by rows of input pixels. The products of
// each tap, a run of pixels, are added to the output pixels that they contribute to. The sums are
// kept as one plane per channel and interleaved at the end.
//
// Outputs are divided into bands of rows. A band reads every input row that contributes to it and
// adds them in order. So bands are independent, and the order of each sum is fixed.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "base/checked.h"
#include "kernels/f32_fold/f32_fold.h"
#include "kernels/pack/pack_f32.h"
#include "kernels/pack/transpose_f32.h"
#include "ops/check/check.h"
#include "ops/conv/conv_shape.h"

#include <math.h>
#include <string.h>

enum {
  CONV_TRANSPOSE_FOLD_CHANNELS = 7,  // at most: leaves half of a 16-lane vector empty elsewhere
  CONV_TRANSPOSE_FOLD_STRIDED = 16,  // at most with strides: the alternative is a product per phase
                                     // of a row
  CONV_TRANSPOSE_FOLD_COLUMNS = 2048,  // at most: taps * channels
  CONV_TRANSPOSE_FOLD_TILES = 32,      // enough to keep several threads busy
  CONV_TRANSPOSE_FOLD_EXTENTS =
      4,  // window extents per band: rows that bands share are computed twice
  CONV_TRANSPOSE_FOLD_PRODUCTS = 48 << 10,  // floats of products held at a time: a share of L2
  CONV_TRANSPOSE_FOLD_BLOCK = 16,           // most input rows at a time
  CONV_TRANSPOSE_FOLD_PLANES = 64 << 10,    // floats of a band's sums
};

// Requires float32, one group, few output channels, weights whose taps are adjacent, and no
// dilation along rows.
bool smr_conv_transpose_fits_fold(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  const struct smr_window *w = &s->phases.window;
  const struct smr_tensor *weights = job->inputs[1];
  const size_t taps = (size_t)smr_window_taps(w);
  return job->outputs[0]->dtype == SAMARA_FLOAT32 && weights->dtype == SAMARA_FLOAT32 &&
         weights->layout == SMR_LAYOUT_PLAIN && job->input_count == 2 && s->phases.groups == 1 &&
         w->spatial < 3 && w->dilation[2] == 1 &&
         s->phases.n <=
             (w->stride[2] > 1 ? CONV_TRANSPOSE_FOLD_STRIDED : CONV_TRANSPOSE_FOLD_CHANNELS) &&
         taps > 1 && taps * s->phases.n <= CONV_TRANSPOSE_FOLD_COLUMNS && s->n_stride == 1 &&
         s->tap_stride == s->phases.n && s->k_stride == taps * s->phases.n;
}

// Rows of the product matrix: taps times channels.
static size_t fold_rows(const struct smr_conv_transpose *s) {
  return (size_t)smr_window_taps(&s->phases.window) * s->phases.n;
}

static int64_t fold_floor(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// A band's sums are planes [phase][channel][row][length]. Output column i * stride + phase of a row
// is element `base` + i, so that the contribution of a tap to a phase is contiguous.
struct fold_planes {
  size_t base, length;
};

static struct fold_planes fold_planes_of(const struct smr_window *w) {
  const int64_t low = fold_floor(-w->pad_begin[2], w->stride[2]);
  const int64_t high = fold_floor(w->kernel[2] - 1 - w->pad_begin[2], w->stride[2]);
  const int64_t base = low < 0 ? -low : 0, wide = (w->out[2] + w->stride[2] - 1) / w->stride[2];
  const int64_t reach = w->in[2] + (high > 0 ? high : 0);
  return (struct fold_planes){(size_t)base, (size_t)(base + (reach > wide ? reach : wide))};
}

static size_t fold_plane_count(const struct smr_conv_transpose *s) {
  return (size_t)s->phases.window.stride[2] * s->phases.n;
}

// Number of input rows multiplied at a time.
static size_t fold_block(const struct smr_conv_transpose *s) {
  const size_t width = (size_t)s->phases.window.in[2] + 1;
  const size_t rows = CONV_TRANSPOSE_FOLD_PRODUCTS / fold_rows(s) / width;
  return rows == 0 ? 1 : rows < CONV_TRANSPOSE_FOLD_BLOCK ? rows : CONV_TRANSPOSE_FOLD_BLOCK;
}

// The products of `rows` input rows: transposed weights times pixels. Pixels are packed as weights
// usually are.
static struct smr_f32_gemm_args fold_args(const struct smr_conv_transpose *s, size_t rows) {
  const size_t columns = smr_panels(rows * (size_t)s->phases.window.in[2]) * SMR_PANEL;
  return (struct smr_f32_gemm_args){
      .batch = 1,
      .m = fold_rows(s),
      .n = columns,
      .k = s->phases.channels,
      .taps = 1,
      .a_stride = s->phases.channels,
      .w_type = SMR_GEMM_F32,
      .panel_stride_bytes = smr_panel_stride_bytes(s->phases.channels, sizeof(float)),
      .out_type = SMR_GEMM_F32,
      .out_stride = columns,
      .lo = -INFINITY,
      .hi = INFINITY,
  };
}

static bool fold_any(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return job->inputs[1]->dtype == SAMARA_FLOAT32 && (smr_weights_vary(job) || !s->by_channel);
}

static samara_status fold_kernels(struct smr_job *job) { return smr_linear_need_any(job); }

static samara_status fold_prepare_bands(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  const struct smr_window *w = &s->phases.window;
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  const size_t height = (size_t)w->out[1], batch = (size_t)w->batch;
  const size_t bands = (CONV_TRANSPOSE_FOLD_TILES + batch - 1) / batch;
  const size_t least = CONV_TRANSPOSE_FOLD_EXTENTS * (size_t)smr_window_extent(w, 1);
  const struct fold_planes planes = fold_planes_of(w);
  const size_t most = CONV_TRANSPOSE_FOLD_PLANES / planes.length / fold_plane_count(s);
  s->phases.rows = (height + bands - 1) / bands;
  if (s->phases.rows > most) s->phases.rows = most;
  if (s->phases.rows < least) s->phases.rows = least;
  if (s->phases.rows > height) s->phases.rows = height;
  job->tiles = batch * ((height + s->phases.rows - 1) / s->phases.rows);
  const struct smr_f32_gemm_args args = fold_args(s, fold_block(s));
  smr_f32_gemm_plan_make(smr_linear_config(job), &args, &s->plan);
  job->kernel = s->plan.kernel;
  SMR_TRY(smr_scratch_take(job, args.m * args.k, sizeof(float), &s->zero_offset));
  size_t first;
  SMR_TRY(smr_thread_scratch_take(job, args.n, args.m * sizeof(float), &first));
  SMR_TRY(
      smr_thread_scratch_take(job, args.n / SMR_PANEL, args.panel_stride_bytes, &s->pixels_offset));
  size_t sums;
  if (!smr_mul_size(planes.length, s->phases.rows, &sums) ||
      !smr_mul_size(sums, fold_plane_count(s), &sums))
    sums = SIZE_MAX;
  return smr_thread_scratch_take(job, sums, sizeof(float), &s->planes_offset);
}

// Transpose the weights.
static void fold_prologue(const struct smr_job *job, const struct smr_conv_transpose *s) {
  float *weights = (float *)(void *)((char *)job->scratch + s->zero_offset);
  smr_transpose_f32(s->phases.channels, fold_rows(s), job->inputs[1]->data, fold_rows(s), weights,
                    s->phases.channels, job->isa);
}

// A band of output rows [y0, y1) of an image, and a thread's buffers for it.
struct fold_band {
  const struct smr_conv_transpose *s;
  const float *image;
  int64_t y0, y1;
  float *products, *pixels, *sums;
  smr_f32_fold_ukernel add;
};

// Add the products of input rows [begin, begin + rows) for one row of taps to the band.
static void fold_taps(const struct fold_band *b, int64_t begin, int64_t rows, int64_t ty,
                      size_t columns) {
  const struct smr_conv_transpose *s = b->s;
  const struct smr_window *w = &s->phases.window;
  const struct fold_planes planes = fold_planes_of(w);
  // Input row r contributes to output row r * stride + shift. Keep those in the band.
  const int64_t step = w->stride[1], shift = ty * w->dilation[1] - w->pad_begin[1];
  int64_t from = fold_floor(b->y0 - shift + step - 1, step);
  int64_t to = fold_floor(b->y1 - 1 - shift, step) + 1;
  if (from < begin) from = begin;
  if (to > begin + rows) to = begin + rows;
  if (from >= to) return;
  const size_t width = (size_t)w->in[2], high = (size_t)(b->y1 - b->y0);
  const size_t top = (size_t)(from * step + shift - b->y0);
  for (int64_t tx = 0; tx < w->kernel[2]; tx++) {
    const int64_t at = fold_floor(tx - w->pad_begin[2], w->stride[2]);
    const int64_t phase = tx - w->pad_begin[2] - at * w->stride[2];
    for (size_t c = 0; c < s->phases.n; c++) {
      const float *run = b->products +
                         ((size_t)(ty * w->kernel[2] + tx) * s->phases.n + c) * columns +
                         (size_t)(from - begin) * width;
      float *plane = b->sums + ((size_t)phase * s->phases.n + c) * high * planes.length;
      b->add((size_t)(to - from), 1, width, run, width,
             plane + top * planes.length + (size_t)((int64_t)planes.base + at),
             (size_t)step * planes.length);
    }
  }
}

// Add the contributions of input rows [begin, begin + rows) to the band.
static samara_status fold_add(struct smr_deadline_watch *watch, const struct fold_band *b,
                              int64_t begin, int64_t rows) {
  const struct smr_job *job = watch->job;
  const struct smr_conv_transpose *s = b->s;
  const struct smr_window *w = &s->phases.window;
  struct smr_f32_gemm_args args = fold_args(s, (size_t)rows);
  const size_t stride = (size_t)job->inputs[0]->pixel_stride;
  const struct smr_pack_f32_args pack = {
      .k = s->phases.channels,
      .n = (size_t)(rows * w->in[2]),
      .src = b->image + (size_t)(begin * w->in[2]) * stride,
      .type = SMR_GEMM_F32,
      .k_stride = 1,
      .n_stride = stride,
      .dst = b->pixels,
      .panel_stride_bytes = args.panel_stride_bytes,
  };
  smr_pack_f32(&pack, job->isa, 0, args.n / SMR_PANEL);
  args.a = (const float *)(const void *)((const char *)job->scratch + s->zero_offset);
  args.w = b->pixels;
  args.out = b->products;
  struct smr_f32_gemm_plan plan = s->plan;
  if ((size_t)rows != fold_block(s)) smr_f32_gemm_plan_make(smr_linear_config(job), &args, &plan);
  SMR_TRY(smr_linear_multiply(watch, &plan, &args, 0, plan.units));
  for (int64_t ty = 0; ty < w->kernel[1]; ty++) fold_taps(b, begin, rows, ty, args.n);
  return smr_deadline_step(watch, args.m * args.n);
}

// Store the band's sums to the output, interleaving the channels of each pixel.
static void fold_store(const struct smr_job *job, const struct fold_band *b, float *out) {
  const struct smr_conv_transpose *s = b->s;
  const struct smr_window *w = &s->phases.window;
  const struct fold_planes planes = fold_planes_of(w);
  const size_t high = (size_t)(b->y1 - b->y0), count = fold_plane_count(s);
  const size_t width = (size_t)w->out[2] * s->phases.n;
  for (size_t y = 0; y < high; y++, out += width) {
    const float *row = b->sums + y * planes.length + planes.base;
    size_t done = 0;
    if (count % SMR_PANEL == 0) {
      done = width / count;
      smr_transpose_f32(count, done, row, high * planes.length, out, count, job->isa);
    }
    for (size_t plane = 0; plane < count; plane++) {
      const float *from = row + plane * high * planes.length + done;
      for (size_t i = done * count + plane; i < width; i += count) out[i] = *from++;
    }
  }
}

static samara_status fold_run_bands(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  const struct smr_conv_transpose *s = job->state;
  const struct smr_window *w = &s->phases.window;
  if (begin == end) {  // alone, before the tiles
    if (job->tiles != 0) fold_prologue(job, s);
    return SAMARA_OK;
  }
  const size_t bands = ((size_t)w->out[1] + s->phases.rows - 1) / s->phases.rows;
  const size_t in_image = (size_t)(w->in[1] * w->in[2]) * (size_t)job->inputs[0]->pixel_stride;
  const size_t row_floats = (size_t)w->out[2] * s->phases.n;
  const int64_t block = (int64_t)fold_block(s);
  char *scratch = thread_scratch;
  struct smr_deadline_watch watch = {.job = job};
  for (size_t tile = begin; tile < end; tile++) {
    const size_t image = tile / bands;
    const int64_t y0 = (int64_t)(tile % bands * s->phases.rows),
                  last = y0 + (int64_t)s->phases.rows;
    const struct fold_band b = {
        .s = s,
        .image = (const float *)job->inputs[0]->data + image * in_image,
        .y0 = y0,
        .y1 = last < w->out[1] ? last : w->out[1],
        .products = thread_scratch,
        .pixels = (float *)(void *)(scratch + s->pixels_offset),
        .sums = (float *)(void *)(scratch + s->planes_offset),
        .add = smr_f32_fold_kernel(job->isa),
    };
    const size_t sums = fold_plane_count(s) * (size_t)(b.y1 - y0) * fold_planes_of(w).length;
    memset(b.sums, 0, sums * sizeof *b.sums);
    // Input rows that contribute to the band.
    const int64_t low = y0 + w->pad_begin[1] - smr_window_extent(w, 1) + 1;
    const int64_t from = low > 0 ? (low + w->stride[1] - 1) / w->stride[1] : 0;
    const int64_t reach = fold_floor(b.y1 - 1 + w->pad_begin[1], w->stride[1]) + 1;
    const int64_t to = w->in[2] == 0 ? from : reach < w->in[1] ? reach : w->in[1];
    for (int64_t row = from; row < to; row += block)
      SMR_TRY(fold_add(&watch, &b, row, to - row < block ? to - row : block));
    fold_store(
        job, &b,
        (float *)job->outputs[0]->data + (image * (size_t)w->out[1] + (size_t)y0) * row_floats);
  }
  return SAMARA_OK;
}

const struct smr_algorithm smr_conv_transpose_fold = {
    .name = "fold",
    .part = SMR_PART_spread_fold,
    .fits = smr_conv_transpose_fits_fold,
    .fits_any = SMR_ALGORITHM_ANY(fold_any),
    .kernels = SMR_ALGORITHM_DOES(spread_fold, fold_kernels),
    .prepare = SMR_ALGORITHM_DOES(spread_fold, fold_prepare_bands),
    .run = SMR_ALGORITHM_DOES(spread_fold, fold_run_bands),
};
