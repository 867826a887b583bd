// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions, by phases of output pixels.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "kernels/f32_dwconv/f32_dwconv.h"
#include "ops/check/check.h"
#include "ops/conv/conv_transpose_depthwise.h"
#include "ops/conv/conv_transpose_fold.h"
#include "ops/conv/conv_transpose_taps.h"

#include <string.h>

enum {
  CONV_TRANSPOSE_TILE_FLOPS = 1 << 19,  // work worth a hand-over to another thread
  CONV_TRANSPOSE_PHASE_WORK = 64,       // steps that finding the taps of a phase takes
};

// The packed order follows from strides and dilations: all of them in the key, or no key.
static uint32_t conv_transpose_key(const struct smr_conv_transpose *s) {
  const struct smr_window *w = &s->window;
  const bool depthwise = s->path == SMR_CONV_TRANSPOSE_DEPTHWISE;
  uint32_t key = 0;
  if (!s->derives || (s->groups >= 1 << 12 && !depthwise)) return 0;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    if (w->stride[i] > 7 || w->dilation[i] > 3) return 0;
    key = key << 5 | (uint32_t)w->stride[i] << 2 | (uint32_t)w->dilation[i];
  }
  // conv's own depthwise weights have no bit set here.
  if (depthwise) return SMR_LINEAR_KEY_DEPTHWISE | key;
  return SMR_LINEAR_KEY_TRANSPOSED | key << 12 | (uint32_t)s->groups;
}

// ---- preparing ----

// Whether phases along an axis meet no tap: of a remainder that taps do not leave, or of more than
// there are.
static bool conv_transpose_has_empty(const struct smr_conv_transpose *s, uint32_t axis) {
  return s->period[axis] != s->window.stride[axis] ||
         s->window.kernel[axis] < s->window.stride[axis];
}

static enum smr_conv_transpose_path conv_transpose_choose(const struct smr_job *job,
                                                          const struct smr_conv_transpose *s,
                                                          bool may_fold) {
  const struct smr_window *w = &s->window;
  bool strided = false, padded = false, empty = false;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    strided = strided || w->stride[i] != 1;
    padded = padded || w->pad_begin[i] != 0 || w->in[i] != w->out[i];
    empty = empty || conv_transpose_has_empty(s, i);
  }
  if (s->groups > 1 && s->channels == 1 && s->n == 1 && !s->widens_x)
    return empty || w->spatial == 3 ? SMR_CONV_TRANSPOSE_DEPTHWISE_PHASES
                                    : SMR_CONV_TRANSPOSE_DEPTHWISE;
  if (may_fold && job->inputs[1]->dtype != SAMARA_QINT8 && smr_conv_transpose_folds(job, s))
    return SMR_CONV_TRANSPOSE_FOLD;
  if (strided) return SMR_CONV_TRANSPOSE_PHASES;
  return smr_window_taps(w) == 1 && !padded ? SMR_CONV_TRANSPOSE_POINT
                                            : SMR_CONV_TRANSPOSE_INDIRECT;
}

static bool conv_transpose_is_depthwise(const struct smr_conv_transpose *s) {
  return s->path == SMR_CONV_TRANSPOSE_DEPTHWISE || s->path == SMR_CONV_TRANSPOSE_DEPTHWISE_PHASES;
}

static samara_status conv_transpose_place_weights(struct smr_job *job,
                                                  const struct smr_attrs_epilogue *epilogue,
                                                  struct smr_conv_transpose *s) {
  const bool depthwise = conv_transpose_is_depthwise(s);
  s->linear = (struct smr_linear){
      .unfolds_whole = depthwise,
      .groups = depthwise ? 1 : s->groups,
      .taps = (size_t)smr_window_taps(&s->window),
      .k = s->channels,
      .n = depthwise ? s->groups : s->n,
      .group_stride = s->group_stride,
      .tap_stride = s->tap_stride,
      .k_stride = s->k_stride,
      .n_stride = depthwise ? s->group_stride : s->n_stride,
      .source_tap = smr_conv_transpose_source_tap,
      .weight_key = conv_transpose_key(s),
  };
  return smr_linear_prepare(job, epilogue, &s->linear);
}

