// SPDX-License-Identifier: Apache-2.0
// conv: convolutions over [N, spatial, C] with a fused epilogue.
#include "base/fp.h"

#include "kernels/f32_conv_direct/f32_conv_direct.h"
#include "kernels/f32_dwconv/f32_dwconv.h"
#include "ops/check/check.h"
#include "ops/conv/conv_choice.h"
#include "ops/conv/conv_indirection.h"
#include "ops/conv/conv_winograd.h"
#include "ops/conv/indirect.h"
#include "ops/conv/planes.h"
#include "ops/conv/window.h"
#include "ops/matmul/linear.h"
#include "ops/partition.h"
#include "ops/table/funcs.h"

#include <string.h>

enum {
  CONV_DEPTHWISE_PIECE = 16,  // units between looks at the clock
};

// Whether this build has either.
enum { CONV_HAS_DEPTHWISE = SMR_HAS(conv_depthwise) || SMR_HAS(conv_depthwise_3d) };

struct conv_state {
  struct smr_linear linear;
  struct smr_window window;
  enum smr_conv_path path;
  size_t taps, channels, pixels;      // channels of one group, pixels of the output
  struct smr_f32_gemm_plan plan;      // SMR_CONV_POINT and SMR_CONV_CONTIGUOUS
  struct smr_indirect indirect;       // SMR_CONV_INDIRECT
  struct smr_conv_winograd winograd;  // SMR_CONV_WINOGRAD_*
  size_t x_offset, zero_offset;       // in scratch: x as float32; zeros for the padding
  size_t y_offset, residual_offset;   // float16 depthwise: output and residual as float32
  size_t depthwise_units;             // of which its one tile is made
  bool widens_x;
};

static bool conv_widens(const struct conv_state *s) { return SMR_HAS(type_float16) && s->widens_x; }

// Elements between the pixels that kernels read.
static size_t conv_x_pixel(const struct smr_job *job, const struct conv_state *s) {
  return conv_widens(s) ? (size_t)s->window.channels_in : (size_t)job->inputs[0]->pixel_stride;
}

// Geometry and epilogue; pointers to x, w, bias, out and residual are not set.
static struct smr_f32_conv_direct_args conv_direct_args(const struct smr_job *job,
                                                        const struct conv_state *s) {
  const struct smr_window *w = &s->window;
  const size_t x_pixel = conv_x_pixel(job, s), y_pixel = smr_pixel_stride(job->outputs[0]);
  const size_t r_pixel = smr_pixel_stride(smr_optional_input(job, 3));
  return (struct smr_f32_conv_direct_args){
      SMR_PLANES(w),
      SMR_PLANES_TAPS(w),
      SMR_PLANES_STRIDES(in, x_pixel, w->in),
      SMR_PLANES_STRIDES(out, y_pixel, w->out),
      SMR_PLANES_STRIDES(residual, r_pixel, w->out),
      .n = s->linear.n,
      .in_c = s->channels,
      .in_channel_stride = 1,
      .w_type = s->linear.w_type,
      .panel_stride_bytes = s->linear.panel_stride_bytes,
      .out_type = smr_linear_type(job->outputs[0]),
      .lo = s->linear.lo,
      .hi = s->linear.hi,
  };
}

// Geometry and epilogue of a depthwise convolution; pointers to x, w, bias, out and residual are
// not set.
static struct smr_f32_dwconv_args conv_depthwise_args(const struct smr_job *job,
                                                      const struct conv_state *s) {
  const struct smr_f32_conv_direct_args g = conv_direct_args(job, s);  // the same geometry
  return (struct smr_f32_dwconv_args){
      .batch = g.batch,
      .channels = s->linear.n,
      .in_h = g.in_h,
      .in_w = g.in_w,
      .out_h = g.out_h,
      .out_w = g.out_w,
      .kernel_h = g.kernel_h,
      .kernel_w = g.kernel_w,
      .stride_h = g.stride_h,
      .stride_w = g.stride_w,
      .dilation_h = g.dilation_h,
      .dilation_w = g.dilation_w,
      .pad_top = g.pad_top,
      .pad_left = g.pad_left,
      .pieces = smr_partition(job),
      .in_pixel_stride = g.in_pixel_stride,
      .in_row_stride = g.in_row_stride,
      .in_batch_stride = g.in_batch_stride,
      .w_type = g.w_type,
      .panel_stride_bytes = g.panel_stride_bytes,
      .out_pixel_stride = g.out_pixel_stride,
      .out_row_stride = g.out_row_stride,
      .out_batch_stride = g.out_batch_stride,
      .residual_pixel_stride = g.residual_pixel_stride,
      .residual_row_stride = g.residual_row_stride,
      .residual_batch_stride = g.residual_batch_stride,
      .lo = g.lo,
      .hi = g.hi,
      .post = SMR_HAS(linear_post) && s->linear.post.function != NULL ? smr_linear_post : NULL,
      .post_context = (void *)(uintptr_t)&s->linear.post,
  };
}

