// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions of floats: the table, and the algorithms that are matrix products.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "kernels/f32_dwconv/f32_dwconv.h"
#include "ops/check/check.h"
#include "ops/conv/conv_indirection.h"
#include "ops/conv/conv_shape.h"

#include <string.h>

samara_status smr_conv_transpose_begin(struct smr_job *job, const struct smr_attrs_window *window,
                                       const struct smr_attrs_epilogue *epilogue, int64_t groups,
                                       int64_t channels, int64_t n) {
  struct smr_conv_transpose *s = job->state;
  *s = (struct smr_conv_transpose){.epilogue = epilogue};
  SMR_TRY(smr_conv_phases_read(job, window, groups, channels, n));
  const struct smr_window *w = &s->phases.window;
  s->by_channel = s->phases.depthwise && job->inputs[0]->dtype != SAMARA_FLOAT16;
  s->pads_vary = window->pads.varies;
  s->point = smr_window_taps(w) == 1;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    s->strided |= w->stride[i] != 1;
    s->point &= w->stride[i] == 1 && w->pad_begin[i] == 0 && w->in[i] == w->out[i];
    s->empty |= smr_conv_phases_has_empty(&s->phases, i);
  }
  return SAMARA_OK;
}

// ---- what the algorithms share ----

static bool transpose_widens(const struct smr_job *job) {
  return SMR_HAS(type_float16) && job->inputs[0]->dtype == SAMARA_FLOAT16;
}

static float *transpose_scratch(const struct smr_job *job, size_t offset) {
  return (float *)(void *)((char *)job->scratch + offset);
}

// While running. Pixels are a_stride elements apart, see smr_conv_transpose_args.
static const float *transpose_x(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return transpose_widens(job) ? transpose_scratch(job, s->x_offset) : job->inputs[0]->data;
}

samara_status smr_conv_transpose_take_weights(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  const bool depthwise = s->by_channel;
  s->linear = (struct smr_linear){
      .unfolds_whole = depthwise,
      .groups = depthwise ? 1 : s->phases.groups,
      .taps = (size_t)smr_window_taps(&s->phases.window),
      .k = s->phases.channels,
      .n = depthwise ? s->phases.groups : s->phases.n,
      .group_stride = s->group_stride,
      .tap_stride = s->tap_stride,
      .k_stride = s->k_stride,
      .n_stride = depthwise ? s->group_stride : s->n_stride,
      .source_tap = smr_conv_phases_source_tap,
      .weight_key = s->derives ? smr_conv_phases_key(&s->phases, s->phases.flipped) : 0,
  };
  SMR_TRY(smr_linear_prepare(job, s->epilogue, &s->linear));
  if (!transpose_widens(job)) return SAMARA_OK;
  return smr_scratch_take(job, (size_t)smr_numel(x), sizeof(float), &s->x_offset);
}

samara_status smr_conv_transpose_pack(const struct smr_job *job, const struct smr_derived *what,
                                      void *out) {
  const struct smr_conv_transpose *s = job->state;
  return smr_linear_pack_to(job, &s->linear, what, out);
}

bool smr_conv_transpose_prologue(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  if (job->tiles == 0) return false;
  smr_linear_prologue(job, &s->linear);
  if (transpose_widens(job))
    smr_f16_to_f32_kernel(job->isa)((size_t)smr_numel(x), x->data,
                                    transpose_scratch(job, s->x_offset));
  return true;
}

struct smr_f32_gemm_args smr_conv_transpose_args(const struct smr_job *job, void *thread_scratch) {
  const struct smr_conv_transpose *s = job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  struct smr_f32_gemm_args args = {
      .k = s->phases.channels,
      .taps = 1,
      .a_stride =
          transpose_widens(job) ? (size_t)s->phases.window.channels_in : (size_t)x->pixel_stride,
      .a_batch_stride = s->phases.channels,
      .out = y->data,
      .out_type = smr_linear_type(y),
      .out_batch_stride = s->phases.n,
      .out_stride = (size_t)y->pixel_stride,
      .residual = residual != NULL ? residual->data : NULL,
      .residual_batch_stride = s->phases.n,
      .residual_stride = residual != NULL ? (size_t)residual->pixel_stride : 0,
  };
  smr_linear_args(job, &s->linear, thread_scratch, &args);
  return args;
}

// ---- which row fits ----

