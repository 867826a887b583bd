// SPDX-License-Identifier: Apache-2.0
// conv: convolutions over [N, spatial, C] with a fused epilogue.
//
// This file holds the table (conv_rows, at the end) and the algorithms that are matrix products:
// over rows of pixels or windows, over a table of offsets (first layers), and over pointers to
// pixels, block by block (indirect.c). The other rows are in conv_depthwise.c and conv_winograd.c.
// docs/internals/kernels.md explains how a row is chosen.
#include "base/fp.h"

#include "kernels/f32_conv_direct/f32_conv_direct.h"
#include "ops/check/check.h"
#include "ops/conv/conv.h"
#include "ops/conv/planes.h"
#include "ops/table/funcs.h"

enum {
  CONV_DIRECT_MOST_DEPTH = 1024,        // at most: taps * channels
  CONV_ROUNDED_COLUMNS = 48,            // of a tile: a row is rounded again for each
  CONV_DIRECT_MOST_UNFOLDED = 1 << 16,  // most quantized weights that are converted to floats at
                                        // once
};

// Cost relative to a plain product's multiply-add: direct looks up an offset for each; indirect
// restarts at every tap. The costs are equal at 16 channels.
static const smr_work conv_direct_mac_work = 1.1875, conv_tap_start = 3.0;
// Cost of bfloat16 relative to float32: two terms per instruction, but rows must be rounded first.
static const smr_work conv_rounded_work = 0.5625, conv_tap_rounding = 192.0;

static samara_status conv_check(const struct smr_job *job) {
  return smr_linear_check_weights(job, 0);
}

static samara_status conv_begin(struct smr_job *job) {
  *(struct smr_conv *)job->state = (struct smr_conv){.x_offset = 0};
  return smr_conv_shape_read(job, SMR_ATTR_GROUP(job, conv, window),
                             SMR_ATTR(job, conv, groups)->i);
}

// ---- what the algorithms share ----

bool smr_conv_widens(const struct smr_job *job) {
  return SMR_HAS(type_float16) && job->inputs[0]->dtype == SAMARA_FLOAT16;
}

size_t smr_conv_x_pixel(const struct smr_job *job) {
  const struct smr_conv_shape *shape = job->state;
  return smr_conv_widens(job) ? (size_t)shape->window.channels_in
                              : (size_t)job->inputs[0]->pixel_stride;
}

float *smr_conv_scratch(const struct smr_job *job, size_t offset) {
  return (float *)(void *)((char *)job->scratch + offset);
}

const float *smr_conv_x(const struct smr_job *job) {
  const struct smr_conv *s = job->state;
  return smr_conv_widens(job) ? smr_conv_scratch(job, s->x_offset) : job->inputs[0]->data;
}

samara_status smr_conv_take_weights(struct smr_job *job, bool whole, bool may_round) {
  struct smr_conv *s = job->state;
  smr_conv_linear(&s->shape, &s->linear);
  s->linear.unfolds_whole = whole;
  s->linear.may_round = may_round;
  SMR_TRY(smr_linear_prepare(job, SMR_ATTR_GROUP(job, conv, epilogue), &s->linear));
  if (!smr_conv_widens(job)) return SAMARA_OK;
  const size_t numel = (size_t)smr_numel(job->inputs[0]);
  return smr_scratch_take(job, numel, sizeof(float), &s->x_offset);
}

void smr_conv_widen(const struct smr_job *job, const struct smr_tensor *t, float *out) {
  const smr_f16_to_f32_ukernel widen = smr_f16_to_f32_kernel(job->isa);
  const size_t c = (size_t)t->dims[t->rank - 1], stride = (size_t)t->pixel_stride;
  const size_t pixels = (size_t)smr_product(t->dims, t->rank - 1u);
  if (stride == c) {
    widen(pixels * c, t->data, out);
    return;
  }
  for (size_t i = 0; i < pixels; i++) widen(c, (const uint16_t *)t->data + i * stride, out + i * c);
}