static samara_status conv_depthwise_prepare(struct smr_job *job, struct conv_state *s) {
  const struct smr_window *w = &s->window;
  const struct smr_f32_dwconv_args args = conv_depthwise_args(job, s);
  if (SMR_HAS(conv_depthwise) && s->path == SMR_CONV_DEPTHWISE) {
    job->tiles = smr_f32_dwconv_units(&args);
    job->kernel = smr_f32_dwconv_kernel(smr_f32_dwconv_config(job->isa), &args);
  } else {
    job->tiles = (size_t)(w->batch * w->out[0] * w->out[1]);
    job->kernel = "f32_dwconv_indirect";
  }
  if (SMR_HAS(conv_depthwise_3d) && s->path == SMR_CONV_DEPTHWISE_3D) {
    size_t offset;
    SMR_TRY(smr_scratch_take(job, (size_t)w->channels_in, sizeof(float), &s->zero_offset));
    SMR_TRY(smr_thread_scratch_take(job, (size_t)w->out[2] * s->taps, sizeof(float *), &offset));
  }
  if (!conv_widens(s)) return SAMARA_OK;
  // The kernel knows float32 only: one tile converts everything there and back.
  const size_t n = (size_t)smr_numel(job->outputs[0]);
  SMR_TRY(smr_scratch_take(job, n, sizeof(float), &s->y_offset));
  SMR_TRY(smr_scratch_take(job, n, sizeof(float), &s->residual_offset));
  s->depthwise_units = job->tiles;
  job->tiles = job->tiles != 0;
  return SAMARA_OK;
}

static samara_status conv_direct_prepare(struct smr_job *job, struct conv_state *s) {
  const struct smr_f32_conv_direct_config *config = smr_f32_conv_direct_config(job->isa);
  const struct smr_f32_conv_direct_args args = conv_direct_args(job, s);
  job->kernel = config->name;
  job->tiles = smr_f32_conv_direct_units(&args);
  size_t offset;
  return smr_thread_scratch_take(job, smr_f32_conv_direct_scratch_bytes(config, &args), 1, &offset);
}

// Batch entries are groups; in SMR_CONV_CONTIGUOUS images, sharing the weights.
static struct smr_f32_gemm_args conv_gemm_args(const struct smr_job *job,
                                               const struct conv_state *s, const float *x,
                                               void *thread_scratch) {
  const struct smr_window *w = &s->window;
  const struct smr_tensor *y = job->outputs[0], *residual = smr_optional_input(job, 3);
  struct smr_f32_gemm_args args = {.a = x, .taps = 1};
  smr_linear_args(job, &s->linear, thread_scratch, &args);
  args.out = y->data;
  args.out_type = smr_linear_type(y);
  args.out_stride = (size_t)y->pixel_stride;
  args.out_batch_stride = s->linear.n;
  if (residual != NULL) {
    args.residual = residual->data;
    args.residual_stride = (size_t)residual->pixel_stride;
    args.residual_batch_stride = s->linear.n;
  }
  if (s->path == SMR_CONV_CONTIGUOUS) {
    args.batch = (size_t)w->batch;
    args.m = (size_t)w->out[2];
    args.k = s->taps * s->channels;
    args.a_stride = (size_t)w->stride[2] * s->channels;
    args.a_batch_stride = (size_t)w->in[2] * s->channels;
    args.w_batch_stride_bytes = 0;
    args.bias_batch_stride = 0;
    args.out_batch_stride = args.out_stride * args.m;
    args.residual_batch_stride = args.residual_stride * args.m;
  } else {
    args.m = s->pixels;
    args.k = s->channels;
    args.a_stride = conv_x_pixel(job, s);
    args.a_batch_stride = s->channels;
  }
  return args;
}