struct smr_f32_gemm_args smr_conv_transpose_args(const struct smr_job *job,
                                                 const struct smr_conv_transpose *s,
                                                 void *thread_scratch) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  struct smr_f32_gemm_args args = {
      .k = s->channels,
      .taps = 1,
      .a_stride = s->widens_x ? (size_t)s->window.channels_in : (size_t)x->pixel_stride,
      .a_batch_stride = s->channels,
      .out = y->data,
      .out_type = smr_linear_type(y),
      .out_batch_stride = s->n,
      .out_stride = (size_t)y->pixel_stride,
      .residual = residual != NULL ? residual->data : NULL,
      .residual_batch_stride = s->n,
      .residual_stride = residual != NULL ? (size_t)residual->pixel_stride : 0,
  };
  smr_linear_args(job, &s->linear, thread_scratch, &args);
  return args;
}

static samara_status conv_transpose_prepare_point(struct smr_job *job,
                                                  struct smr_conv_transpose *s) {
  struct smr_f32_gemm_args args = smr_conv_transpose_args(job, s, NULL);
  args.m = (size_t)(s->window.batch * smr_window_pixels(&s->window));
  SMR_TRY(smr_linear_plan(job, &args, &s->plan));
  job->kernel = s->plan.kernel;
  job->tiles = s->plan.units;
  return SAMARA_OK;
}

// With a stride of 1, tap t of output o meets o + pad - t * dilation.
static samara_status conv_transpose_prepare_indirect(struct smr_job *job,
                                                     struct smr_conv_transpose *s) {
  struct smr_window w = s->window;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    w.pad_begin[i] = -w.pad_begin[i];
    w.dilation[i] = -w.dilation[i];
  }
  SMR_TRY(smr_indirect_need(job, &w, s->n, s->linear.w_type));
  return smr_indirect_prepare(job, &s->indirect, &w, s->groups, s->channels, s->n,
                              s->linear.w_type);
}

static samara_status conv_transpose_prepare_phases(struct smr_job *job, bool has_epilogue,
                                                   struct smr_conv_transpose *s) {
  const struct smr_window *w = &s->window;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    s->clears = s->clears || conv_transpose_has_empty(s, i);
  s->clears = s->clears && !has_epilogue && job->input_count == 2;
  const size_t zeros = s->path == SMR_CONV_TRANSPOSE_PHASES ? s->channels : s->groups;
  SMR_TRY(smr_scratch_take(job, zeros, sizeof(float), &s->zero_offset));
  // Pointers for one row of output pixels of a phase: class 0 has most taps.
  const size_t stride = (size_t)w->stride[2], width = (size_t)w->out[2];
  size_t offset, most = width / stride + 1;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    if (!smr_mul_size(most, smr_conv_transpose_count(s, i, 0), &most)) most = SIZE_MAX / 2;
  SMR_TRY(smr_thread_scratch_take(job, most, sizeof(float *), &offset));
  // Tiles of some rows: all phases of a row are there, and their products are planned once.
  const double flops =
      2.0 * (double)most * (double)stride * (double)(s->channels * s->n) * (double)s->groups;
  const double enough = CONV_TRANSPOSE_TILE_FLOPS;
  s->rows = flops < enough ? (size_t)(enough / (flops + 1)) + 1 : 1;
  if (s->rows > (size_t)w->out[1]) s->rows = (size_t)w->out[1];
  job->tiles = (size_t)(w->batch * w->out[0]) * (((size_t)w->out[1] + s->rows - 1) / s->rows);
  job->kernel = s->path == SMR_CONV_TRANSPOSE_PHASES ? "f32_gemm_phases" : "f32_dwconv_phases";
  return SAMARA_OK;
}

