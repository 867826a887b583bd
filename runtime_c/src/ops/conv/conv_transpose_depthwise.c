// SPDX-License-Identifier: Apache-2.0
// Transposed convolution with one channel per group: every output phase is a small depthwise
// convolution.
//
// A 3x3 window with strides of 2 has four phases, which read the same four pixels. There a tile
// computes quads of outputs, one pixel of each phase, so that its input is read once and its output
// is written row by row. Outputs next to padding are left to the phases.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "base/cut.h"
#include "kernels/f32_dwconv/f32_dwconv.h"
#include "ops/check/check.h"
#include "ops/conv/conv_shape.h"
#include "ops/deadline.h"

#include <math.h>

enum {
  CONV_TRANSPOSE_QUAD_ROWS = 8,       // of quads per tile
  CONV_TRANSPOSE_QUAD_COLUMNS = 512,  // of quads between two looks at the clock
  CONV_TRANSPOSE_QUAD_CHANNELS = 4 * SMR_PANEL,
};

// The convolution that computes the pixels of one phase, starting at `first`. Its data pointers are
// relative to the tensors, whose addresses are unknown in prepare.
struct conv_transpose_phase_conv {
  struct smr_f32_dwconv_args args;
  size_t in_pixel, out_pixel, w_row;
};

// Along an axis: the first input position read, and the padding in front of it.
static void conv_transpose_phase_axis(const struct smr_conv_transpose *s,
                                      const struct smr_conv_phases_box *box, uint32_t axis,
                                      int64_t first, size_t *skip, size_t *pad, size_t *dilation) {
  const struct smr_window *w = &s->phases.window;
  const int64_t step = s->phases.period[axis] * w->dilation[axis] / w->stride[axis];
  const int64_t base =
      (first + w->pad_begin[axis] - box->class[axis] * w->dilation[axis]) / w->stride[axis];
  const int64_t low = base - ((int64_t)box->count[axis] - 1) * step;  // position read by the last
                                                                      // tap
  *skip = low > 0 ? (size_t)low : 0;
  if (*skip > (size_t)w->in[axis]) *skip = (size_t)w->in[axis];
  *pad = low < 0 ? (size_t)-low : 0;
  *dilation = (size_t)step;
}

static struct conv_transpose_phase_conv conv_transpose_phase_conv_of(
    const struct smr_job *job, const struct smr_conv_transpose *s, const int64_t *first) {
  const struct smr_window *w = &s->phases.window;
  const struct smr_f32_gemm_args like = smr_conv_transpose_args(job, NULL);
  const struct smr_conv_phases_box box = smr_conv_phases_box_of(&s->phases, first);
  const size_t in_w = (size_t)w->in[2], in_h = (size_t)w->in[1];
  const size_t out_w = (size_t)w->out[2], out_h = (size_t)w->out[1];
  const size_t step_h = (size_t)w->stride[1], step_w = (size_t)w->stride[2];
  size_t skip_h, skip_w, pad_h, pad_w, dilation_h, dilation_w;
  conv_transpose_phase_axis(s, &box, 1, first[1], &skip_h, &pad_h, &dilation_h);
  conv_transpose_phase_axis(s, &box, 2, first[2], &skip_w, &pad_w, &dilation_w);
  return (struct conv_transpose_phase_conv){
      .in_pixel = skip_h * in_w + skip_w,
      .out_pixel = (size_t)first[1] * out_w + (size_t)first[2],
      .w_row = box.first,
      .args = {
          .batch = (size_t)w->batch,
          .channels = s->phases.groups,
          .in_h = in_h - skip_h,
          .in_w = in_w - skip_w,
          .out_h = (out_h - (size_t)first[1] + step_h - 1) / step_h,
          .out_w = (out_w - (size_t)first[2] + step_w - 1) / step_w,
          .kernel_h = box.count[1],
          .kernel_w = box.count[2],
          .stride_h = 1,
          .stride_w = 1,
          .dilation_h = dilation_h,
          .dilation_w = dilation_w,
          .pad_top = pad_h,
          .pad_left = pad_w,
          .in_pixel_stride = like.a_stride,
          .in_row_stride = like.a_stride * in_w,
          .in_batch_stride = like.a_stride * in_w * in_h,
          .w_type = like.w_type,
          .panel_stride_bytes = like.panel_stride_bytes,
          .bias = like.bias,
          .out_pixel_stride = like.out_stride * step_w,
          .out_row_stride = like.out_stride * out_w * step_h,
          .out_batch_stride = like.out_stride * out_w * out_h,
          .residual_pixel_stride = like.residual_stride * step_w,
          .residual_row_stride = like.residual_stride * out_w * step_h,
          .residual_batch_stride = like.residual_stride * out_w * out_h,
          .lo = like.lo,
          .hi = like.hi,
          .post = like.post,
          .post_context = like.post_context,
      }};
}

