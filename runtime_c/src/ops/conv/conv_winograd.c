// SPDX-License-Identifier: Apache-2.0
// Convolutions of floats by Winograd's transforms.
#include "base/fp.h"

#include "ops/conv/conv.h"

#include "base/checked.h"
#include "base/cut.h"
#include "ops/check/check.h"
#include "ops/conv/planes.h"

#include <string.h>

// Cost of steps in multiply-adds at the kernels' full rate: transforming one element of the input;
// transforming one product back, including the start of its sum; reading one more transformed
// weight than the direct product does. Measured (docs/internals/kernels.md) on caches that hold a
// block but not its weights.
static const smr_work winograd_in_work = 24, winograd_out_work = 20, winograd_weight_work = 16;
// Required gain: transformed weights take memory and load time, which a small gain does not
// justify.
static const smr_work winograd_gain = 0.875;

// With symbolic dims weights are transformed for any size, so require enough channels for it to pay
// off at most sizes.
enum { WINOGRAD_FEWEST_CHANNELS = 16 };

// The low bits hold the form. No other derived copy has NARROW without one of the KINDS bits.
enum { WINOGRAD_KEY = SMR_LINEAR_KEY_NARROW, WINOGRAD_KEY_KINDS = 7 << 27 };

static size_t winograd_tiles(enum smr_winograd_form form, const struct smr_window *w) {
  const size_t side = smr_winograd_side(form);
  return (size_t)w->batch * (((size_t)w->out[1] + side - 1) / side) *
         (((size_t)w->out[2] + side - 1) / side);
}

bool smr_conv_winograd_fits(const struct smr_job *job) {
  const struct smr_conv_shape *shape = job->state;
  const struct smr_window *w = &shape->window;
  const struct smr_tensor *x = job->inputs[0], *weights = job->inputs[1];
  bool fits = !job->strict && w->spatial == 2 && shape->groups == 1 && x->dtype == SAMARA_FLOAT32 &&
              weights->dtype == SAMARA_FLOAT32 && weights->constant >= 0 && w->channels_in > 0 &&
              w->channels_out > 0;
  for (uint32_t i = 1; fits && i < SMR_MAX_SPATIAL; i++)
    fits = w->kernel[i] == 3 && w->stride[i] == 1 && w->dilation[i] == 1;
  if (job->dims_vary)
    fits = fits && w->channels_in >= WINOGRAD_FEWEST_CHANNELS &&
           w->channels_out >= WINOGRAD_FEWEST_CHANNELS;
  if (!fits) return false;
  // Sizes of transformed weights and of a block cannot overflow.
  size_t bytes;
  return smr_mul_size(smr_panels((size_t)w->channels_out) * SMR_PANEL, (size_t)w->channels_in,
                      &bytes) &&
         smr_mul_size(bytes, SMR_WINOGRAD_MOST_POINTS * sizeof(float), &bytes) &&
         bytes < PTRDIFF_MAX / 64 &&
         (size_t)w->channels_in + (size_t)w->channels_out < PTRDIFF_MAX >> 20;
}

static smr_work winograd_work(const struct smr_job *job, enum smr_winograd_form form) {
  const struct smr_conv_shape *shape = job->state;
  const struct smr_window *w = &shape->window;
  const size_t tiles = winograd_tiles(form, w);
  const size_t block =
      smr_f32_winograd_block_tiles(form, tiles, (size_t)w->channels_in, (size_t)w->channels_out);
  const smr_work c = smr_work_of(w->channels_in), n = smr_work_of(w->channels_out);
  const smr_work points = smr_work_of((int64_t)smr_winograd_points(form)),
                 all = smr_work_of((int64_t)tiles) * points;
  const smr_work passes = smr_work_of((int64_t)smr_ceil_div(tiles, block));
  return all * c * n + all * (c * winograd_in_work + n * winograd_out_work) +
         (passes * points - (smr_work)SMR_WINOGRAD_TAPS) * c * n * winograd_weight_work;
}

static smr_work winograd_f23_work(const struct smr_job *job) {
  return winograd_work(job, SMR_WINOGRAD_F23);
}

static smr_work winograd_f43_work(const struct smr_job *job) {
  return winograd_work(job, SMR_WINOGRAD_F43);
}

static bool winograd_pays(const struct smr_job *job, enum smr_winograd_form form) {
  return winograd_work(job, form) < winograd_gain * smr_conv_indirect_work(job);
}

// With symbolic dims only this form is used, because weights are transformed for any size.
static bool winograd_fits_f43(const struct smr_job *job) {
  return smr_conv_winograd_fits(job) && (job->dims_vary || winograd_pays(job, SMR_WINOGRAD_F43));
}

static bool winograd_fits_f23(const struct smr_job *job) {
  return !job->dims_vary && smr_conv_winograd_fits(job) && winograd_pays(job, SMR_WINOGRAD_F23);
}

