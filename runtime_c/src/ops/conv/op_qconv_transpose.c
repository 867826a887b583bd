// SPDX-License-Identifier: Apache-2.0
// qconv_transpose: convolutions of int8 that spread each input pixel.
//
// Phases of output pixels that meet the same taps are ordinary convolutions, as in
// conv_transpose.h: one indirect product per phase and row of output. The taps of each phase have
// column sums of their own, so that a phase's product starts where its taps ask for.
#include "base/fp.h"

#include "kernels/i8_dwconv/i8_dwconv.h"
#include "ops/check/check.h"
#include "ops/conv/conv_transpose_taps.h"
#include "ops/matmul/qlinear.h"
#include "ops/table/funcs.h"

#include <string.h>

enum {
  QTRANSPOSED_TILE_WORK = 1 << 19,  // multiplications worth a hand-over to another thread
  QTRANSPOSED_PHASE_WORK = 64,      // steps that finding the taps of a phase takes
};

struct qtransposed_state {
  struct smr_conv_transpose conv;  // for the order of taps: window, period and sizes alone are set
  struct smr_qlinear linear;
  int64_t classes[SMR_MAX_SPATIAL];  // of taps along each axis
  bool depthwise;
  size_t channels;              // of a group of x as it is read: whole groups of four
  size_t pixel_stride;          // bytes between pixels of x as it is read
  bool copies_x;                // to fill up its channels
  size_t x_offset, pad_offset;  // in scratch
  size_t rows;                  // of output in a tile
};

static samara_status qtransposed_check(const struct smr_job *job) {
  const struct smr_tensor *w = job->inputs[1];
  return smr_qlinear_check(job, SMR_ATTR_GROUP(job, qconv_transpose, int8_output),
                           SMR_ATTR(job, qconv_transpose, to)->i, 0,
                           smr_product(w->dims + 1, w->rank - 1u));
}

// Parts of the packed taps are classes (z, y, x) in lexicographic order; the last part is that of
// phases which meet no tap.
static size_t qtransposed_part_taps(const struct smr_job *job, size_t part) {
  const struct qtransposed_state *s = job->state;
  const size_t nx = (size_t)s->classes[2], ny = (size_t)s->classes[1];
  if (part == s->linear.parts - 1) return 0;
  return smr_conv_transpose_count(&s->conv, 0, (int64_t)(part / nx / ny)) *
         smr_conv_transpose_count(&s->conv, 1, (int64_t)(part / nx % ny)) *
         smr_conv_transpose_count(&s->conv, 2, (int64_t)(part % nx));
}

static size_t qtransposed_part_of(const struct qtransposed_state *s,
                                  const struct smr_conv_transpose_box *box) {
  if (box->taps == 0) return s->linear.parts - 1;
  return (size_t)((box->class[0] * s->classes[1] + box->class[1]) * s->classes[2] + box->class[2]);
}

// The packed order follows from strides and dilations: all of them in the key, or no key.
static uint32_t qtransposed_key(const struct qtransposed_state *s) {
  const struct smr_window *w = &s->conv.window;
  uint32_t key = 0;
  if (s->conv.groups >= 1 << 12 && !s->depthwise) return 0;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    if (w->stride[i] > 7 || w->dilation[i] > 3) return 0;
    key = key << 5 | (uint32_t)w->stride[i] << 2 | (uint32_t)w->dilation[i];
  }
  if (s->depthwise) return SMR_LINEAR_KEY_DEPTHWISE | key;
  return (uint32_t)SMR_LINEAR_KEY_TRANSPOSED | key << 12 | (uint32_t)s->conv.groups;
}