bool smr_conv_prologue(const struct smr_job *job) {
  const struct smr_conv *s = job->state;
  if (job->tiles == 0) return false;
  smr_linear_prologue(job, &s->linear);
  if (smr_conv_widens(job)) smr_conv_widen(job, job->inputs[0], smr_conv_scratch(job, s->x_offset));
  return true;
}

static samara_status conv_pack(const struct smr_job *job, const struct smr_derived *what,
                               void *out) {
  const struct smr_conv *s = job->state;
  if (!SMR_HAS(conv_winograd) || !smr_conv_winograd_packs(what))
    return smr_linear_pack_to(job, &s->linear, what, out);
  smr_conv_winograd_pack(job, what, out);
  return SAMARA_OK;
}

// ---- choosing ----

// Whether pixels, or windows that overlap in one dim, are rows of a product if there is no padding.
static bool conv_is_rows(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  const bool dense = smr_conv_x_pixel(job) == (size_t)s->window.channels_in;
  const bool point = s->taps == 1 && !smr_conv_is_strided(s);
  const bool contiguous =
      s->window.spatial == 1 && s->groups == 1 && dense && !smr_conv_is_dilated(s);
  return !s->depthwise && (point || contiguous);
}

static bool conv_fits_contiguous(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return conv_is_rows(job) && !smr_conv_is_padded(s) && !smr_conv_fits_point(job);
}

// Whether the direct kernel can compute the node: one group, and byte offsets below 2^32.
static bool conv_fits_direct(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  const struct smr_tensor *weights = job->inputs[1];
  const int64_t pixels = s->window.in[1] * s->window.in[2];
  const int64_t stride = (int64_t)smr_conv_x_pixel(job);
  const bool near = stride < INT32_MAX / 4 && pixels < INT32_MAX / 4 / (stride ? stride : 1);
  const bool small =
      weights->dtype != SAMARA_QINT8 || smr_numel(weights) <= CONV_DIRECT_MOST_UNFOLDED;
  return s->window.spatial < 3 && s->groups == 1 && !s->depthwise && near && small &&
         s->channels != 0 && s->taps * s->channels <= CONV_DIRECT_MOST_DEPTH;
}

static bool conv_fits_indirect(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return !s->depthwise;
}

// Whether the product of rows may use bfloat16. Not if a resize may select another algorithm.
static bool conv_rows_may_round(const struct smr_job *job) {
  return !job->dims_vary && smr_linear_may_round(job);
}

// Cost of rounding the pixels of a tap. They are rounded again for every group of columns.
static smr_work conv_rounding_work(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  const int64_t n = (int64_t)s->n;
  return conv_tap_rounding / smr_work_of(n < CONV_ROUNDED_COLUMNS ? n : CONV_ROUNDED_COLUMNS);
}

// Whether the product over pointers may use bfloat16. Only if that is faster.
static bool conv_taps_may_round(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return conv_rows_may_round(job) && s->channels % 2 == 0 && s->n > 0 &&
         (1 - conv_rounded_work) * smr_work_of((int64_t)s->channels) > conv_rounding_work(job);
}

// Whether products that may be rounded are rounded.
static bool conv_rounds(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return smr_linear_rounds(job) && s->channels * s->taps >= SMR_LINEAR_ROUNDED_SUM;
}

static smr_work conv_rows_work(const struct smr_job *job) {
  const bool rounds = conv_rows_may_round(job) && conv_rounds(job);
  const struct smr_conv_shape *s = job->state;
  const smr_work channels = smr_work_of((int64_t)s->channels);
  return smr_conv_tap_work(job) * (rounds ? conv_rounded_work * channels : channels);
}

smr_work smr_conv_indirect_work(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  const smr_work channels = smr_work_of((int64_t)s->channels);
  if (!conv_taps_may_round(job) || !conv_rounds(job))
    return smr_conv_tap_work(job) * (channels + conv_tap_start);
  return smr_conv_tap_work(job) *
         (conv_rounded_work * channels + conv_tap_start + conv_rounding_work(job));
}