// Needs of a path, but for those of products that are planned.
static samara_status conv_transpose_need(struct smr_job *job, const struct smr_conv_transpose *s,
                                         enum smr_conv_transpose_path path) {
  // Phases and their rows are as many as there are: any number of either.
  static const float *const some_pointers[1] = {NULL};
  const struct smr_f32_gemm_args any = {
      .m = 1,
      .n = s->n,
      .indirect = some_pointers,
      .w_type = job->inputs[1]->dtype == SAMARA_FLOAT16 ? SMR_GEMM_F16 : SMR_GEMM_F32};
  const bool columns_vary = job->dims_vary && job->inputs[1]->constant < 0;
  switch (path) {
    case SMR_CONV_TRANSPOSE_POINT:
      SMR_NEED(job, spread_point);
      return SAMARA_OK;
    case SMR_CONV_TRANSPOSE_INDIRECT:
      SMR_NEED(job, spread_indirect);
      return SAMARA_OK;
    case SMR_CONV_TRANSPOSE_FOLD:
      SMR_NEED(job, spread_fold);
      return smr_linear_need_any(job);
    case SMR_CONV_TRANSPOSE_DEPTHWISE:
      SMR_NEED(job, spread_depthwise);
      return SAMARA_OK;
    case SMR_CONV_TRANSPOSE_PHASES:
      SMR_NEED(job, spread_phases);
      return smr_linear_need(job, &any, columns_vary);
    default:
      SMR_NEED(job, spread_phases);
      SMR_NEED(job, f32_dwconv_indirect);
      if (s->groups % SMR_PANEL != 0 || job->input_count > 3) SMR_NEED(job, f32_dwconv_part);
      if (job->inputs[1]->dtype == SAMARA_FLOAT16) SMR_NEED(job, f32_dwconv_f16w);
      return SAMARA_OK;
  }
}

// Needs of weights that may have other dims another time: of each path.
static samara_status conv_transpose_need_any(struct smr_job *job,
                                             const struct smr_conv_transpose *s) {
  const struct smr_f32_gemm_args args = {
      .m = 1,
      .n = s->n,
      .w_type = job->inputs[1]->dtype == SAMARA_FLOAT16 ? SMR_GEMM_F16 : SMR_GEMM_F32};
  if (s->groups > 1) {
    SMR_TRY(conv_transpose_need(job, s, SMR_CONV_TRANSPOSE_DEPTHWISE));
    SMR_TRY(conv_transpose_need(job, s, SMR_CONV_TRANSPOSE_DEPTHWISE_PHASES));
    SMR_TRY(smr_linear_need_depthwise_any(job));
    SMR_NEED(job, f32_dwconv_quads);
  }
  SMR_TRY(conv_transpose_need(job, s, SMR_CONV_TRANSPOSE_POINT));
  SMR_TRY(conv_transpose_need(job, s, SMR_CONV_TRANSPOSE_INDIRECT));
  SMR_TRY(conv_transpose_need(job, s, SMR_CONV_TRANSPOSE_PHASES));
  if (job->inputs[1]->dtype == SAMARA_FLOAT32)
    SMR_TRY(conv_transpose_need(job, s, SMR_CONV_TRANSPOSE_FOLD));
  return smr_linear_need(job, &args, true);
}

// Needs of the path, and of those that other dims may lead to.
static samara_status conv_transpose_need_paths(struct smr_job *job,
                                               const struct smr_conv_transpose *s) {
  SMR_TRY(conv_transpose_need(job, s, s->path));
  if (smr_weights_vary(job)) return conv_transpose_need_any(job, s);
  if (!job->dims_vary || conv_transpose_is_depthwise(s)) return SAMARA_OK;
  const enum smr_conv_transpose_path plain = conv_transpose_choose(job, s, false);
  const struct smr_f32_gemm_args args = {.m = 1, .n = s->n};
  SMR_TRY(conv_transpose_need(job, s, plain));
  if (SMR_ATTR(job, conv_transpose, pads)->varies && plain != SMR_CONV_TRANSPOSE_PHASES)
    SMR_TRY(conv_transpose_need(job, s,
                                plain == SMR_CONV_TRANSPOSE_POINT ? SMR_CONV_TRANSPOSE_INDIRECT
                                                                  : SMR_CONV_TRANSPOSE_POINT));
  if (plain != SMR_CONV_TRANSPOSE_PHASES) SMR_TRY(smr_linear_need(job, &args, false));
  if (job->inputs[1]->dtype == SAMARA_FLOAT32)
    SMR_TRY(conv_transpose_need(job, s, SMR_CONV_TRANSPOSE_FOLD));
  return SAMARA_OK;
}