static struct smr_f32_winograd_args winograd_args(const struct smr_job *job) {
  const struct smr_conv_shape *shape = job->state;
  const struct smr_window *w = &shape->window;
  const size_t x_pixel = smr_pixel_stride(job->inputs[0]);
  const size_t y_pixel = smr_pixel_stride(job->outputs[0]);
  const size_t r_pixel = smr_pixel_stride(smr_optional_input(job, 3));
  return (struct smr_f32_winograd_args){
      SMR_PLANES(w),
      SMR_PLANES_STRIDES(in, x_pixel, w->in),
      SMR_PLANES_STRIDES(out, y_pixel, w->out),
      SMR_PLANES_STRIDES(residual, r_pixel, w->out),
      .channels = (size_t)w->channels_in,
      .n = (size_t)w->channels_out,
      .threads = job->threads,
  };
}

// Kernels for the products of a full block and of the last block.
static samara_status winograd_kernels(struct smr_job *job, enum smr_winograd_form form) {
  const struct smr_conv_shape *shape = job->state;
  const size_t c = (size_t)shape->window.channels_in, n = (size_t)shape->window.channels_out;
  const size_t tiles = winograd_tiles(form, &shape->window);
  const size_t block = smr_f32_winograd_block_tiles(form, tiles, c, n);
  struct smr_f32_gemm_args args = {.m = block, .n = n, .k = c};
  SMR_TRY(smr_linear_need(job, &args, false));
  args.m = block - (tiles % block != 0);
  return smr_linear_need(job, &args, false);
}

static samara_status winograd_f23_kernels(struct smr_job *job) {
  SMR_NEED(job, f32_winograd_f23);
  return winograd_kernels(job, SMR_WINOGRAD_F23);
}

static samara_status winograd_f43_kernels(struct smr_job *job) {
  SMR_NEED(job, f32_winograd_f43);
  return winograd_kernels(job, SMR_WINOGRAD_F43);
}

// ---- preparing ----

static uint32_t winograd_weights(struct smr_job *job, enum smr_winograd_form form) {
  const struct smr_window *w = &((const struct smr_conv_shape *)job->state)->window;
  const size_t bytes =
      smr_f32_winograd_weight_bytes(form, (size_t)w->channels_in, (size_t)w->channels_out);
  return smr_linear_derive(job, 1, WINOGRAD_KEY | (uint32_t)form, bytes);
}

// Bytes of a block's buffers. With symbolic dims: enough for all dims up to these.
static size_t winograd_room(const struct smr_job *job, enum smr_winograd_form form,
                            const struct smr_f32_winograd_plan *plan) {
  const struct smr_window *w = &((const struct smr_conv_shape *)job->state)->window;
  if (!job->dims_vary) return smr_f32_winograd_block_floats(plan);
  return smr_f32_winograd_most_floats(form, winograd_tiles(form, w), (size_t)w->channels_in,
                                      (size_t)w->channels_out);
}

static samara_status winograd_reserve(struct smr_job *job) {
  const struct smr_conv_shape *shape = job->state;
  size_t offset;
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  winograd_weights(job, SMR_WINOGRAD_F43);
  SMR_TRY(smr_scratch_take(job, (size_t)shape->window.channels_in, sizeof(float), &offset));
  return smr_thread_scratch_take(job, winograd_room(job, SMR_WINOGRAD_F43, NULL), sizeof(float),
                                 &offset);
}

static samara_status winograd_prepare(struct smr_job *job, enum smr_winograd_form form) {
  struct smr_conv *s = job->state;
  // With symbolic dims, the row for strict sessions has already placed bias and epilogue with its
  // weights.
  if (!job->dims_vary) {
    smr_conv_linear(&s->shape, &s->linear);
    SMR_TRY(smr_linear_prepare_end(job, SMR_ATTR_GROUP(job, conv, epilogue), &s->linear));
  }
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  const struct smr_f32_winograd_args args = winograd_args(job);
  struct smr_f32_winograd_plan *plan = &s->winograd.plan;
  smr_f32_winograd_plan_make(form, job->isa, smr_f32_gemm_config(job->isa), &args, plan);
  s->winograd.derived = winograd_weights(job, form);
  SMR_TRY(smr_scratch_take(job, args.channels, sizeof(float), &s->zero_offset));
  job->kernel = plan->kernel;
  const size_t floats = winograd_room(job, form, plan);
  job->tiles = plan->blocks;
  if (plan->blocks > 1)
    return smr_thread_scratch_take(job, floats, sizeof(float), &s->winograd.room_offset);
  // The only block is shared: each step is split among the threads.
  job->barriers[0] = plan->tiles;
  job->barriers[1] = plan->tiles + smr_f32_winograd_units(plan, 0);
  job->tiles = job->barriers[1] + plan->tiles;
  return smr_scratch_take(job, floats, sizeof(float), &s->winograd.room_offset);
}

static samara_status winograd_f23_prepare(struct smr_job *job) {
  return winograd_prepare(job, SMR_WINOGRAD_F23);
}

static samara_status winograd_f43_prepare(struct smr_job *job) {
  return winograd_prepare(job, SMR_WINOGRAD_F43);
}

bool smr_conv_winograd_packs(const struct smr_derived *what) {
  return what->input == 1 && (what->layout & WINOGRAD_KEY) != 0 &&
         (what->layout & WINOGRAD_KEY_KINDS) == 0;
}

