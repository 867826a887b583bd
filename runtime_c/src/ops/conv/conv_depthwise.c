// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of floats: planes by f32_dwconv, volumes line by line over pointers.
#include "base/fp.h"

#include "kernels/f32_dwconv/f32_dwconv.h"
#include "ops/check/check.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_indirection.h"
#include "ops/conv/planes.h"
#include "ops/partition.h"

#include <string.h>

enum {
  CONV_DEPTHWISE_PIECE = 16,  // units between two looks at the clock
};

static const smr_work conv_depthwise_mac_work = 2.0;  // ops/choice.h

static smr_work conv_depthwise_work(const struct smr_job *job) {
  return conv_depthwise_mac_work * smr_conv_work(job);
}

// Geometry and epilogue. Pointers to x, w, bias, out and residual are left unset.
static struct smr_f32_dwconv_args conv_depthwise_args(const struct smr_job *job) {
  const struct smr_conv *s = job->state;
  const struct smr_window *w = &s->shape.window;
  const size_t x_pixel = smr_conv_x_pixel(job), y_pixel = smr_pixel_stride(job->outputs[0]);
  const size_t r_pixel = smr_pixel_stride(smr_optional_input(job, 3));
  return (struct smr_f32_dwconv_args){
      SMR_PLANES(w),
      SMR_PLANES_TAPS(w),
      SMR_PLANES_STRIDES(in, x_pixel, w->in),
      SMR_PLANES_STRIDES(out, y_pixel, w->out),
      SMR_PLANES_STRIDES(residual, r_pixel, w->out),
      .channels = (size_t)w->channels_out,
      .pieces = smr_partition(job),
      .w_type = smr_linear_type(job->inputs[1]),
      .panel_stride_bytes = s->linear.panel_stride_bytes,
      .lo = s->linear.lo,
      .hi = s->linear.hi,
      .post = SMR_HAS(linear_post) && s->linear.post.function != NULL ? smr_linear_post : NULL,
      .post_context = (void *)(uintptr_t)&s->linear.post,
  };
}

static bool conv_any_depthwise(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return smr_conv_fits_depthwise(job) ||
         (smr_weights_vary(job) && s->groups > 1 && s->window.spatial < 3);
}

static bool conv_any_depthwise_3d(const struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  return smr_conv_fits_depthwise_3d(job) ||
         (smr_weights_vary(job) && s->groups > 1 && s->window.spatial == 3);
}

static samara_status conv_depthwise_kernels(struct smr_job *job) {
  const struct smr_f32_dwconv_args args = conv_depthwise_args(job);
  return smr_f32_dwconv_need(&args, job->dims_vary, smr_weights_vary(job), job->parts, job->error);
}

static samara_status conv_depthwise_3d_kernels(struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  SMR_NEED(job, f32_dwconv_indirect);
  if (smr_weights_vary(job) || s->window.channels_out % SMR_PANEL != 0 ||
      smr_optional_input(job, 3) != NULL)
    SMR_NEED(job, f32_dwconv_part);
  if (job->inputs[1]->dtype == SAMARA_FLOAT16) SMR_NEED(job, f32_dwconv_f16w);
  return SAMARA_OK;
}

// ---- preparing ----

// The kernels only take float32, so one tile converts inputs and outputs.
static samara_status conv_depthwise_widened(struct smr_job *job) {
  struct smr_conv *s = job->state;
  if (!smr_conv_widens(job)) return SAMARA_OK;
  const size_t n = (size_t)smr_numel(job->outputs[0]);
  SMR_TRY(smr_scratch_take(job, n, sizeof(float), &s->depthwise.y_offset));
  SMR_TRY(smr_scratch_take(job, n, sizeof(float), &s->depthwise.residual_offset));
  s->depthwise.units = job->tiles;
  job->tiles = job->tiles != 0;
  return SAMARA_OK;
}

static samara_status conv_depthwise_prepare(struct smr_job *job) {
  SMR_TRY(smr_conv_take_weights(job, true, false));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  const struct smr_f32_dwconv_args args = conv_depthwise_args(job);
  job->tiles = smr_f32_dwconv_units(&args);
  job->kernel = smr_f32_dwconv_kernel(smr_f32_dwconv_config(job->isa), &args);
  return conv_depthwise_widened(job);
}

static samara_status conv_depthwise_3d_prepare(struct smr_job *job) {
  struct smr_conv *s = job->state;
  const struct smr_window *w = &s->shape.window;
  size_t offset;
  SMR_TRY(smr_conv_take_weights(job, true, false));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  job->tiles = (size_t)(w->batch * w->out[0] * w->out[1]);
  job->kernel = "f32_dwconv_indirect";
  SMR_TRY(smr_scratch_take(job, (size_t)w->channels_in, sizeof(float), &s->zero_offset));
  SMR_TRY(
      smr_thread_scratch_take(job, (size_t)w->out[2] * s->shape.taps, sizeof(float *), &offset));
  return conv_depthwise_widened(job);
}

// ---- running ----