samara_status smr_conv_transpose_prepare(struct smr_job *job,
                                         const struct smr_attrs_epilogue *epilogue,
                                         struct smr_conv_transpose *s) {
  const struct smr_tensor *x = job->inputs[0];
  s->widens_x = x->dtype == SAMARA_FLOAT16;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    s->period[i] = smr_conv_transpose_period(&s->window, i);
  s->path = conv_transpose_choose(job, s, true);
  SMR_TRY(conv_transpose_need_paths(job, s));
  if (s->path != SMR_CONV_TRANSPOSE_FOLD)
    SMR_TRY(conv_transpose_place_weights(job, epilogue, s));
  else
    for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  if (s->widens_x)
    SMR_TRY(smr_scratch_take(job, (size_t)smr_numel(x), sizeof(float), &s->x_offset));
  if (smr_numel(job->outputs[0]) == 0) {
    job->kernel = "nothing";
    job->tiles = 0;
    return SAMARA_OK;
  }
  if (SMR_HAS(spread_depthwise) && s->path == SMR_CONV_TRANSPOSE_DEPTHWISE)
    return smr_conv_transpose_depthwise_prepare(job, s);
  if (SMR_HAS(spread_fold) && s->path == SMR_CONV_TRANSPOSE_FOLD)
    return smr_conv_transpose_fold_prepare(job, s);
  if (SMR_HAS(spread_point) && s->path == SMR_CONV_TRANSPOSE_POINT)
    SMR_TRY(conv_transpose_prepare_point(job, s));
  else if (SMR_HAS(spread_indirect) && s->path == SMR_CONV_TRANSPOSE_INDIRECT)
    SMR_TRY(conv_transpose_prepare_indirect(job, s));
  else if (SMR_HAS(spread_phases))
    SMR_TRY(conv_transpose_prepare_phases(job, epilogue != NULL, s));
  return smr_linear_take_unfolded(job, &s->linear);
}

// ---- phases ----

// Input position that output position `at` meets through tap `index` of the box; it may lie
// outside.
static int64_t conv_transpose_meets(const struct smr_conv_transpose *s,
                                    const struct smr_conv_transpose_box *box, uint32_t axis,
                                    int64_t at, size_t index) {
  const struct smr_window *w = &s->window;
  const int64_t t = box->class[axis] + (int64_t)index * s->period[axis];
  return (at + w->pad_begin[axis] - t * w->dilation[axis]) / w->stride[axis];  // without remainder
}

// Pointers [pixels][taps of the box] for output pixels out[2], out[2] + stride, ...
static void conv_transpose_points(const struct smr_conv_transpose *s,
                                  const struct smr_conv_transpose_box *box, const float *image,
                                  size_t pixel_stride, const float *zero, const int64_t *out,
                                  size_t pixels, const float **pointers) {
  const struct smr_window *w = &s->window;
  size_t tap = 0;
  for (size_t jz = 0; jz < box->count[0]; jz++) {
    const int64_t z = conv_transpose_meets(s, box, 0, out[0], jz);
    for (size_t jy = 0; jy < box->count[1]; jy++) {
      const int64_t y = conv_transpose_meets(s, box, 1, out[1], jy);
      const bool inside = z >= 0 && z < w->in[0] && y >= 0 && y < w->in[1];
      const float *row =
          inside ? image + (size_t)((z * w->in[1] + y) * w->in[2]) * pixel_stride : NULL;
      for (size_t jx = 0; jx < box->count[2]; jx++, tap++) {
        const int64_t x0 = conv_transpose_meets(s, box, 2, out[2], jx);
        // Inside for x0 + i from 0 up to the width.
        int64_t begin = x0 < 0 ? -x0 : 0, end = w->in[2] - x0;
        if (!inside || begin > (int64_t)pixels) begin = (int64_t)pixels;
        if (end > (int64_t)pixels) end = (int64_t)pixels;
        if (end < begin) end = begin;
        const float **at = pointers + tap;
        size_t i = 0;
        for (; i < (size_t)begin; i++, at += box->taps) *at = zero;
        for (; i < (size_t)end; i++, at += box->taps)
          *at = row + (size_t)(x0 + (int64_t)i) * pixel_stride;
        for (; i < pixels; i++, at += box->taps) *at = zero;
      }
    }
  }
}

// A phase of some rows of output pixels.
struct conv_transpose_task {
  const struct smr_conv_transpose *s;
  const float *image, *zero;  // of x
  size_t pixel_stride;        // of x
  size_t first_pixel;         // of the output, of row 0 of the image
  const float **pointers;     // the thread's scratch
};