// The same with the addresses of this run.
static struct conv_transpose_phase_conv conv_transpose_phase_conv_at(
    const struct smr_job *job, const struct smr_conv_transpose *s, const int64_t *first) {
  const struct smr_f32_gemm_args like = smr_conv_transpose_args(job, NULL);
  const size_t w_element = like.w_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  struct conv_transpose_phase_conv phase = conv_transpose_phase_conv_of(job, s, first);
  phase.args.in = (const float *)job->inputs[0]->data + phase.in_pixel * like.a_stride;
  phase.args.w = (const char *)like.w + phase.w_row * SMR_PANEL * w_element;
  phase.args.out = (float *)like.out + phase.out_pixel * like.out_stride;
  if (like.residual != NULL)
    phase.args.residual = (const float *)like.residual + phase.out_pixel * like.residual_stride;
  return phase;
}

// ---- phase by phase ----

// Number of phases with output pixels along an axis.
static size_t conv_transpose_phases(const struct smr_window *w, uint32_t axis) {
  return (size_t)(w->stride[axis] < w->out[axis] ? w->stride[axis] : w->out[axis]);
}

static samara_status conv_transpose_prepare_phase_convs(struct smr_job *job,
                                                        const struct smr_conv_transpose *s) {
  const size_t rows = conv_transpose_phases(&s->phases.window, 1),
               columns = conv_transpose_phases(&s->phases.window, 2);
  job->tiles = 0;
  for (size_t i = 0; i < rows * columns; i++) {
    const int64_t first[SMR_MAX_SPATIAL] = {0, (int64_t)(i / columns), (int64_t)(i % columns)};
    const struct conv_transpose_phase_conv phase = conv_transpose_phase_conv_of(job, s, first);
    SMR_TRY(smr_f32_dwconv_need(&phase.args, job->dims_vary, false, job->parts, job->error));
    job->tiles += smr_f32_dwconv_units(&phase.args);
    job->kernel = smr_f32_dwconv_kernel(smr_f32_dwconv_config(job->isa), &phase.args);
  }
  return SAMARA_OK;
}

// Run units; those of one phase follow those of the one before.
static void conv_transpose_run_phases(const struct smr_job *job, const struct smr_conv_transpose *s,
                                      size_t begin, size_t end) {
  const size_t rows = conv_transpose_phases(&s->phases.window, 1),
               columns = conv_transpose_phases(&s->phases.window, 2);
  for (size_t i = 0, before = 0; i < rows * columns && before < end; i++) {
    const int64_t first[SMR_MAX_SPATIAL] = {0, (int64_t)(i / columns), (int64_t)(i % columns)};
    const struct conv_transpose_phase_conv phase = conv_transpose_phase_conv_of(job, s, first);
    const size_t after = before + smr_f32_dwconv_units(&phase.args);
    if (after > begin) {
      const struct conv_transpose_phase_conv now = conv_transpose_phase_conv_at(job, s, first);
      smr_f32_dwconv_run(smr_f32_dwconv_config(job->isa), &now.args,
                         begin > before ? begin - before : 0, (end < after ? end : after) - before);
    }
    before = after;
  }
}

// ---- quads ----