void smr_conv_winograd_pack(const struct smr_job *job, const struct smr_derived *what, void *out) {
  const struct smr_tensor *w = job->inputs[1];
  const size_t c = (size_t)w->dims[w->rank - 1], n = (size_t)w->dims[0];
  const bool panels = w->layout == SMR_LAYOUT_PANEL;
  const size_t depth = SMR_WINOGRAD_TAPS * c;
  const struct smr_f32_winograd_weights args = {
      .channels = c,
      .n = n,
      .src = w->data,
      .panel_stride =
          panels ? smr_panel_stride_bytes(depth, sizeof(float)) / sizeof(float) : SMR_PANEL * depth,
      .tap_stride = panels ? c * SMR_PANEL : c,
      .c_stride = panels ? SMR_PANEL : 1,
      .n_stride = panels ? 1 : depth,
      .dst = out,
  };
  const enum smr_winograd_form form = (enum smr_winograd_form)(what->layout & 1);
  smr_f32_winograd_weights(form, job->isa, &args, 0, smr_panels(n));
}

// ---- running ----

// One block, computed by one thread.
static void winograd_block(const struct smr_f32_winograd_plan *plan,
                           const struct smr_f32_winograd_args *args, size_t block, float *room) {
  const size_t tiles = smr_f32_winograd_tiles(plan, block);
  smr_f32_winograd_input(plan, args, block, room, 0, tiles);
  smr_f32_winograd_products(plan, args, block, room, 0, smr_f32_winograd_units(plan, block));
  smr_f32_winograd_output(plan, args, block, room, 0, tiles);
}

// Tiles [begin, end) of the phases of a single block.
static void winograd_phases(const struct smr_job *job, const struct smr_f32_winograd_plan *plan,
                            const struct smr_f32_winograd_args *args, size_t begin, size_t end,
                            float *room) {
  const size_t products = job->barriers[0], outputs = job->barriers[1];
  while (begin < end) {
    const size_t phase = smr_phase_end(job, begin), stop = phase < end ? phase : end;
    if (begin < products)
      smr_f32_winograd_input(plan, args, 0, room, begin, stop);
    else if (begin < outputs)
      smr_f32_winograd_products(plan, args, 0, room, begin - products, stop - products);
    else
      smr_f32_winograd_output(plan, args, 0, room, begin - outputs, stop - outputs);
    begin = stop;
  }
}

static samara_status winograd_run(const struct smr_job *job, size_t begin, size_t end,
                                  void *thread_scratch) {
  const struct smr_conv *s = job->state;
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  struct smr_f32_winograd_args args = winograd_args(job);
  float *zero = smr_conv_scratch(job, s->zero_offset);
  if (begin == end) {  // alone, before the tiles
    if (smr_conv_prologue(job)) memset(zero, 0, args.channels * sizeof(float));
    return SAMARA_OK;
  }
  args.zero = zero;
  args.in = job->inputs[0]->data;
  args.weights = job->derived[s->winograd.derived].data;
  args.bias = smr_linear_bias(job, &s->linear);
  args.out = job->outputs[0]->data;
  args.residual = residual != NULL ? residual->data : NULL;
  args.lo = s->linear.lo;
  args.hi = s->linear.hi;
  args.post = SMR_HAS(linear_post) && s->linear.post.function != NULL ? smr_linear_post : NULL;
  args.post_context = (void *)(uintptr_t)&s->linear.post;
  const struct smr_f32_winograd_plan *plan = &s->winograd.plan;
  if (plan->blocks > 1) {
    float *room = (float *)(void *)((char *)thread_scratch + s->winograd.room_offset);
    for (size_t block = begin; block < end; block++) winograd_block(plan, &args, block, room);
  } else {
    winograd_phases(job, plan, &args, begin, end, smr_conv_scratch(job, s->winograd.room_offset));
  }
  return SAMARA_OK;
}

const struct smr_algorithm smr_conv_winograd_f23 = {
    .name = "winograd_f23",
    .part = SMR_PART_conv_winograd,
    .loose = true,
    .fits = winograd_fits_f23,
    .work = winograd_f23_work,
    .kernels = SMR_ALGORITHM_DOES(conv_winograd, winograd_f23_kernels),
    .prepare = SMR_ALGORITHM_DOES(conv_winograd, winograd_f23_prepare),
    .run = SMR_ALGORITHM_DOES(conv_winograd, winograd_run),
};

const struct smr_algorithm smr_conv_winograd_f43 = {
    .name = "winograd_f43",
    .part = SMR_PART_conv_winograd,
    .loose = true,
    .fits = winograd_fits_f43,
    .work = winograd_f43_work,
    .kernels = SMR_ALGORITHM_DOES(conv_winograd, winograd_f43_kernels),
    .prepare = SMR_ALGORITHM_DOES(conv_winograd, winograd_f43_prepare),
    .reserve = SMR_ALGORITHM_DOES(conv_winograd, winograd_reserve),
    .run = SMR_ALGORITHM_DOES(conv_winograd, winograd_run),
};