// Needs of a path, but for those of products that are planned.
static samara_status conv_need(struct smr_job *job, const struct conv_state *s,
                               enum smr_conv_path path) {
  const bool half = job->inputs[1]->dtype == SAMARA_FLOAT16;
  const bool any = smr_weights_vary(job);
  const size_t last = (s->linear.n + SMR_PANEL - 1) % SMR_PANEL + 1;
  switch (path) {
    case SMR_CONV_DEPTHWISE: {
      const struct smr_f32_dwconv_args args = conv_depthwise_args(job, s);
      SMR_NEED(job, conv_depthwise);
      if (any) return smr_linear_need_depthwise_any(job);
      return smr_linear_need_depthwise(job, &args, smr_optional_input(job, 3) != NULL);
    }
    case SMR_CONV_DEPTHWISE_3D:
      SMR_NEED(job, conv_depthwise_3d);
      SMR_NEED(job, f32_dwconv_indirect);
      if (any || last != SMR_PANEL || smr_optional_input(job, 3) != NULL)
        SMR_NEED(job, f32_dwconv_part);
      if (half) SMR_NEED(job, f32_dwconv_f16w);
      return SAMARA_OK;
    case SMR_CONV_DIRECT: {
      const struct smr_f32_conv_direct_args args = conv_direct_args(job, s);
      SMR_NEED(job, conv_direct);
      if (half) SMR_NEED(job, conv_direct_f16w);
      if (any || last <= SMR_PANEL / 2) SMR_NEED(job, conv_direct_half);
      if (job->dims_vary || smr_f32_conv_direct_is_small(&args)) SMR_NEED(job, conv_direct_small);
      return SAMARA_OK;
    }
    case SMR_CONV_INDIRECT:
      SMR_NEED(job, conv_indirect);
      SMR_NEED(job, f32_gemm_indirect);
      return SAMARA_OK;
    case SMR_CONV_WINOGRAD_F23:
    case SMR_CONV_WINOGRAD_F43:
      return smr_conv_winograd_need(job, smr_conv_form(path), &s->window);
    default:
      SMR_NEED(job, conv_product);
      return SAMARA_OK;
  }
}

// Needs of a path that is not taken now, and of its products.
static samara_status conv_need_plain(struct smr_job *job, const struct conv_state *s,
                                     enum smr_conv_path path) {
  const struct smr_f32_gemm_args args = {.n = s->linear.n, .w_type = s->linear.w_type};
  if (path == SMR_CONV_INDIRECT)
    SMR_TRY(smr_indirect_need(job, &s->window, s->linear.n, s->linear.w_type));
  if (path == SMR_CONV_POINT || path == SMR_CONV_CONTIGUOUS)
    SMR_TRY(smr_linear_need(job, &args, smr_weights_vary(job)));
  return conv_need(job, s, path);
}

// Needs of weights that may have other dims another time: of each path that attributes allow.
static samara_status conv_need_any(struct smr_job *job, const struct conv_state *s) {
  const bool deep = s->window.spatial == 3, grouped = SMR_ATTR(job, conv, groups)->i > 1;
  if (grouped) SMR_TRY(conv_need(job, s, deep ? SMR_CONV_DEPTHWISE_3D : SMR_CONV_DEPTHWISE));
  if (!grouped && !deep) SMR_TRY(conv_need(job, s, SMR_CONV_DIRECT));
  SMR_TRY(conv_need_plain(job, s, SMR_CONV_INDIRECT));
  return conv_need_plain(job, s, SMR_CONV_POINT);
}

// Needs of the path and of what else it could be. Padding that is not a constant may also be there
// another time, or not: then that path is `other`. A first layer's image of 2 GB, which leads to
// SMR_CONV_INDIRECT, is for a build that has that. Beside a transform there is always a path
// without, for sessions with strict accuracy.
static samara_status conv_need_paths(struct smr_job *job, const struct conv_state *s,
                                     enum smr_conv_path plain, enum smr_conv_path other) {
  SMR_TRY(conv_need(job, s, s->path));
  if (smr_weights_vary(job)) SMR_TRY(conv_need_any(job, s));
  if (plain != s->path) SMR_TRY(conv_need_plain(job, s, plain));
  return other != plain ? conv_need_plain(job, s, other) : SAMARA_OK;
}

