// SPDX-License-Identifier: Apache-2.0
// Convolutions of floats by Winograd's transforms.
#include "base/fp.h"

#include "ops/conv/conv_winograd.h"

#include "base/checked.h"
#include "base/cut.h"
#include "ops/check/check.h"
#include "ops/conv/planes.h"

#include <string.h>

// What a step takes, in multiply-adds of the kernels' full rate: moving one element of the input to
// its points, and one of the products back with the start of its sum; reading one transformed
// weight more than the direct product does. Measured (docs/kernels.md), on caches that hold a block
// but not its weights.
static const smr_work winograd_in_work = 24, winograd_out_work = 20, winograd_weight_work = 16;

// Where dims vary, weights are transformed whatever the dims: only where that pays for most of
// them.
enum { WINOGRAD_FEWEST_CHANNELS = 16 };

// The low bits say which form; no other derived copy has the highest bit alone.
enum { WINOGRAD_KEY = SMR_LINEAR_KEY_NARROW, WINOGRAD_KEY_KINDS = 7 << 27 };

static size_t winograd_tiles(enum smr_winograd_form form, const struct smr_window *w) {
  const size_t side = smr_winograd_side(form);
  return (size_t)w->batch * (((size_t)w->out[1] + side - 1) / side) *
         (((size_t)w->out[2] + side - 1) / side);
}

bool smr_conv_winograd_fits(const struct smr_job *job, const struct smr_window *w) {
  const struct smr_tensor *x = job->inputs[0], *weights = job->inputs[1];
  bool fits = !job->strict && w->spatial == 2 && SMR_ATTR(job, conv, groups)->i == 1 &&
              x->dtype == SAMARA_FLOAT32 && weights->dtype == SAMARA_FLOAT32 &&
              weights->constant >= 0 && w->channels_in > 0 && w->channels_out > 0;
  for (uint32_t i = 1; fits && i < SMR_MAX_SPATIAL; i++)
    fits = w->kernel[i] == 3 && w->stride[i] == 1 && w->dilation[i] == 1;
  if (job->dims_vary)
    fits = fits && w->channels_in >= WINOGRAD_FEWEST_CHANNELS &&
           w->channels_out >= WINOGRAD_FEWEST_CHANNELS;
  if (!fits) return false;
  // Transformed weights, and a block of any tiles, are far from what can be addressed.
  size_t bytes;
  return smr_mul_size(smr_panels((size_t)w->channels_out) * SMR_PANEL, (size_t)w->channels_in,
                      &bytes) &&
         smr_mul_size(bytes, SMR_WINOGRAD_MOST_POINTS * sizeof(float), &bytes) &&
         bytes < PTRDIFF_MAX / 64 &&
         (size_t)w->channels_in + (size_t)w->channels_out < PTRDIFF_MAX >> 20;
}