// Whether the node is computed as a product: not depthwise, and not few output channels.
static bool transpose_is_product(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return !s->by_channel && !smr_conv_transpose_fits_fold(job);
}

static bool transpose_fits_point(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return transpose_is_product(job) && s->point;
}

static bool transpose_fits_indirect(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return transpose_is_product(job) && !s->strided && !s->point;
}

static bool transpose_fits_phases(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return transpose_is_product(job) && s->strided;
}

static bool transpose_fits_depthwise_phases(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return s->by_channel && (s->empty || s->phases.window.spatial == 3);
}

// With symbolic dims: weights of other dims can lead to each row; symbolic padding can switch
// between `point` and `indirect`. The number of output channels is not tested.

static bool transpose_any_point(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return smr_weights_vary(job) || (!s->by_channel && !s->strided && (s->pads_vary || s->point));
}

static bool transpose_any_indirect(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return smr_weights_vary(job) || (!s->by_channel && !s->strided && (s->pads_vary || !s->point));
}

static bool transpose_any_phases(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return smr_weights_vary(job) || (!s->by_channel && s->strided);
}

static bool transpose_any_depthwise_phases(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return smr_weights_vary(job) ? s->phases.groups > 1 : transpose_fits_depthwise_phases(job);
}

// ---- one tap ----

// Kernels for other sizes. Constant sizes need only those of the plan.
static samara_status transpose_point_kernels(struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  const struct smr_f32_gemm_args args = {.n = s->phases.n,
                                         .w_type = smr_linear_type(job->inputs[1])};
  return job->dims_vary ? smr_linear_need(job, &args, smr_weights_vary(job)) : SAMARA_OK;
}

static struct smr_f32_gemm_args transpose_point_args(const struct smr_job *job,
                                                     void *thread_scratch) {
  const struct smr_conv_transpose *s = job->state;
  struct smr_f32_gemm_args args = smr_conv_transpose_args(job, thread_scratch);
  args.m = (size_t)(s->phases.window.batch * smr_window_pixels(&s->phases.window));
  return args;
}