static void qtransposed_describe(const struct smr_job *job, struct qtransposed_state *s) {
  const struct smr_tensor *w = job->inputs[1];
  const struct smr_conv_transpose *conv = &s->conv;
  const size_t taps = (size_t)smr_window_taps(&conv->window), depth = taps * conv->channels;
  s->depthwise = conv->groups > 1 && conv->channels == 1 && conv->n == 1;
  s->linear = (struct smr_qlinear){
      .depthwise = s->depthwise,
      .groups = s->depthwise ? 1 : conv->groups,
      .taps = taps,
      .k = conv->channels,
      .n = s->depthwise ? (size_t)w->dims[0] : conv->n,
      .group_stride = conv->n * depth,
      .tap_stride = conv->channels,
      .k_stride = 1,
      .n_stride = depth,
      .source_tap = smr_conv_transpose_source_tap,
      .pads_taps = !s->depthwise,
      .weight_key = qtransposed_key(s),
  };
  if (s->depthwise) return;
  s->linear.parts = (size_t)(s->classes[0] * s->classes[1] * s->classes[2]) + 1;
  s->linear.part_taps = qtransposed_part_taps;
}

static samara_status qtransposed_prepare(struct smr_job *job) {
  struct qtransposed_state *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  const size_t groups = (size_t)SMR_ATTR(job, qconv_transpose, groups)->i;
  *s = (struct qtransposed_state){.conv = {.groups = groups,
                                           .channels = (size_t)w->dims[w->rank - 1],
                                           .n = (size_t)w->dims[0] / groups,
                                           .path = SMR_CONV_TRANSPOSE_PHASES}};
  struct smr_window *window = &s->conv.window;
  SMR_TRY(smr_window_read(job, SMR_ATTR_GROUP(job, qconv_transpose, window), w->dims + 1, window));
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    s->conv.period[i] = smr_conv_transpose_period(window, i);
    s->classes[i] = s->conv.period[i] < window->kernel[i] ? s->conv.period[i] : window->kernel[i];
  }
  qtransposed_describe(job, s);
  if (!s->depthwise) SMR_NEED(job, i8_gemm_indirect);
  SMR_TRY(smr_qlinear_prepare(job, SMR_ATTR_GROUP(job, qconv_transpose, int8_output), &s->linear));
  if (smr_numel(job->outputs[0]) == 0) {
    job->kernel = "nothing";
    job->tiles = 0;
    return SAMARA_OK;
  }
  s->channels = s->depthwise ? groups : s->linear.tap_rows;
  s->copies_x = !s->depthwise && s->linear.tap_rows != s->linear.k;
  s->pixel_stride = s->depthwise ? groups : groups * s->channels;
  const size_t pixels = (size_t)(window->batch * smr_product(window->in, SMR_MAX_SPATIAL));
  if (s->copies_x) SMR_TRY(smr_scratch_take(job, pixels, s->pixel_stride, &s->x_offset));
  SMR_TRY(smr_scratch_take(job, s->channels, 1, &s->pad_offset));
  // Pointers for one row of output pixels of a phase: class 0 has most taps.
  const size_t stride = (size_t)window->stride[2], width = (size_t)window->out[2];
  size_t offset, most = width / stride + 1;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    if (!smr_mul_size(most, smr_conv_transpose_count(&s->conv, i, 0), &most)) most = SIZE_MAX;
  SMR_TRY(smr_thread_scratch_take(job, most, sizeof(int8_t *), &offset));
  // Tiles of some rows: all phases of a row are there, and their products are planned once.
  const double work = (double)most * (double)stride * (double)s->pixel_stride *
                      (double)(s->depthwise ? 1 : s->linear.n);
  const double enough = QTRANSPOSED_TILE_WORK;
  s->rows = work < enough ? (size_t)(enough / (work + 1)) + 1 : 1;
  if (s->rows > (size_t)window->out[1]) s->rows = (size_t)window->out[1];
  job->tiles =
      (size_t)(window->batch * window->out[0]) * (((size_t)window->out[1] + s->rows - 1) / s->rows);
  job->kernel = s->depthwise ? "i8_dwconv_phases" : "i8_gemm_phases";
  return SAMARA_OK;
}

static samara_status qtransposed_pack(const struct smr_job *job, const struct smr_derived *what,
                                      void *out) {
  (void)what;
  const struct qtransposed_state *s = job->state;
  return smr_qlinear_pack(job, &s->linear, out);
}

// ---- running ----