// Depthwise: the pixels `out`, out[2] + stride ... of one row.
static void conv_transpose_depthwise_row(const struct smr_job *job,
                                         const struct conv_transpose_task *t,
                                         const struct smr_f32_gemm_args *args) {
  const struct smr_f32_dwconv_indirect_args row = {
      .pixels = args->m,
      .taps = args->taps,
      .channels = t->s->groups,
      .indirect = t->pointers,
      .zero = t->zero,
      .w = args->w,
      .w_type = args->w_type,
      .panel_stride_bytes = args->panel_stride_bytes,
      .bias = args->bias,
      .out = args->out,
      .out_stride = args->out_stride,
      .residual = args->residual,
      .residual_stride = args->residual_stride,
      .lo = args->lo,
      .hi = args->hi,
  };
  smr_f32_dwconv_indirect_run(smr_f32_dwconv_config(job->isa), &row, 0, row.pixels);
  if (args->post != NULL)
    args->post(args->post_context, row.out, row.pixels, row.channels, row.out_stride, SMR_GEMM_F32);
}

// Rows out[1], out[1] + stride ... below `end`, of each the pixels out[2], out[2] + stride ...
static samara_status conv_transpose_phase(struct smr_deadline_watch *watch,
                                          const struct conv_transpose_task *t, int64_t *out,
                                          int64_t end) {
  const struct smr_job *job = watch->job;
  const struct smr_conv_transpose *s = t->s;
  const struct smr_window *w = &s->window;
  const struct smr_conv_transpose_box box = smr_conv_transpose_box_of(s, out);
  SMR_TRY(smr_deadline_step(watch, CONV_TRANSPOSE_PHASE_WORK));
  if (s->clears && box.taps == 0) return SAMARA_OK;
  const struct smr_f32_gemm_args all = smr_conv_transpose_args(job, s, t->pointers);
  const size_t step = (size_t)w->stride[2];
  const size_t element = all.out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  const size_t w_element = all.w_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  struct smr_f32_gemm_args args = all;
  args.m = ((size_t)(w->out[2] - out[2]) + step - 1) / step;
  args.taps = box.taps;
  args.indirect = t->pointers;
  args.zero = t->zero;
  if (all.source.expand != NULL)
    args.source.first_row = box.first * s->channels;
  else
    args.w = (const char *)all.w + box.first * SMR_PANEL * s->channels * w_element;
  args.out_stride = all.out_stride * step;
  args.residual_stride = all.residual_stride * step;
  const bool depthwise = conv_transpose_is_depthwise(s);
  struct smr_f32_gemm_plan plan;
  if (!depthwise) smr_f32_gemm_plan_make(smr_linear_config(job), &args, &plan);
  for (; out[1] < end; out[1] += w->stride[1]) {
    SMR_TRY(smr_deadline_step(watch, args.m * (args.taps + 1) * (depthwise ? s->groups : 1)));
    const size_t pixel = t->first_pixel + (size_t)(out[1] * w->out[2] + out[2]);
    args.out = (char *)all.out + pixel * all.out_stride * element;
    if (all.residual != NULL)
      args.residual = (const char *)all.residual + pixel * all.residual_stride * element;
    conv_transpose_points(s, &box, t->image, t->pixel_stride, t->zero, out, args.m, t->pointers);
    if (depthwise)
      conv_transpose_depthwise_row(job, t, &args);
    else
      SMR_TRY(smr_linear_multiply(watch, &plan, &args, 0, plan.units));
  }
  return SAMARA_OK;
}

static const float *conv_transpose_input(const struct smr_job *job,
                                         const struct smr_conv_transpose *s) {
  if (!s->widens_x) return job->inputs[0]->data;
  return (const float *)(const void *)((const char *)job->scratch + s->x_offset);
}