static smr_work conv_direct_work(const struct smr_job *job) {
  return conv_direct_mac_work * smr_conv_work(job);
}

// With symbolic dims: the relative work of algorithms is the same for all sizes of x, so only
// symbolic padding can change the choice. Images beyond 2 GB of a first layer, which `direct`
// cannot address, need a build that has `indirect`.

static bool conv_any_rows(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return smr_weights_vary(job) ||
         (conv_is_rows(job) && (!smr_conv_is_padded(s) || SMR_ATTR(job, conv, pads)->varies));
}

// Whether an algorithm other than the product of rows can be chosen.
static bool conv_any_windows(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return !s->depthwise &&
         (!conv_is_rows(job) || smr_conv_is_padded(s) || SMR_ATTR(job, conv, pads)->varies);
}

static bool conv_is_direct(const struct smr_job *job) {
  return conv_fits_direct(job) && conv_direct_work(job) < smr_conv_indirect_work(job);
}

static bool conv_any_direct(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  if (smr_weights_vary(job)) return s->groups == 1 && s->window.spatial < 3;
  return conv_any_windows(job) && conv_is_direct(job);
}

static bool conv_any_indirect(const struct smr_job *job) {
  return smr_weights_vary(job) || (conv_any_windows(job) && !conv_is_direct(job));
}

// ---- rows of pixels, or of windows ----

// Groups of the product: batch entries, or images if windows overlap; the weights are shared.
static struct smr_f32_gemm_args conv_gemm_args(const struct smr_job *job, void *thread_scratch) {
  const struct smr_conv *s = job->state;
  const struct smr_window *w = &s->shape.window;
  const struct smr_tensor *y = job->outputs[0], *residual = smr_optional_input(job, 3);
  struct smr_f32_gemm_args args = {.taps = 1};
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
  args.m = s->shape.pixels;
  args.k = args.a_batch_stride = s->shape.channels;
  args.a_stride = smr_conv_x_pixel(job);
  if (!s->contiguous) return args;
  args.batch = (size_t)w->batch;
  args.m = (size_t)w->out[2];
  args.k = s->shape.taps * s->shape.channels;
  args.a_stride = (size_t)w->stride[2] * s->shape.channels;
  args.a_batch_stride = (size_t)w->in[2] * s->shape.channels;
  args.w_batch_stride_bytes = 0;
  args.bias_batch_stride = 0;
  args.out_batch_stride = args.out_stride * args.m;
  args.residual_batch_stride = args.residual_stride * args.m;
  return args;
}

// Kernels for other sizes. Constant sizes need only those of the plan.
static samara_status conv_rows_kernels(struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  const struct smr_f32_gemm_args args = {.n = s->n, .w_type = smr_linear_type(job->inputs[1])};
  return job->dims_vary ? smr_linear_need(job, &args, smr_weights_vary(job)) : SAMARA_OK;
}

static samara_status conv_rows_prepare(struct smr_job *job, bool contiguous) {
  struct smr_conv *s = job->state;
  s->contiguous = contiguous;
  SMR_TRY(smr_conv_take_weights(job, false, conv_rows_may_round(job)));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  const struct smr_f32_gemm_args args = conv_gemm_args(job, NULL);
  SMR_TRY(smr_linear_plan(job, &args, &s->plan));
  job->kernel = s->plan.kernel;
  job->tiles = s->plan.units;
  return smr_linear_take_unfolded(job, &s->linear);
}

static samara_status conv_point_prepare(struct smr_job *job) {
  return conv_rows_prepare(job, false);
}

static samara_status conv_contiguous_prepare(struct smr_job *job) {
  return conv_rows_prepare(job, true);
}