// Channels of each group, filled up with the zero point.
static void qtransposed_copy_x(const struct smr_job *job, const struct qtransposed_state *s) {
  const struct smr_window *w = &s->conv.window;
  const size_t k = s->linear.k, pieces = s->conv.groups * (size_t)w->batch *
                                         (size_t)smr_product(w->in, SMR_MAX_SPATIAL);
  const int8_t *x = job->inputs[0]->data;
  int8_t *out = (int8_t *)job->scratch + s->x_offset;
  for (size_t i = 0; i < pieces; i++, x += k, out += s->channels) {
    memcpy(out, x, k);
    for (size_t c = k; c < s->channels; c++) out[c] = (int8_t)s->linear.x_zero;
  }
}

static void qtransposed_prologue(const struct smr_job *job, const struct qtransposed_state *s) {
  if (job->tiles == 0) return;
  smr_qlinear_prologue(job, &s->linear);
  memset((char *)job->scratch + s->pad_offset, s->linear.x_zero, s->channels);
  if (s->copies_x) qtransposed_copy_x(job, s);
}

// Input position that output position `at` meets through tap `index` of the box; it may lie
// outside.
static int64_t qtransposed_meets(const struct qtransposed_state *s,
                                 const struct smr_conv_transpose_box *box, uint32_t axis,
                                 int64_t at, size_t index) {
  const struct smr_window *w = &s->conv.window;
  const int64_t t = box->class[axis] + (int64_t)index * s->conv.period[axis];
  return (at + w->pad_begin[axis] - t * w->dilation[axis]) / w->stride[axis];  // without remainder
}

// A phase of some rows of output pixels.
struct qtransposed_task {
  const struct qtransposed_state *s;
  const int8_t *image, *pad;  // of x
  size_t first_pixel;         // of the output, of row 0 of the image
  const int8_t **pointers;
};

// Pointers [pixels][taps of the box] for output pixels out[2], out[2] + stride, ...
static void qtransposed_points(const struct qtransposed_task *t,
                               const struct smr_conv_transpose_box *box, const int64_t *out,
                               size_t pixels) {
  const struct smr_window *w = &t->s->conv.window;
  const size_t step = t->s->pixel_stride;
  size_t tap = 0;
  for (size_t jz = 0; jz < box->count[0]; jz++) {
    const int64_t z = qtransposed_meets(t->s, box, 0, out[0], jz);
    for (size_t jy = 0; jy < box->count[1]; jy++) {
      const int64_t y = qtransposed_meets(t->s, box, 1, out[1], jy);
      const bool inside = z >= 0 && z < w->in[0] && y >= 0 && y < w->in[1];
      const int8_t *row = inside ? t->image + (size_t)((z * w->in[1] + y) * w->in[2]) * step : NULL;
      for (size_t jx = 0; jx < box->count[2]; jx++, tap++) {
        const int64_t x0 = qtransposed_meets(t->s, box, 2, out[2], jx);
        const int8_t **at = t->pointers + tap;
        for (size_t i = 0; i < pixels; i++, at += box->taps) {
          const int64_t x = x0 + (int64_t)i;
          *at = inside && x >= 0 && x < w->in[2] ? row + (size_t)x * step : t->pad;
        }
      }
    }
  }
}

// The pixels of a phase in one row, of a depthwise convolution; `args` is the product they would
// be.
static void qtransposed_depthwise_row(const struct smr_job *job, const struct qtransposed_task *t,
                                      const struct smr_i8_gemm_args *args) {
  const struct smr_i8_dwconv_indirect_args row = {
      .pixels = args->m,
      .taps = args->taps,
      .channels = t->s->channels,
      .indirect = t->pointers,
      .pad = t->pad,
      .x_zero = t->s->linear.x_zero,
      .w = args->w,
      .panel_stride_bytes = args->panel_stride_bytes,
      .w_zero = args->columns.w_zero,
      .out = args->out,
      .out_stride = args->out_stride,
      .end = {.bias = args->columns.start,
              .multiplier = args->columns.multiplier,
              .to = args->to,
              .zero = args->zero,
              .lo = args->lo,
              .hi = args->hi},
  };
  smr_i8_dwconv_indirect_run(smr_i8_dwconv_config(job->isa), &row, 0, row.pixels);
}