// Tiles, kernel and scratch of a path without transforms.
static samara_status conv_prepare_plain(struct smr_job *job, struct conv_state *s) {
  if (CONV_HAS_DEPTHWISE && (s->path == SMR_CONV_DEPTHWISE || s->path == SMR_CONV_DEPTHWISE_3D))
    return conv_depthwise_prepare(job, s);
  if (SMR_HAS(conv_indirect) && s->path == SMR_CONV_INDIRECT) {
    SMR_TRY(smr_indirect_prepare(job, &s->indirect, &s->window, s->linear.groups, s->channels,
                                 s->linear.n, s->linear.w_type));
    return smr_linear_take_unfolded(job, &s->linear);
  }
  if (SMR_HAS(conv_direct) && s->path == SMR_CONV_DIRECT) return conv_direct_prepare(job, s);
  if (!SMR_HAS(conv_product)) return SAMARA_OK;  // refused before
  const struct smr_f32_gemm_args args = conv_gemm_args(job, s, NULL, NULL);
  SMR_TRY(smr_linear_plan(job, &args, &s->plan));
  job->kernel = s->plan.kernel;
  job->tiles = s->plan.units;
  return smr_linear_take_unfolded(job, &s->linear);
}

// The same of any path, where another time's dims may choose otherwise, with room for that.
static samara_status conv_prepare_varying(struct smr_job *job, struct conv_state *s,
                                          enum smr_conv_path plain) {
  const enum smr_conv_path chosen = s->path;
  s->path = plain;
  SMR_TRY(conv_prepare_plain(job, s));
  s->path = chosen;
  SMR_TRY(smr_conv_winograd_need(job, SMR_WINOGRAD_F43, &s->window));
  return chosen == SMR_CONV_WINOGRAD_F43
             ? smr_conv_winograd_prepare(job, &s->winograd, SMR_WINOGRAD_F43, &s->window)
             : smr_conv_winograd_reserve(job, SMR_WINOGRAD_F43, &s->window);
}

static samara_status conv_prepare(struct smr_job *job) {
  struct conv_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  *s = (struct conv_state){.pixels = 0};
  SMR_TRY(smr_window_read(job, SMR_ATTR_GROUP(job, conv, window), w->dims + 1, &s->window));
  const int64_t groups = SMR_ATTR(job, conv, groups)->i;
  s->taps = (size_t)smr_window_taps(&s->window);
  s->channels = (size_t)w->dims[w->rank - 1];
  s->pixels = (size_t)(s->window.batch * smr_window_pixels(&s->window));
  s->widens_x = SMR_HAS(type_float16) && x->dtype == SAMARA_FLOAT16;
  const bool padded = smr_conv_is_padded(&s->window), varies = SMR_ATTR(job, conv, pads)->varies;
  const enum smr_conv_path other = smr_conv_choose(job, &s->window, padded != varies, false);
  const enum smr_conv_path plain = smr_conv_choose(job, &s->window, padded, false);
  s->path = smr_conv_choose(job, &s->window, padded, true);  // the last is noted
  const bool depthwise = plain == SMR_CONV_DEPTHWISE || plain == SMR_CONV_DEPTHWISE_3D;
  const bool transforms = smr_conv_is_winograd(s->path);
  const size_t n = (size_t)(w->dims[0] / groups), depth = s->taps * s->channels;
  s->linear = (struct smr_linear){
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
  };
  s->linear.unfolds_whole = depthwise || plain == SMR_CONV_DIRECT;
  s->linear.may_round = !transforms && smr_conv_may_round(job, plain);
  const struct smr_attrs_epilogue *epilogue = SMR_ATTR_GROUP(job, conv, epilogue);
  SMR_TRY(transforms && !job->dims_vary ? smr_linear_prepare_end(job, epilogue, &s->linear)
                                        : smr_linear_prepare(job, epilogue, &s->linear));
  SMR_TRY(conv_need_paths(job, s, plain, other));
  if (conv_widens(s))
    SMR_TRY(smr_scratch_take(job, (size_t)smr_numel(x), sizeof(float), &s->x_offset));
  if (smr_numel(job->outputs[0]) == 0) {
    job->kernel = "nothing";
    job->tiles = 0;
    return SAMARA_OK;
  }
  if (job->dims_vary && smr_conv_winograd_fits(job, &s->window))
    return conv_prepare_varying(job, s, plain);
  if (transforms)
    return smr_conv_winograd_prepare(job, &s->winograd, smr_conv_form(s->path), &s->window);
  return conv_prepare_plain(job, s);
}