smr_work smr_conv_winograd_work(enum smr_winograd_form form, const struct smr_window *w) {
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

static struct smr_f32_winograd_args winograd_args(const struct smr_job *job,
                                                  const struct smr_window *w) {
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

samara_status smr_conv_winograd_need(struct smr_job *job, enum smr_winograd_form form,
                                     const struct smr_window *w) {
  SMR_NEED(job, conv_winograd);
  if (form == SMR_WINOGRAD_F43) SMR_NEED(job, f32_winograd_f43);
  if (form == SMR_WINOGRAD_F23) SMR_NEED(job, f32_winograd_f23);
  const size_t c = (size_t)w->channels_in, n = (size_t)w->channels_out;
  const size_t tiles = winograd_tiles(form, w);
  const size_t block = smr_f32_winograd_block_tiles(form, tiles, c, n);
  struct smr_f32_gemm_args args = {.m = block, .n = n, .k = c};
  SMR_TRY(smr_linear_need(job, &args, false));
  args.m = block - (tiles % block != 0);
  return smr_linear_need(job, &args, false);
}

static samara_status winograd_weights(struct smr_job *job, enum smr_winograd_form form,
                                      const struct smr_window *w, uint32_t *derived) {
  const size_t bytes =
      smr_f32_winograd_weight_bytes(form, (size_t)w->channels_in, (size_t)w->channels_out);
  *derived = smr_linear_derive(job, 1, WINOGRAD_KEY | (uint32_t)form, bytes);
  return SAMARA_OK;
}

// The block's room: where dims vary, what dims up to these take.
static size_t winograd_room(const struct smr_job *job, enum smr_winograd_form form,
                            const struct smr_window *w, const struct smr_f32_winograd_plan *plan) {
  if (!job->dims_vary) return smr_f32_winograd_block_floats(plan);
  return smr_f32_winograd_most_floats(form, winograd_tiles(form, w), (size_t)w->channels_in,
                                      (size_t)w->channels_out);
}

samara_status smr_conv_winograd_reserve(struct smr_job *job, enum smr_winograd_form form,
                                        const struct smr_window *w) {
  uint32_t derived;
  size_t offset;
  SMR_TRY(winograd_weights(job, form, w, &derived));
  SMR_TRY(smr_scratch_take(job, (size_t)w->channels_in, sizeof(float), &offset));
  return smr_thread_scratch_take(job, winograd_room(job, form, w, NULL), sizeof(float), &offset);
}

samara_status smr_conv_winograd_prepare(struct smr_job *job, struct smr_conv_winograd *s,
                                        enum smr_winograd_form form, const struct smr_window *w) {
  const struct smr_f32_winograd_args args = winograd_args(job, w);
  smr_f32_winograd_plan_make(form, job->isa, smr_f32_gemm_config(job->isa), &args, &s->plan);
  SMR_TRY(winograd_weights(job, form, w, &s->derived));
  SMR_TRY(smr_scratch_take(job, args.channels, sizeof(float), &s->zero_offset));
  job->kernel = s->plan.kernel;
  const size_t floats = winograd_room(job, form, w, &s->plan);
  job->tiles = s->plan.blocks;
  if (s->plan.blocks > 1)
    return smr_thread_scratch_take(job, floats, sizeof(float), &s->room_offset);
  // One block is shared: each step is split.
  job->barriers[0] = s->plan.tiles;
  job->barriers[1] = s->plan.tiles + smr_f32_winograd_units(&s->plan, 0);
  job->tiles = job->barriers[1] + s->plan.tiles;
  return smr_scratch_take(job, floats, sizeof(float), &s->room_offset);
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

static float *winograd_at(void *scratch, size_t offset) {
  return (float *)(void *)((char *)scratch + offset);
}

void smr_conv_winograd_prologue(const struct smr_job *job, const struct smr_conv_winograd *s,
                                const struct smr_window *w) {
  memset(winograd_at(job->scratch, s->zero_offset), 0, (size_t)w->channels_in * sizeof(float));
}

// One block, one thread's.
static void winograd_block(const struct smr_f32_winograd_plan *plan,
                           const struct smr_f32_winograd_args *args, size_t block, float *room) {
  const size_t tiles = smr_f32_winograd_tiles(plan, block);
  smr_f32_winograd_input(plan, args, block, room, 0, tiles);
  smr_f32_winograd_products(plan, args, block, room, 0, smr_f32_winograd_units(plan, block));
  smr_f32_winograd_output(plan, args, block, room, 0, tiles);
}

void smr_conv_winograd_run(const struct smr_job *job, const struct smr_conv_winograd *s,
                           const struct smr_linear *linear, const struct smr_window *w,
                           size_t begin, size_t end, void *thread_scratch) {
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  struct smr_f32_winograd_args args = winograd_args(job, w);
  args.in = job->inputs[0]->data;
  args.zero = winograd_at(job->scratch, s->zero_offset);
  args.weights = job->derived[s->derived].data;
  args.bias = smr_linear_bias(job, linear);
  args.out = job->outputs[0]->data;
  args.residual = residual != NULL ? residual->data : NULL;
  args.lo = linear->lo;
  args.hi = linear->hi;
  args.post = SMR_HAS(linear_post) && linear->post.function != NULL ? smr_linear_post : NULL;
  args.post_context = (void *)(uintptr_t)&linear->post;
  if (s->plan.blocks > 1) {
    for (size_t block = begin; block < end; block++)
      winograd_block(&s->plan, &args, block, winograd_at(thread_scratch, s->room_offset));
    return;
  }
  float *room = winograd_at(job->scratch, s->room_offset);
  const size_t products = job->barriers[0], outputs = job->barriers[1];
  while (begin < end) {
    const size_t phase = smr_phase_end(job, begin), stop = phase < end ? phase : end;
    if (begin < products)
      smr_f32_winograd_input(&s->plan, &args, 0, room, begin, stop);
    else if (begin < outputs)
      smr_f32_winograd_products(&s->plan, &args, 0, room, begin - products, stop - products);
    else
      smr_f32_winograd_output(&s->plan, &args, 0, room, begin - outputs, stop - outputs);
    begin = stop;
  }
}