// Rows out[1], out[1] + stride ... below `end`, of each the pixels out[2], out[2] + stride ...
static samara_status qtransposed_phase(struct smr_deadline_watch *watch,
                                       const struct qtransposed_task *t, int64_t *out,
                                       int64_t end) {
  const struct smr_job *job = watch->job;
  const struct qtransposed_state *s = t->s;
  const struct smr_window *w = &s->conv.window;
  const struct smr_conv_transpose_box box = smr_conv_transpose_box_of(&s->conv, out);
  SMR_TRY(smr_deadline_step(watch, QTRANSPOSED_PHASE_WORK));
  const size_t step = (size_t)w->stride[2], channels = (size_t)w->channels_out;
  struct smr_i8_gemm_args args = {.k = s->channels, .a_batch_stride = s->channels};
  smr_qlinear_args(job, &s->linear, s->depthwise ? 0 : qtransposed_part_of(s, &box), &args);
  args.m = ((size_t)(w->out[2] - out[2]) + step - 1) / step;
  args.taps = box.taps;
  args.indirect = t->pointers;
  args.pad = t->pad;
  args.w += box.first * s->linear.tap_rows * SMR_I8_PANEL;
  args.out_stride = channels * step;
  args.out_batch_stride = s->linear.n;
  struct smr_i8_gemm_plan plan;
  if (!s->depthwise) smr_i8_gemm_plan_make(s->linear.config, &args, &plan);
  for (; out[1] < end; out[1] += w->stride[1]) {
    SMR_TRY(smr_deadline_step(watch, args.m * (args.taps + 1) * (s->depthwise ? s->channels : 1)));
    const size_t pixel = t->first_pixel + (size_t)(out[1] * w->out[2] + out[2]);
    args.out = (char *)job->outputs[0]->data + pixel * channels * smr_qlinear_out_bytes(&s->linear);
    qtransposed_points(t, &box, out, args.m);
    if (s->depthwise)
      qtransposed_depthwise_row(job, t, &args);
    else
      SMR_TRY(smr_qlinear_multiply(watch, &plan, &args, 0, plan.units));
  }
  return SAMARA_OK;
}

// A tile: some rows of one depth of one image.
static samara_status qtransposed_tile(struct smr_deadline_watch *watch,
                                      const struct qtransposed_state *s, size_t tile,
                                      const int8_t **pointers) {
  const struct smr_job *job = watch->job;
  const struct smr_window *w = &s->conv.window;
  const size_t blocks = ((size_t)w->out[1] + s->rows - 1) / s->rows;
  const size_t depth = tile / blocks, image = depth / (size_t)w->out[0];
  const int64_t y0 = (int64_t)(tile % blocks * s->rows), z = (int64_t)(depth % (size_t)w->out[0]);
  const int64_t last = y0 + (int64_t)s->rows, y1 = last < w->out[1] ? last : w->out[1];
  const int8_t *x = s->copies_x ? (const int8_t *)job->scratch + s->x_offset : job->inputs[0]->data;
  const struct qtransposed_task task = {
      .s = s,
      .image = x + image * (size_t)smr_product(w->in, SMR_MAX_SPATIAL) * s->pixel_stride,
      .pad = (const int8_t *)job->scratch + s->pad_offset,
      .first_pixel = depth * (size_t)(w->out[1] * w->out[2]),
      .pointers = pointers,
  };
  for (int64_t y = y0; y < y1 && y < y0 + w->stride[1]; y++) {
    for (int64_t column = 0; column < w->out[2] && column < w->stride[2]; column++) {
      int64_t out[SMR_MAX_SPATIAL] = {z, y, column};
      SMR_TRY(qtransposed_phase(watch, &task, out, y1));
    }
  }
  return SAMARA_OK;
}

static samara_status qtransposed_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  const struct qtransposed_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    qtransposed_prologue(job, s);
    return SAMARA_OK;
  }
  struct smr_deadline_watch watch = {.job = job};
  for (size_t tile = begin; tile < end; tile++)
    SMR_TRY(qtransposed_tile(&watch, s, tile, thread_scratch));
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_qconv_transpose_funcs = {
    .check = qtransposed_check,
    .prepare = qtransposed_prepare,
    .pack = qtransposed_pack,
    .run = qtransposed_run,
    .state_bytes = sizeof(struct qtransposed_state)};