// [pixels][C] of float16 with any pixel stride, as dense float32.
static void conv_widen(const struct smr_job *job, const struct smr_tensor *t, float *out) {
  const smr_f16_to_f32_ukernel widen = smr_f16_to_f32_kernel(job->isa);
  const size_t c = (size_t)t->dims[t->rank - 1], stride = (size_t)t->pixel_stride;
  const size_t pixels = (size_t)smr_product(t->dims, t->rank - 1u);
  if (stride == c) {
    widen(pixels * c, t->data, out);
    return;
  }
  for (size_t i = 0; i < pixels; i++) widen(c, (const uint16_t *)t->data + i * stride, out + i * c);
}

static float *conv_scratch(const struct smr_job *job, size_t offset) {
  return (float *)(void *)((char *)job->scratch + offset);
}

static void conv_prologue(const struct smr_job *job, const struct conv_state *s) {
  if (job->tiles == 0) return;
  smr_linear_prologue(job, &s->linear);
  if (conv_widens(s)) conv_widen(job, job->inputs[0], conv_scratch(job, s->x_offset));
  if (SMR_HAS(conv_indirect) && s->path == SMR_CONV_INDIRECT)
    smr_indirect_prologue(job, &s->indirect);
  if (SMR_HAS(conv_winograd) && smr_conv_is_winograd(s->path))
    smr_conv_winograd_prologue(job, &s->winograd, &s->window);
  if (SMR_HAS(conv_depthwise_3d) && s->path == SMR_CONV_DEPTHWISE_3D)
    memset(conv_scratch(job, s->zero_offset), 0, s->linear.n * sizeof(float));
}

// Lines of a depthwise convolution in three dims.
static samara_status conv_lines_3d(const struct smr_job *job, const struct conv_state *s,
                                   const struct smr_f32_dwconv_args *like, size_t begin, size_t end,
                                   const float **pointers) {
  const struct smr_window *w = &s->window;
  const size_t out_w = (size_t)w->out[2];
  const float *zero = conv_scratch(job, s->zero_offset);
  struct smr_deadline_watch watch = {.job = job};
  for (size_t line = begin; line < end; line++) {
    smr_conv_indirection(w, like->in, like->in_pixel_stride, zero, line * out_w, out_w, pointers);
    const struct smr_f32_dwconv_indirect_args args = {
        .pixels = out_w,
        .taps = s->taps,
        .channels = like->channels,
        .indirect = pointers,
        .zero = zero,
        .w = like->w,
        .w_type = like->w_type,
        .panel_stride_bytes = like->panel_stride_bytes,
        .bias = like->bias,
        .out = like->out + line * like->out_row_stride,
        .out_stride = like->out_pixel_stride,
        .residual =
            like->residual != NULL ? like->residual + line * like->residual_row_stride : NULL,
        .residual_stride = like->residual_pixel_stride,
        .lo = like->lo,
        .hi = like->hi,
    };
    for (size_t x = 0; x < out_w; x++) {
      SMR_TRY(smr_deadline_step(&watch, s->taps * like->channels));
      smr_f32_dwconv_indirect_run(smr_f32_dwconv_config(job->isa), &args, x, x + 1);
    }
    if (like->post != NULL)
      like->post(like->post_context, args.out, out_w, like->channels, like->out_pixel_stride,
                 SMR_GEMM_F32);
  }
  return SAMARA_OK;
}