static samara_status conv_rows_run(const struct smr_job *job, size_t begin, size_t end,
                                   void *thread_scratch) {
  const struct smr_conv *s = job->state;
  if (begin == end) {  // alone, before the tiles
    smr_conv_prologue(job);
    return SAMARA_OK;
  }
  struct smr_f32_gemm_args args = conv_gemm_args(job, thread_scratch);
  args.a = smr_conv_x(job);
  smr_f32_gemm_run(&s->plan, &args, begin, end);
  return SAMARA_OK;
}

// ---- pointers to pixels ----

static samara_status conv_indirect_kernels(struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  SMR_NEED(job, f32_gemm_indirect);
  return smr_indirect_need(job, &s->window, s->n, smr_linear_type(job->inputs[1]));
}

static samara_status conv_indirect_prepare(struct smr_job *job) {
  struct smr_conv *s = job->state;
  SMR_TRY(smr_conv_take_weights(job, false, conv_taps_may_round(job)));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  SMR_TRY(smr_indirect_prepare(job, &s->indirect, &s->shape.window, s->linear.groups,
                               s->shape.channels, s->linear.n, s->linear.w_type));
  return smr_linear_take_unfolded(job, &s->linear);
}

static samara_status conv_indirect_run(const struct smr_job *job, size_t begin, size_t end,
                                       void *thread_scratch) {
  const struct smr_conv *s = job->state;
  if (begin == end) {
    if (smr_conv_prologue(job)) smr_indirect_prologue(job, &s->indirect);
    return SAMARA_OK;
  }
  const struct smr_f32_gemm_args args = conv_gemm_args(job, thread_scratch);
  smr_indirect_run(job, &s->indirect, &args, smr_conv_x(job), begin, end, thread_scratch);
  return SAMARA_OK;
}

// ---- few channels, through a table of offsets ----

// Geometry and epilogue. Pointers to x, w, bias, out and residual are left unset.
static struct smr_f32_conv_direct_args conv_direct_args(const struct smr_job *job) {
  const struct smr_conv *s = job->state;
  const struct smr_window *w = &s->shape.window;
  const size_t x_pixel = smr_conv_x_pixel(job), y_pixel = smr_pixel_stride(job->outputs[0]);
  const size_t r_pixel = smr_pixel_stride(smr_optional_input(job, 3));
  return (struct smr_f32_conv_direct_args){
      SMR_PLANES(w),
      SMR_PLANES_TAPS(w),
      SMR_PLANES_STRIDES(in, x_pixel, w->in),
      SMR_PLANES_STRIDES(out, y_pixel, w->out),
      SMR_PLANES_STRIDES(residual, r_pixel, w->out),
      .n = s->shape.n,
      .in_c = s->shape.channels,
      .in_channel_stride = 1,
      .w_type = smr_linear_type(job->inputs[1]),
      .panel_stride_bytes = s->linear.panel_stride_bytes,
      .out_type = smr_linear_type(job->outputs[0]),
      .lo = s->linear.lo,
      .hi = s->linear.hi,
  };
}

static samara_status conv_direct_kernels(struct smr_job *job) {
  const struct smr_f32_conv_direct_args args = conv_direct_args(job);
  const size_t last = (args.n + SMR_PANEL - 1) % SMR_PANEL + 1;
  if (args.w_type == SMR_GEMM_F16) SMR_NEED(job, conv_direct_f16w);
  if (smr_weights_vary(job) || last <= SMR_PANEL / 2) SMR_NEED(job, conv_direct_half);
  if (job->dims_vary || smr_f32_conv_direct_is_small(&args)) SMR_NEED(job, conv_direct_small);
  return SAMARA_OK;
}

static samara_status conv_direct_prepare(struct smr_job *job) {
  const struct smr_f32_conv_direct_config *config = smr_f32_conv_direct_config(job->isa);
  SMR_TRY(smr_conv_take_weights(job, true, false));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  const struct smr_f32_conv_direct_args args = conv_direct_args(job);
  job->kernel = config->name;
  job->tiles = smr_f32_conv_direct_units(&args);
  size_t offset;
  return smr_thread_scratch_take(job, smr_f32_conv_direct_scratch_bytes(config, &args), 1, &offset);
}