// A tile: some rows of one depth of one image.
static samara_status conv_transpose_tile(struct smr_deadline_watch *watch,
                                         const struct smr_conv_transpose *s, size_t tile,
                                         const float **pointers) {
  const struct smr_job *job = watch->job;
  const struct smr_window *w = &s->window;
  const size_t blocks = ((size_t)w->out[1] + s->rows - 1) / s->rows;
  const size_t depth = tile / blocks, image = depth / (size_t)w->out[0];
  const int64_t y0 = (int64_t)(tile % blocks * s->rows), z = (int64_t)(depth % (size_t)w->out[0]);
  const int64_t last = y0 + (int64_t)s->rows, y1 = last < w->out[1] ? last : w->out[1];
  const size_t pixel_stride =
      s->widens_x ? (size_t)w->channels_in : (size_t)job->inputs[0]->pixel_stride;
  const struct conv_transpose_task task = {
      .s = s,
      .image = conv_transpose_input(job, s) + image * (size_t)smr_product(w->in, 3) * pixel_stride,
      .zero = (const float *)(const void *)((const char *)job->scratch + s->zero_offset),
      .pixel_stride = pixel_stride,
      .first_pixel = depth * (size_t)(w->out[1] * w->out[2]),
      .pointers = pointers,
  };
  if (s->clears) {
    const struct smr_tensor *dense = job->outputs[0];
    const size_t row = (size_t)(w->out[2] * w->channels_out) * smr_dtype_bytes(dense->dtype);
    const size_t first = task.first_pixel / (size_t)w->out[2] + (size_t)y0;
    memset((char *)dense->data + first * row, 0, (size_t)(y1 - y0) * row);
  }
  for (int64_t y = y0; y < y1 && y < y0 + w->stride[1]; y++) {
    for (int64_t x = 0; x < w->out[2] && x < w->stride[2]; x++) {
      int64_t out[SMR_MAX_SPATIAL] = {z, y, x};
      SMR_TRY(conv_transpose_phase(watch, &task, out, y1));
    }
  }
  return SAMARA_OK;
}

// ---- running ----

static void conv_transpose_prologue(const struct smr_job *job, const struct smr_conv_transpose *s) {
  if (job->tiles == 0) return;
  if (SMR_HAS(spread_fold) && s->path == SMR_CONV_TRANSPOSE_FOLD) {
    smr_conv_transpose_fold_prologue(job, s);
    return;
  }
  smr_linear_prologue(job, &s->linear);
  char *scratch = job->scratch;
  if (SMR_HAS(type_float16) && s->widens_x)
    smr_f16_to_f32_kernel(job->isa)((size_t)smr_numel(job->inputs[0]), job->inputs[0]->data,
                                    (float *)(void *)(scratch + s->x_offset));
  if (SMR_HAS(spread_indirect) && s->path == SMR_CONV_TRANSPOSE_INDIRECT)
    smr_indirect_prologue(job, &s->indirect);
  if (s->path == SMR_CONV_TRANSPOSE_PHASES)
    memset(scratch + s->zero_offset, 0, s->channels * sizeof(float));
  if (s->path == SMR_CONV_TRANSPOSE_DEPTHWISE_PHASES)
    memset(scratch + s->zero_offset, 0, s->groups * sizeof(float));
}

samara_status smr_conv_transpose_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  const struct smr_conv_transpose *s = job->state;
  if (begin == end) {  // alone, before the tiles
    conv_transpose_prologue(job, s);
    return SAMARA_OK;
  }
  if (SMR_HAS(spread_point) && s->path == SMR_CONV_TRANSPOSE_POINT) {
    struct smr_f32_gemm_args args = smr_conv_transpose_args(job, s, thread_scratch);
    args.m = (size_t)(s->window.batch * smr_window_pixels(&s->window));
    args.a = conv_transpose_input(job, s);
    smr_f32_gemm_run(&s->plan, &args, begin, end);
  } else if (SMR_HAS(spread_indirect) && s->path == SMR_CONV_TRANSPOSE_INDIRECT) {
    const struct smr_f32_gemm_args args = smr_conv_transpose_args(job, s, thread_scratch);
    smr_indirect_run(job, &s->indirect, &args, conv_transpose_input(job, s), begin, end,
                     thread_scratch);
  } else if (SMR_HAS(spread_depthwise) && s->path == SMR_CONV_TRANSPOSE_DEPTHWISE) {
    return smr_conv_transpose_depthwise_run(job, s, begin, end);
  } else if (SMR_HAS(spread_fold) && s->path == SMR_CONV_TRANSPOSE_FOLD) {
    return smr_conv_transpose_fold_run(job, s, begin, end, thread_scratch);
  } else if (SMR_HAS(spread_phases)) {
    struct smr_deadline_watch watch = {.job = job};
    for (size_t tile = begin; tile < end; tile++)
      SMR_TRY(conv_transpose_tile(&watch, s, tile, thread_scratch));
  }
  return SAMARA_OK;
}