static samara_status conv_run_depthwise(const struct smr_job *job, const struct conv_state *s,
                                        size_t begin, size_t end, void *thread_scratch) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  struct smr_f32_dwconv_args args = conv_depthwise_args(job, s);
  args.in = conv_widens(s) ? conv_scratch(job, s->x_offset) : x->data;
  args.w = smr_linear_weights(job, &s->linear);
  args.bias = smr_linear_bias(job, &s->linear);
  args.out = y->data;
  args.residual = residual != NULL ? residual->data : NULL;
  if (conv_widens(s)) {
    begin = 0;
    end = s->depthwise_units;
    args.out = conv_scratch(job, s->y_offset);
    args.out_pixel_stride = args.residual_pixel_stride = args.channels;
    args.out_row_stride = args.residual_row_stride = args.channels * args.out_w;
    args.out_batch_stride = args.residual_batch_stride = args.out_row_stride * args.out_h;
    if (residual != NULL) {
      conv_widen(job, residual, conv_scratch(job, s->residual_offset));
      args.residual = conv_scratch(job, s->residual_offset);
    }
  }
  if (SMR_HAS(conv_depthwise_3d) && s->path == SMR_CONV_DEPTHWISE_3D) {
    SMR_TRY(conv_lines_3d(job, s, &args, begin, end, thread_scratch));
  } else if (SMR_HAS(conv_depthwise)) {
    for (size_t unit = begin; unit < end; unit += CONV_DEPTHWISE_PIECE) {
      // Without float16 the pieces are the session's.
      const size_t left = end - unit;
      if (conv_widens(s)) SMR_TRY(smr_in_time(&job->deadline, job->error));
      smr_f32_dwconv_run(smr_f32_dwconv_config(job->isa), &args, unit,
                         left < CONV_DEPTHWISE_PIECE ? end : unit + CONV_DEPTHWISE_PIECE);
    }
  }
  if (!conv_widens(s)) return SAMARA_OK;
  const smr_f32_to_f16_ukernel narrow = smr_f32_to_f16_kernel(job->isa);
  for (size_t i = 0; i < s->pixels; i++)
    narrow(args.channels, args.out + i * args.channels,
           (uint16_t *)y->data + i * (size_t)y->pixel_stride);
  return SAMARA_OK;
}

static void conv_run_direct(const struct smr_job *job, const struct conv_state *s, size_t begin,
                            size_t end, void *thread_scratch) {
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  struct smr_f32_conv_direct_args args = conv_direct_args(job, s);
  args.in = conv_widens(s) ? conv_scratch(job, s->x_offset) : job->inputs[0]->data;
  args.w = smr_linear_weights(job, &s->linear);
  args.bias = smr_linear_bias(job, &s->linear);
  args.out = job->outputs[0]->data;
  args.residual = residual != NULL ? residual->data : NULL;
  args.post = SMR_HAS(linear_post) && s->linear.post.function != NULL ? smr_linear_post : NULL;
  args.post_context = (void *)(uintptr_t)&s->linear.post;
  smr_f32_conv_direct_run(smr_f32_conv_direct_config(job->isa), &args, begin, end, thread_scratch);
}

static samara_status conv_run(const struct smr_job *job, size_t begin, size_t end,
                              void *thread_scratch) {
  const struct conv_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    conv_prologue(job, s);
    return SAMARA_OK;
  }
  if (CONV_HAS_DEPTHWISE && (s->path == SMR_CONV_DEPTHWISE || s->path == SMR_CONV_DEPTHWISE_3D))
    return conv_run_depthwise(job, s, begin, end, thread_scratch);
  if (SMR_HAS(conv_direct) && s->path == SMR_CONV_DIRECT) {
    conv_run_direct(job, s, begin, end, thread_scratch);
    return SAMARA_OK;
  }
  if (SMR_HAS(conv_winograd) && smr_conv_is_winograd(s->path)) {
    smr_conv_winograd_run(job, &s->winograd, &s->linear, &s->window, begin, end, thread_scratch);
    return SAMARA_OK;
  }
  const float *x = conv_widens(s) ? conv_scratch(job, s->x_offset) : job->inputs[0]->data;
  if (SMR_HAS(conv_indirect) && s->path == SMR_CONV_INDIRECT) {
    const struct smr_f32_gemm_args args = conv_gemm_args(job, s, NULL, thread_scratch);
    smr_indirect_run(job, &s->indirect, &args, x, begin, end, thread_scratch);
  } else if (SMR_HAS(conv_product)) {
    const struct smr_f32_gemm_args args = conv_gemm_args(job, s, x, thread_scratch);
    smr_f32_gemm_run(&s->plan, &args, begin, end);
  }
  return SAMARA_OK;
}

static samara_status conv_pack(const struct smr_job *job, const struct smr_derived *what,
                               void *out) {
  if (!SMR_HAS(conv_winograd) || !smr_conv_winograd_packs(what))
    return smr_linear_pack(job, what, out);
  smr_conv_winograd_pack(job, what, out);
  return SAMARA_OK;
}

static samara_status conv_check(const struct smr_job *job) {
  return smr_linear_check_weights(job, 0);
}

const struct smr_op_funcs smr_op_conv_funcs = {.check = conv_check,
                                               .prepare = conv_prepare,
                                               .pack = conv_pack,
                                               .run = conv_run,
                                               .state_bytes = sizeof(struct conv_state)};