// Along an axis of a 3-tap window with a stride of 2, quad i holds output 2i - pad (taps 0 and 2,
// which read i and i - 1) and the next output (tap 1, which reads i). Quads [first, last) cover the
// output; quads [begin, end) read no padding.
struct conv_transpose_quad_axis {
  int64_t first, last, begin, end;
};

static struct conv_transpose_quad_axis conv_transpose_quad_axis_of(const struct smr_window *w,
                                                                   uint32_t axis) {
  const int64_t pad = w->pad_begin[axis], out = w->out[axis], in = w->in[axis];
  struct conv_transpose_quad_axis q = {.first = pad / 2, .last = (out - 1 + pad) / 2 + 1};
  q.begin = (pad + 1) / 2 > 1 ? (pad + 1) / 2 : 1;
  q.end = (out + pad) / 2 < in ? (out + pad) / 2 : in;
  if (q.end < q.begin) q.end = q.begin;
  return q;
}

static bool conv_transpose_is_quads(const struct smr_job *job, const struct smr_conv_transpose *s) {
  const struct smr_window *w = &s->phases.window;
  const struct smr_f32_gemm_args like = smr_conv_transpose_args(job, NULL);
  for (uint32_t i = 1; i < SMR_MAX_SPATIAL; i++)
    if (w->kernel[i] != 3 || w->stride[i] != 2 || w->dilation[i] != 1 || w->pad_begin[i] < 0)
      return false;
  return job->input_count == 2 && like.w_type == SMR_GEMM_F32 && like.post == NULL &&
         like.lo == -INFINITY && like.hi == INFINITY;
}

static samara_status conv_transpose_prepare_quads(struct smr_job *job,
                                                  const struct smr_conv_transpose *s) {
  const struct conv_transpose_quad_axis rows = conv_transpose_quad_axis_of(&s->phases.window, 1);
  if (s->phases.groups % SMR_PANEL != 0) SMR_NEED(job, f32_dwconv_part);
  job->kernel = smr_f32_dwconv_quads_kernel(smr_f32_dwconv_config(job->isa));
  job->tiles = (size_t)s->phases.window.batch *
               smr_ceil_div((size_t)(rows.last - rows.first), CONV_TRANSPOSE_QUAD_ROWS) *
               smr_ceil_div(s->phases.groups, CONV_TRANSPOSE_QUAD_CHANNELS);
  return SAMARA_OK;
}

// A rectangle of outputs.
struct conv_transpose_rect {
  int64_t y0, y1, x0, x1;
};

// Compute, phase by phase, a rectangle whose taps may read padding.
static samara_status conv_transpose_border(struct smr_deadline_watch *watch,
                                           const struct conv_transpose_phase_conv *phases,
                                           size_t image, size_t channel,
                                           const struct conv_transpose_rect *r) {
  if (r->y0 >= r->y1 || r->x0 >= r->x1) return SAMARA_OK;
  for (int64_t i = 0; i < 4; i++) {
    const int64_t y = i / 2, x = i % 2;
    // Pixel p of the phase is y or x coordinate 2p + y or 2p + x of the output.
    const struct smr_f32_dwconv_rect rect = {.image = image,
                                             .channel = channel,
                                             .y0 = (size_t)(r->y0 + 1 - y) / 2,
                                             .y1 = (size_t)(r->y1 + 1 - y) / 2,
                                             .x0 = (size_t)(r->x0 + 1 - x) / 2,
                                             .x1 = (size_t)(r->x1 + 1 - x) / 2};
    if (rect.x0 < rect.x1)
      smr_f32_dwconv_run_rect(smr_f32_dwconv_config(watch->job->isa), &phases[i].args, &rect);
  }
  return smr_deadline_step(watch, (size_t)(r->y1 - r->y0) * (size_t)(r->x1 - r->x0) * SMR_PANEL);
}