// The arguments for tiles [*begin, *end). If x is converted, the range becomes that of all units.
static struct smr_f32_dwconv_args conv_depthwise_begin(const struct smr_job *job, size_t *begin,
                                                       size_t *end) {
  const struct smr_conv *s = job->state;
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  struct smr_f32_dwconv_args args = conv_depthwise_args(job);
  args.in = smr_conv_x(job);
  args.w = smr_linear_weights(job, &s->linear);
  args.bias = smr_linear_bias(job, &s->linear);
  args.out = job->outputs[0]->data;
  args.residual = residual != NULL ? residual->data : NULL;
  if (!smr_conv_widens(job)) return args;
  *begin = 0;
  *end = s->depthwise.units;
  args.out = smr_conv_scratch(job, s->depthwise.y_offset);
  args.out_pixel_stride = args.residual_pixel_stride = args.channels;
  args.out_row_stride = args.residual_row_stride = args.channels * args.out_w;
  args.out_batch_stride = args.residual_batch_stride = args.out_row_stride * args.out_h;
  if (residual == NULL) return args;
  float *wide = smr_conv_scratch(job, s->depthwise.residual_offset);
  smr_conv_widen(job, residual, wide);
  args.residual = wide;
  return args;
}

// Convert the output from float32 if it was computed in scratch.
static void conv_depthwise_end(const struct smr_job *job, const struct smr_f32_dwconv_args *args) {
  const struct smr_conv *s = job->state;
  const struct smr_tensor *y = job->outputs[0];
  if (!smr_conv_widens(job)) return;
  const smr_f32_to_f16_ukernel narrow = smr_f32_to_f16_kernel(job->isa);
  for (size_t i = 0; i < s->shape.pixels; i++)
    narrow(args->channels, args->out + i * args->channels,
           (uint16_t *)y->data + i * (size_t)y->pixel_stride);
}

static samara_status conv_depthwise_run(const struct smr_job *job, size_t begin, size_t end,
                                        void *thread_scratch) {
  (void)thread_scratch;
  if (begin == end) {  // alone, before the tiles
    smr_conv_prologue(job);
    return SAMARA_OK;
  }
  const struct smr_f32_dwconv_args args = conv_depthwise_begin(job, &begin, &end);
  for (size_t unit = begin; unit < end; unit += CONV_DEPTHWISE_PIECE) {
    // Without float16 the session chooses the ranges.
    const size_t left = end - unit;
    if (smr_conv_widens(job)) SMR_TRY(smr_in_time(&job->deadline, job->error));
    smr_f32_dwconv_run(smr_f32_dwconv_config(job->isa), &args, unit,
                       left < CONV_DEPTHWISE_PIECE ? end : unit + CONV_DEPTHWISE_PIECE);
  }
  conv_depthwise_end(job, &args);
  return SAMARA_OK;
}

// Lines [begin, end) of a volume.
static samara_status conv_depthwise_lines(const struct smr_job *job,
                                          const struct smr_f32_dwconv_args *like, size_t begin,
                                          size_t end, const float **pointers) {
  const struct smr_conv *s = job->state;
  const struct smr_window *w = &s->shape.window;
  const size_t out_w = (size_t)w->out[2];
  const float *zero = smr_conv_scratch(job, s->zero_offset);
  struct smr_deadline_watch watch = {.job = job};
  for (size_t line = begin; line < end; line++) {
    smr_conv_indirection(w, like->in, like->in_pixel_stride, zero, line * out_w, out_w, pointers);
    const struct smr_f32_dwconv_indirect_args args = {
        .pixels = out_w,
        .taps = s->shape.taps,
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
      SMR_TRY(smr_deadline_step(&watch, s->shape.taps * like->channels));
      smr_f32_dwconv_indirect_run(smr_f32_dwconv_config(job->isa), &args, x, x + 1);
    }
    if (like->post != NULL)
      like->post(like->post_context, args.out, out_w, like->channels, like->out_pixel_stride,
                 SMR_GEMM_F32);
  }
  return SAMARA_OK;
}

static samara_status conv_depthwise_3d_run(const struct smr_job *job, size_t begin, size_t end,
                                           void *thread_scratch) {
  const struct smr_conv *s = job->state;
  if (begin == end) {
    if (smr_conv_prologue(job))
      memset(smr_conv_scratch(job, s->zero_offset), 0, s->linear.n * sizeof(float));
    return SAMARA_OK;
  }
  const struct smr_f32_dwconv_args args = conv_depthwise_begin(job, &begin, &end);
  SMR_TRY(conv_depthwise_lines(job, &args, begin, end, thread_scratch));
  conv_depthwise_end(job, &args);
  return SAMARA_OK;
}

const struct smr_algorithm smr_conv_depthwise = {
    .name = "depthwise",
    .part = SMR_PART_conv_depthwise,
    .fits = smr_conv_fits_depthwise,
    .fits_any = SMR_ALGORITHM_ANY(conv_any_depthwise),
    .work = conv_depthwise_work,
    .kernels = SMR_ALGORITHM_DOES(conv_depthwise, conv_depthwise_kernels),
    .prepare = SMR_ALGORITHM_DOES(conv_depthwise, conv_depthwise_prepare),
    .run = SMR_ALGORITHM_DOES(conv_depthwise, conv_depthwise_run),
};

const struct smr_algorithm smr_conv_depthwise_3d = {
    .name = "depthwise",
    .part = SMR_PART_conv_depthwise_3d,
    .fits = smr_conv_fits_depthwise_3d,
    .fits_any = SMR_ALGORITHM_ANY(conv_any_depthwise_3d),
    .work = conv_depthwise_work,
    .kernels = SMR_ALGORITHM_DOES(conv_depthwise_3d, conv_depthwise_3d_kernels),
    .prepare = SMR_ALGORITHM_DOES(conv_depthwise_3d, conv_depthwise_3d_prepare),
    .run = SMR_ALGORITHM_DOES(conv_depthwise_3d, conv_depthwise_3d_run),
};