static samara_status transpose_point_prepare(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  SMR_TRY(smr_conv_transpose_take_weights(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  const struct smr_f32_gemm_args args = transpose_point_args(job, NULL);
  SMR_TRY(smr_linear_plan(job, &args, &s->plan));
  job->kernel = s->plan.kernel;
  job->tiles = s->plan.units;
  return smr_linear_take_unfolded(job, &s->linear);
}

static samara_status transpose_point_run(const struct smr_job *job, size_t begin, size_t end,
                                         void *thread_scratch) {
  const struct smr_conv_transpose *s = job->state;
  if (begin == end) {  // alone, before the tiles
    smr_conv_transpose_prologue(job);
    return SAMARA_OK;
  }
  struct smr_f32_gemm_args args = transpose_point_args(job, thread_scratch);
  args.a = transpose_x(job);
  smr_f32_gemm_run(&s->plan, &args, begin, end);
  return SAMARA_OK;
}

// ---- strides of 1: one phase ----

static samara_status transpose_indirect_kernels(struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return smr_indirect_need(job, &s->phases.window, s->phases.n, smr_linear_type(job->inputs[1]));
}

// Tap t of output o reads input o + pad - t * dilation.
static samara_status transpose_indirect_prepare(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  struct smr_window w = s->phases.window;
  SMR_TRY(smr_conv_transpose_take_weights(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    w.pad_begin[i] = -w.pad_begin[i];
    w.dilation[i] = -w.dilation[i];
  }
  SMR_TRY(smr_indirect_prepare(job, &s->indirect, &w, s->phases.groups, s->phases.channels,
                               s->phases.n, s->linear.w_type));
  return smr_linear_take_unfolded(job, &s->linear);
}

static samara_status transpose_indirect_run(const struct smr_job *job, size_t begin, size_t end,
                                            void *thread_scratch) {
  const struct smr_conv_transpose *s = job->state;
  if (begin == end) {
    if (smr_conv_transpose_prologue(job)) smr_indirect_prologue(job, &s->indirect);
    return SAMARA_OK;
  }
  const struct smr_f32_gemm_args args = smr_conv_transpose_args(job, thread_scratch);
  smr_indirect_run(job, &s->indirect, &args, transpose_x(job), begin, end, thread_scratch);
  return SAMARA_OK;
}

// ---- phases ----

static samara_status transpose_phases_kernels(struct smr_job *job) {
  // There may be any number of phases, with any number of rows.
  static const float *const some_pointers[1] = {NULL};
  const struct smr_conv_transpose *s = job->state;
  const struct smr_f32_gemm_args any = {.m = 1,
                                        .n = s->phases.n,
                                        .indirect = some_pointers,
                                        .w_type = smr_linear_type(job->inputs[1])};
  return smr_linear_need(job, &any, job->dims_vary && job->inputs[1]->constant < 0);
}

static samara_status transpose_depthwise_phases_kernels(struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  SMR_NEED(job, f32_dwconv_indirect);
  if (s->phases.groups % SMR_PANEL != 0 || job->input_count > 3) SMR_NEED(job, f32_dwconv_part);
  if (job->inputs[1]->dtype == SAMARA_FLOAT16) SMR_NEED(job, f32_dwconv_f16w);
  return SAMARA_OK;
}

// Channels behind a pointer.
static size_t transpose_phase_channels(const struct smr_conv_transpose *s) {
  return s->by_channel ? s->phases.groups : s->phases.channels;
}

static samara_status transpose_phases_prepare(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  const struct smr_conv_phases *p = &s->phases;
  SMR_TRY(smr_conv_transpose_take_weights(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  s->clears = s->empty && s->epilogue == NULL && job->input_count == 2;
  SMR_TRY(smr_scratch_take(job, transpose_phase_channels(s), sizeof(float), &s->zero_offset));
  SMR_TRY(smr_conv_phases_cut(job, 2.0 * (double)(p->channels * p->n) * (double)p->groups));
  job->kernel = s->by_channel ? "f32_dwconv_phases" : "f32_gemm_phases";
  return smr_linear_take_unfolded(job, &s->linear);
}

// Clear output rows in which some phase has no taps.
static void transpose_clear(const struct smr_conv_phases_tile *tile) {
  const struct smr_job *job = tile->watch->job;
  const struct smr_conv_transpose *s = job->state;
  const struct smr_window *w = &s->phases.window;
  const struct smr_tensor *dense = job->outputs[0];
  if (!s->clears) return;
  const size_t row = (size_t)(w->out[2] * w->channels_out) * smr_dtype_bytes(dense->dtype);
  const size_t first = tile->first_pixel / (size_t)w->out[2] + (size_t)tile->first_row;
  memset((char *)dense->data + first * row, 0, (size_t)(tile->end_row - tile->first_row) * row);
}

// The product over pointers of one phase; the caller sets the row.
static struct smr_f32_gemm_args transpose_phase_args(const struct smr_f32_gemm_args *all,
                                                     const struct smr_conv_transpose *s,
                                                     const struct smr_conv_phases_tile *tile,
                                                     const struct smr_conv_phases_box *box) {
  const size_t step = (size_t)s->phases.window.stride[2];
  const size_t w_element = all->w_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  struct smr_f32_gemm_args args = *all;
  args.taps = box->taps;
  args.indirect = tile->pointers;
  args.zero = transpose_scratch(tile->watch->job, s->zero_offset);
  if (all->source.expand != NULL)
    args.source.first_row = box->first * s->phases.channels;
  else
    args.w = (const char *)all->w + box->first * SMR_PANEL * s->phases.channels * w_element;
  args.out_stride = all->out_stride * step;
  args.residual_stride = all->residual_stride * step;
  return args;
}

// The same row for a depthwise convolution.
static void transpose_depthwise_row(const struct smr_job *job,
                                    const struct smr_f32_gemm_args *args) {
  const struct smr_conv_transpose *s = job->state;
  const struct smr_f32_dwconv_indirect_args row = {
      .pixels = args->m,
      .taps = args->taps,
      .channels = s->phases.groups,
      .indirect = args->indirect,
      .zero = args->zero,
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

static samara_status transpose_phase(const struct smr_conv_phases_tile *tile,
                                     const struct smr_conv_phases_box *box, int64_t *out) {
  const struct smr_job *job = tile->watch->job;
  const struct smr_conv_transpose *s = job->state;
  const struct smr_window *w = &s->phases.window;
  if (s->clears && box->taps == 0) return SAMARA_OK;
  const struct smr_f32_gemm_args all = smr_conv_transpose_args(job, tile->pointers);
  const float *image =
      transpose_x(job) + tile->image * (size_t)smr_product(w->in, 3) * all.a_stride;
  struct smr_f32_gemm_args args = transpose_phase_args(&all, s, tile, box);
  const size_t element = all.out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  const bool depthwise = SMR_HAS(f32_dwconv_indirect) && s->by_channel;
  struct smr_f32_gemm_plan plan;
  args.m = smr_conv_phases_pixels(&s->phases, out);
  if (!depthwise) smr_f32_gemm_plan_make(smr_linear_config(job), &args, &plan);
  for (; out[1] < tile->end_row; out[1] += w->stride[1]) {
    const size_t work = args.m * (args.taps + 1);
    SMR_TRY(smr_deadline_step(tile->watch, depthwise ? work * s->phases.groups : work));
    const size_t pixel = tile->first_pixel + (size_t)(out[1] * w->out[2] + out[2]);
    args.out = (char *)all.out + pixel * all.out_stride * element;
    if (all.residual != NULL)
      args.residual = (const char *)all.residual + pixel * all.residual_stride * element;
    smr_conv_phase_indirection(&s->phases, box, image, all.a_stride, args.zero, out, args.m,
                               tile->pointers);
    if (depthwise)
      transpose_depthwise_row(job, &args);
    else
      SMR_TRY(smr_linear_multiply(tile->watch, &plan, &args, 0, plan.units));
  }
  return SAMARA_OK;
}

static samara_status transpose_phases_run(const struct smr_job *job, size_t begin, size_t end,
                                          void *thread_scratch) {
  static const struct smr_conv_phases_product product = {.clear = transpose_clear,
                                                         .phase = transpose_phase};
  const struct smr_conv_transpose *s = job->state;
  if (begin == end) {
    if (smr_conv_transpose_prologue(job))
      memset(transpose_scratch(job, s->zero_offset), 0,
             transpose_phase_channels(s) * sizeof(float));
    return SAMARA_OK;
  }
  return smr_conv_phases_run(job, &product, begin, end, thread_scratch);
}

// ---- the table ----

static const struct smr_algorithm transpose_point = {
    .name = "point",
    .part = SMR_PART_spread_point,
    .fits = transpose_fits_point,
    .fits_any = SMR_ALGORITHM_ANY(transpose_any_point),
    .kernels = SMR_ALGORITHM_DOES(spread_point, transpose_point_kernels),
    .prepare = SMR_ALGORITHM_DOES(spread_point, transpose_point_prepare),
    .run = SMR_ALGORITHM_DOES(spread_point, transpose_point_run),
};

static const struct smr_algorithm transpose_indirect = {
    .name = "indirect",
    .part = SMR_PART_spread_indirect,
    .fits = transpose_fits_indirect,
    .fits_any = SMR_ALGORITHM_ANY(transpose_any_indirect),
    .kernels = SMR_ALGORITHM_DOES(spread_indirect, transpose_indirect_kernels),
    .prepare = SMR_ALGORITHM_DOES(spread_indirect, transpose_indirect_prepare),
    .run = SMR_ALGORITHM_DOES(spread_indirect, transpose_indirect_run),
};

static const struct smr_algorithm transpose_phases = {
    .name = "phases",
    .part = SMR_PART_spread_phases,
    .fits = transpose_fits_phases,
    .fits_any = SMR_ALGORITHM_ANY(transpose_any_phases),
    .kernels = SMR_ALGORITHM_DOES(spread_phases, transpose_phases_kernels),
    .prepare = SMR_ALGORITHM_DOES(spread_phases, transpose_phases_prepare),
    .run = SMR_ALGORITHM_DOES(spread_phases, transpose_phases_run),
};

// For nodes with empty phases, or with three spatial dims.
static const struct smr_algorithm transpose_depthwise_phases = {
    .name = "depthwise_phases",
    .part = SMR_PART_spread_phases,
    .fits = transpose_fits_depthwise_phases,
    .fits_any = SMR_ALGORITHM_ANY(transpose_any_depthwise_phases),
    .kernels = SMR_ALGORITHM_DOES(spread_phases, transpose_depthwise_phases_kernels),
    .prepare = SMR_ALGORITHM_DOES(spread_phases, transpose_phases_prepare),
    .run = SMR_ALGORITHM_DOES(spread_phases, transpose_phases_run),
};

const struct smr_algorithm *const smr_conv_transpose_rows[SMR_CONV_TRANSPOSE_ROWS] = {
    &smr_conv_transpose_depthwise, &transpose_depthwise_phases,
    &smr_conv_transpose_fold,      &transpose_point,
    &transpose_indirect,           &transpose_phases,
};