// Quads of rows [y0, y1) and columns [x0, x1); none reads padding.
static void conv_transpose_quads(const struct smr_job *job, const struct smr_conv_transpose *s,
                                 size_t image, size_t channel,
                                 const struct conv_transpose_rect *r) {
  const struct smr_window *w = &s->phases.window;
  const struct smr_f32_gemm_args like = smr_conv_transpose_args(job, NULL);
  const size_t in_row = (size_t)w->in[2] * like.a_stride;
  const size_t out_row = (size_t)w->out[2] * like.out_stride;
  const size_t in_pixel =
      (image * (size_t)w->in[1] + (size_t)(r->y0 - 1)) * (size_t)w->in[2] + (size_t)(r->x0 - 1);
  const size_t out_y = (size_t)(2 * r->y0 - w->pad_begin[1]);
  const size_t out_x = (size_t)(2 * r->x0 - w->pad_begin[2]);
  const size_t out_pixel = (image * (size_t)w->out[1] + out_y) * (size_t)w->out[2] + out_x;
  const size_t left = s->phases.groups - channel;
  const struct smr_f32_dwconv_quads quads = {
      .rows = (size_t)(r->y1 - r->y0),
      .pixels = (size_t)(r->x1 - r->x0),
      .channels = left < CONV_TRANSPOSE_QUAD_CHANNELS ? left : CONV_TRANSPOSE_QUAD_CHANNELS,
      .in = (const float *)job->inputs[0]->data + in_pixel * like.a_stride + channel,
      .in_row = in_row,
      .in_step = like.a_stride,
      .w = (const char *)like.w + channel / SMR_PANEL * like.panel_stride_bytes,
      .panel_stride_bytes = like.panel_stride_bytes,
      .out = (float *)like.out + out_pixel * like.out_stride + channel,
      .out_row = out_row,
      .out_step = like.out_stride,
  };
  smr_f32_dwconv_quads_run(smr_f32_dwconv_config(job->isa), &quads);
}