static samara_status conv_direct_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  const struct smr_conv *s = job->state;
  if (begin == end) {
    smr_conv_prologue(job);
    return SAMARA_OK;
  }
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  struct smr_f32_conv_direct_args args = conv_direct_args(job);
  args.in = smr_conv_x(job);
  args.w = smr_linear_weights(job, &s->linear);
  args.bias = smr_linear_bias(job, &s->linear);
  args.out = job->outputs[0]->data;
  args.residual = residual != NULL ? residual->data : NULL;
  args.post = SMR_HAS(linear_post) && s->linear.post.function != NULL ? smr_linear_post : NULL;
  args.post_context = (void *)(uintptr_t)&s->linear.post;
  smr_f32_conv_direct_run(smr_f32_conv_direct_config(job->isa), &args, begin, end, thread_scratch);
  return SAMARA_OK;
}

// ---- the table ----

static const struct smr_algorithm conv_point = {
    .name = "point",
    .part = SMR_PART_conv_product,
    .fits = smr_conv_fits_point,
    .fits_any = SMR_ALGORITHM_ANY(conv_any_rows),
    .work = conv_rows_work,
    .kernels = SMR_ALGORITHM_DOES(conv_product, conv_rows_kernels),
    .prepare = SMR_ALGORITHM_DOES(conv_product, conv_point_prepare),
    .run = SMR_ALGORITHM_DOES(conv_product, conv_rows_run),
};

static const struct smr_algorithm conv_contiguous = {
    .name = "contiguous",
    .part = SMR_PART_conv_product,
    .fits = conv_fits_contiguous,
    .fits_any = SMR_ALGORITHM_ANY(conv_any_rows),
    .work = conv_rows_work,
    .kernels = SMR_ALGORITHM_DOES(conv_product, conv_rows_kernels),
    .prepare = SMR_ALGORITHM_DOES(conv_product, conv_contiguous_prepare),
    .run = SMR_ALGORITHM_DOES(conv_product, conv_rows_run),
};

static const struct smr_algorithm conv_indirect = {
    .name = "indirect",
    .part = SMR_PART_conv_indirect,
    .fits = conv_fits_indirect,
    .fits_any = SMR_ALGORITHM_ANY(conv_any_indirect),
    .work = smr_conv_indirect_work,
    .kernels = SMR_ALGORITHM_DOES(conv_indirect, conv_indirect_kernels),
    .prepare = SMR_ALGORITHM_DOES(conv_indirect, conv_indirect_prepare),
    .run = SMR_ALGORITHM_DOES(conv_indirect, conv_indirect_run),
};

static const struct smr_algorithm conv_direct = {
    .name = "direct",
    .part = SMR_PART_conv_direct,
    .fits = conv_fits_direct,
    .fits_any = SMR_ALGORITHM_ANY(conv_any_direct),
    .work = conv_direct_work,
    .kernels = SMR_ALGORITHM_DOES(conv_direct, conv_direct_kernels),
    .prepare = SMR_ALGORITHM_DOES(conv_direct, conv_direct_prepare),
    .run = SMR_ALGORITHM_DOES(conv_direct, conv_direct_run),
};

static const struct smr_algorithm *const conv_rows[] = {
    &smr_conv_depthwise,    &smr_conv_depthwise_3d, &conv_point,
    &conv_contiguous,       &conv_indirect,         &conv_direct,
    &smr_conv_winograd_f43, &smr_conv_winograd_f23,
};

static const struct smr_algorithms conv_algorithms = {
    .begin = conv_begin,
    .count = sizeof conv_rows / sizeof *conv_rows,
    .rows = conv_rows,
};

const struct smr_op_funcs smr_op_conv_funcs = {
    .check = conv_check,
    .prepare = smr_prepare_algorithm,
    .pack = conv_pack,
    .algorithms = &conv_algorithms,
    .state_bytes = sizeof(struct smr_conv),
};