static int64_t conv_transpose_within(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

// A tile: some rows of quads of some channels, and the outputs around them that read padding.
static samara_status conv_transpose_quad_tile(struct smr_deadline_watch *watch,
                                              const struct smr_conv_transpose *s,
                                              const struct conv_transpose_phase_conv *phases,
                                              size_t tile) {
  const struct smr_window *w = &s->phases.window;
  const struct conv_transpose_quad_axis rows = conv_transpose_quad_axis_of(w, 1),
                                        columns = conv_transpose_quad_axis_of(w, 2);
  const size_t panels = smr_ceil_div(s->phases.groups, CONV_TRANSPOSE_QUAD_CHANNELS);
  const size_t blocks = smr_ceil_div((size_t)(rows.last - rows.first), CONV_TRANSPOSE_QUAD_ROWS);
  const size_t channel = tile % panels * CONV_TRANSPOSE_QUAD_CHANNELS,
               image = tile / panels / blocks;
  const int64_t from = rows.first + (int64_t)(tile / panels % blocks) * CONV_TRANSPOSE_QUAD_ROWS;
  const int64_t to = conv_transpose_within(from + CONV_TRANSPOSE_QUAD_ROWS, from, rows.last);
  const int64_t begin = conv_transpose_within(rows.begin, from, to),
                end = conv_transpose_within(rows.end, begin, to);
  const bool inside = begin < end && columns.begin < columns.end;
  // Output ranges of the tile and of its quads.
  const int64_t pad_y = w->pad_begin[1], pad_x = w->pad_begin[2];
  const int64_t y0 = conv_transpose_within(2 * from - pad_y, 0, w->out[1]);
  const int64_t y1 = conv_transpose_within(2 * to - pad_y, 0, w->out[1]);
  const int64_t top = inside ? 2 * begin - pad_y : y1, bottom = inside ? 2 * end - pad_y : y1;
  const int64_t left = 2 * columns.begin - pad_x, right = 2 * columns.end - pad_x;
  SMR_TRY(conv_transpose_border(watch, phases, image, channel,
                                &(struct conv_transpose_rect){y0, top, 0, w->out[2]}));
  SMR_TRY(conv_transpose_border(watch, phases, image, channel,
                                &(struct conv_transpose_rect){bottom, y1, 0, w->out[2]}));
  if (!inside) return SAMARA_OK;
  SMR_TRY(conv_transpose_border(watch, phases, image, channel,
                                &(struct conv_transpose_rect){top, bottom, 0, left}));
  SMR_TRY(conv_transpose_border(watch, phases, image, channel,
                                &(struct conv_transpose_rect){top, bottom, right, w->out[2]}));
  for (int64_t x = columns.begin; x < columns.end; x += CONV_TRANSPOSE_QUAD_COLUMNS) {
    const int64_t last = conv_transpose_within(x + CONV_TRANSPOSE_QUAD_COLUMNS, x, columns.end);
    conv_transpose_quads(watch->job, s, image, channel,
                         &(struct conv_transpose_rect){begin, end, x, last});
    SMR_TRY(smr_deadline_step(watch,
                              (size_t)((end - begin) * (last - x)) * CONV_TRANSPOSE_QUAD_CHANNELS));
  }
  return SAMARA_OK;
}

// ---- both ways ----

static bool transpose_fits_depthwise(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return s->by_channel && !s->empty && s->phases.window.spatial < 3;
}

static bool transpose_any_depthwise(const struct smr_job *job) {
  const struct smr_conv_transpose *s = job->state;
  return smr_weights_vary(job) ? s->phases.groups > 1 : transpose_fits_depthwise(job);
}

// Kernels for weights of any dims. Constant dims need only those of the phases.
static samara_status transpose_depthwise_kernels(struct smr_job *job) {
  if (!smr_weights_vary(job)) return SAMARA_OK;
  SMR_NEED(job, f32_dwconv_quads);
  const struct smr_f32_dwconv_args any = {.w_type = smr_linear_type(job->inputs[1])};
  return smr_f32_dwconv_need(&any, true, true, job->parts, job->error);
}

static samara_status transpose_depthwise_prepare(struct smr_job *job) {
  struct smr_conv_transpose *s = job->state;
  s->phases.flipped = true;
  SMR_TRY(smr_conv_transpose_take_weights(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  s->quads = conv_transpose_is_quads(job, s);
  if (!s->quads) return conv_transpose_prepare_phase_convs(job, s);
  SMR_NEED(job, f32_dwconv_quads);
  return SMR_HAS(f32_dwconv_quads) ? conv_transpose_prepare_quads(job, s) : SAMARA_OK;
}

static samara_status transpose_depthwise_run(const struct smr_job *job, size_t begin, size_t end,
                                             void *thread_scratch) {
  (void)thread_scratch;
  const struct smr_conv_transpose *s = job->state;
  if (begin == end) {  // alone, before the tiles
    smr_conv_transpose_prologue(job);
    return SAMARA_OK;
  }
  if (!SMR_HAS(f32_dwconv_quads) || !s->quads) {
    conv_transpose_run_phases(job, s, begin, end);
    return SAMARA_OK;
  }
  struct smr_deadline_watch watch = {.job = job};
  struct conv_transpose_phase_conv phases[4];
  for (int64_t i = 0; i < 4; i++)
    phases[i] = conv_transpose_phase_conv_at(job, s, (const int64_t[]){0, i / 2, i % 2});
  for (size_t tile = begin; tile < end; tile++)
    SMR_TRY(conv_transpose_quad_tile(&watch, s, phases, tile));
  return SAMARA_OK;
}

const struct smr_algorithm smr_conv_transpose_depthwise = {
    .name = "depthwise",
    .part = SMR_PART_spread_depthwise,
    .fits = transpose_fits_depthwise,
    .fits_any = SMR_ALGORITHM_ANY(transpose_any_depthwise),
    .kernels = SMR_ALGORITHM_DOES(spread_depthwise, transpose_depthwise_kernels),
    .prepare = SMR_ALGORITHM_DOES(spread_depthwise, transpose_depthwise_prepare),
    .run = SMR_ALGORITHM_DOES(spread_depthwise, transpose_depthwise_run),
};
