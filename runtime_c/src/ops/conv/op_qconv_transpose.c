// SPDX-License-Identifier: Apache-2.0
// qconv_transpose: transposed convolutions of int8, by phases of output pixels (conv_phases.h).
//
// The taps of each phase have their own column sums, from which the start values of the phase's
// product follow.
#include "base/fp.h"

#include "kernels/i8_dwconv/i8_dwconv.h"
#include "ops/algorithm.h"
#include "ops/check/check.h"
#include "ops/conv/conv_indirection.h"
#include "ops/conv/conv_phases.h"
#include "ops/conv/conv_shape.h"
#include "ops/table/funcs.h"

#include <string.h>

struct qtransposed_state {
  struct smr_conv_phases phases;
  struct smr_qlinear linear;
  int64_t classes[SMR_MAX_SPATIAL];  // classes of taps along each axis
  size_t channels;                   // per group in the x that kernels read: a multiple of four
  size_t pixel_stride;               // bytes between the pixels of that x
  bool copies_x;                     // because its channels must be filled up
  size_t x_offset, pad_offset;       // in scratch
};

static samara_status qtransposed_check(const struct smr_job *job) {
  const struct smr_tensor *w = job->inputs[1];
  return smr_qlinear_check(job, SMR_ATTR_GROUP(job, qconv_transpose, int8_output),
                           SMR_ATTR(job, qconv_transpose, to)->i, 0,
                           smr_product(w->dims + 1, w->rank - 1u));
}

static samara_status qtransposed_begin(struct smr_job *job) {
  struct qtransposed_state *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  const int64_t groups = SMR_ATTR(job, qconv_transpose, groups)->i;
  *s = (struct qtransposed_state){.channels = 0};
  SMR_TRY(smr_conv_phases_read(job, SMR_ATTR_GROUP(job, qconv_transpose, window), groups,
                               w->dims[w->rank - 1], w->dims[0] / groups));
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    const int64_t period = s->phases.period[i], kernel = s->phases.window.kernel[i];
    s->classes[i] = period < kernel ? period : kernel;
  }
  return SAMARA_OK;
}

static bool qtransposed_fits_depthwise(const struct smr_job *job) {
  const struct smr_conv_phases *p = job->state;
  return p->depthwise;
}

static bool qtransposed_fits_product(const struct smr_job *job) {
  return !qtransposed_fits_depthwise(job);
}

// ---- preparing ----

// Number of packed taps in a part. Parts are the classes (z, y, x) in lexicographic order; the last
// part belongs to phases without taps.
static size_t qtransposed_part_taps(const struct smr_job *job, size_t part) {
  const struct qtransposed_state *s = job->state;
  const size_t nx = (size_t)s->classes[2], ny = (size_t)s->classes[1];
  if (part == s->linear.parts - 1) return 0;
  return smr_conv_phases_count(&s->phases, 0, (int64_t)(part / nx / ny)) *
         smr_conv_phases_count(&s->phases, 1, (int64_t)(part / nx % ny)) *
         smr_conv_phases_count(&s->phases, 2, (int64_t)(part % nx));
}

static size_t qtransposed_part_of(const struct qtransposed_state *s,
                                  const struct smr_conv_phases_box *box) {
  if (box->taps == 0) return s->linear.parts - 1;
  return (size_t)((box->class[0] * s->classes[1] + box->class[1]) * s->classes[2] + box->class[2]);
}

static struct smr_qlinear qtransposed_linear(const struct qtransposed_state *s) {
  const struct smr_conv_phases *p = &s->phases;
  const size_t taps = (size_t)smr_window_taps(&p->window), depth = taps * p->channels;
  return (struct smr_qlinear){
      .depthwise = p->depthwise,
      .groups = p->depthwise ? 1 : p->groups,
      .taps = taps,
      .k = p->channels,
      .n = p->depthwise ? p->groups : p->n,
      .group_stride = p->n * depth,
      .tap_stride = p->channels,
      .k_stride = 1,
      .n_stride = depth,
      .source_tap = smr_conv_phases_source_tap,
      .pads_taps = !p->depthwise,
      .parts = p->depthwise ? 0 : (size_t)(s->classes[0] * s->classes[1] * s->classes[2]) + 1,
      .part_taps = p->depthwise ? NULL : qtransposed_part_taps,
      .weight_key = smr_conv_phases_key(p, p->depthwise),
  };
}

static samara_status qtransposed_prepare(struct smr_job *job) {
  struct qtransposed_state *s = job->state;
  const struct smr_window *w = &s->phases.window;
  const bool depthwise = s->phases.depthwise;
  s->linear = qtransposed_linear(s);
  SMR_TRY(smr_qlinear_prepare(job, SMR_ATTR_GROUP(job, qconv_transpose, int8_output), &s->linear));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  s->channels = depthwise ? s->phases.groups : s->linear.tap_rows;
  s->copies_x = !depthwise && s->linear.tap_rows != s->linear.k;
  s->pixel_stride = depthwise ? s->channels : s->phases.groups * s->channels;
  const size_t pixels = (size_t)(w->batch * smr_product(w->in, SMR_MAX_SPATIAL));
  if (s->copies_x) SMR_TRY(smr_scratch_take(job, pixels, s->pixel_stride, &s->x_offset));
  SMR_TRY(smr_scratch_take(job, s->channels, 1, &s->pad_offset));
  job->kernel = depthwise ? "i8_dwconv_phases" : "i8_gemm_phases";
  const size_t columns = depthwise ? 1 : s->linear.n;
  return smr_conv_phases_cut(job, (double)s->pixel_stride * (double)columns);
}

static samara_status qtransposed_pack(const struct smr_job *job, const struct smr_derived *what,
                                      void *out) {
  (void)what;
  const struct qtransposed_state *s = job->state;
  return smr_qlinear_pack(job, &s->linear, out);
}

// ---- running ----

static const int8_t *qtransposed_pad(const struct smr_job *job) {
  const struct qtransposed_state *s = job->state;
  return (const int8_t *)job->scratch + s->pad_offset;
}

// Copy x. Fill up the channels of each group with the zero point.
static void qtransposed_copy_x(const struct smr_job *job, const struct qtransposed_state *s) {
  const struct smr_window *w = &s->phases.window;
  const size_t k = s->linear.k, pieces = s->phases.groups * (size_t)w->batch *
                                         (size_t)smr_product(w->in, SMR_MAX_SPATIAL);
  const int8_t *x = job->inputs[0]->data;
  int8_t *out = (int8_t *)job->scratch + s->x_offset;
  for (size_t i = 0; i < pieces; i++, x += k, out += s->channels) {
    memcpy(out, x, k);
    for (size_t c = k; c < s->channels; c++) out[c] = (int8_t)s->linear.x_zero;
  }
}

static void qtransposed_prologue(const struct smr_job *job) {
  const struct qtransposed_state *s = job->state;
  if (job->tiles == 0) return;
  smr_qlinear_prologue(job, &s->linear);
  memset((char *)job->scratch + s->pad_offset, s->linear.x_zero, s->channels);
  if (s->copies_x) qtransposed_copy_x(job, s);
}

// Addresses of the rows of a phase. `args`: the product without its output.
struct qtransposed_rows {
  const int8_t *image;
  int8_t *out;  // address of pixel 0 of the tile's image
  size_t pixel_bytes;
  struct smr_i8_gemm_args args;
};

static struct qtransposed_rows qtransposed_rows_of(const struct smr_conv_phases_tile *tile,
                                                   const struct smr_conv_phases_box *box,
                                                   const int64_t *out, size_t part) {
  const struct smr_job *job = tile->watch->job;
  const struct qtransposed_state *s = job->state;
  const struct smr_window *w = &s->phases.window;
  const size_t image = tile->image * (size_t)smr_product(w->in, SMR_MAX_SPATIAL) * s->pixel_stride;
  const int8_t *x = s->copies_x ? (const int8_t *)job->scratch + s->x_offset : job->inputs[0]->data;
  const size_t channels = (size_t)w->channels_out;
  struct qtransposed_rows rows = {.image = x + image,
                                  .args = {.k = s->channels, .a_batch_stride = s->channels}};
  smr_qlinear_args(job, &s->linear, part, &rows.args);
  rows.pixel_bytes = channels * smr_qlinear_out_bytes(&s->linear);
  rows.out = (int8_t *)job->outputs[0]->data + tile->first_pixel * rows.pixel_bytes;
  rows.args.m = smr_conv_phases_pixels(&s->phases, out);
  rows.args.taps = box->taps;
  rows.args.indirect = tile->pointers;
  rows.args.pad = qtransposed_pad(job);
  rows.args.w += box->first * s->linear.tap_rows * SMR_I8_PANEL;
  rows.args.out_stride = channels * (size_t)w->stride[2];
  rows.args.out_batch_stride = s->linear.n;
  return rows;
}

// Compute the next row: set its pointers and its output.
static samara_status qtransposed_row(const struct smr_conv_phases_tile *tile,
                                     const struct smr_conv_phases_box *box, const int64_t *out,
                                     size_t channels, struct qtransposed_rows *rows) {
  const struct qtransposed_state *s = tile->watch->job->state;
  struct smr_i8_gemm_args *args = &rows->args;
  SMR_TRY(smr_deadline_step(tile->watch, args->m * (args->taps + 1) * channels));
  args->out = rows->out + (size_t)(out[1] * s->phases.window.out[2] + out[2]) * rows->pixel_bytes;
  smr_conv_phase_indirection_i8(&s->phases, box, rows->image, s->pixel_stride, args->pad, out,
                                args->m, tile->pointers);
  return SAMARA_OK;
}

static samara_status qtransposed_product_phase(const struct smr_conv_phases_tile *tile,
                                               const struct smr_conv_phases_box *box,
                                               int64_t *out) {
  const struct qtransposed_state *s = tile->watch->job->state;
  struct qtransposed_rows rows = qtransposed_rows_of(tile, box, out, qtransposed_part_of(s, box));
  struct smr_i8_gemm_plan plan;
  smr_i8_gemm_plan_make(s->linear.config, &rows.args, &plan);
  for (; out[1] < tile->end_row; out[1] += s->phases.window.stride[1]) {
    SMR_TRY(qtransposed_row(tile, box, out, 1, &rows));
    SMR_TRY(smr_qlinear_multiply(tile->watch, &plan, &rows.args, 0, plan.units));
  }
  return SAMARA_OK;
}

static samara_status qtransposed_depthwise_phase(const struct smr_conv_phases_tile *tile,
                                                 const struct smr_conv_phases_box *box,
                                                 int64_t *out) {
  const struct smr_job *job = tile->watch->job;
  const struct qtransposed_state *s = job->state;
  struct qtransposed_rows rows = qtransposed_rows_of(tile, box, out, 0);
  for (; out[1] < tile->end_row; out[1] += s->phases.window.stride[1]) {
    SMR_TRY(qtransposed_row(tile, box, out, s->channels, &rows));
    const struct smr_i8_gemm_args *args = &rows.args;
    const struct smr_i8_dwconv_indirect_args row = {
        .pixels = args->m,
        .taps = args->taps,
        .channels = s->channels,
        .indirect = args->indirect,
        .pad = args->pad,
        .x_zero = s->linear.x_zero,
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
  return SAMARA_OK;
}

static samara_status qtransposed_product_run(const struct smr_job *job, size_t begin, size_t end,
                                             void *thread_scratch) {
  static const struct smr_conv_phases_product product = {.phase = qtransposed_product_phase};
  if (begin == end) {  // alone, before the tiles
    qtransposed_prologue(job);
    return SAMARA_OK;
  }
  return smr_conv_phases_run(job, &product, begin, end, thread_scratch);
}

static samara_status qtransposed_depthwise_run(const struct smr_job *job, size_t begin, size_t end,
                                               void *thread_scratch) {
  static const struct smr_conv_phases_product product = {.phase = qtransposed_depthwise_phase};
  if (begin == end) {
    qtransposed_prologue(job);
    return SAMARA_OK;
  }
  return smr_conv_phases_run(job, &product, begin, end, thread_scratch);
}

// ---- the table ----

static const struct smr_algorithm qtransposed_product = {
    .name = "phases",
    .part = SMR_PART_i8_gemm_indirect,
    .fits = qtransposed_fits_product,
    .prepare = qtransposed_prepare,
    .run = qtransposed_product_run,
};

static const struct smr_algorithm qtransposed_depthwise = {
    .name = "depthwise_phases",
    .part = SMR_PART_qlinear_depthwise,
    .fits = qtransposed_fits_depthwise,
    .prepare = qtransposed_prepare,
    .run = qtransposed_depthwise_run,
};

static const struct smr_algorithm *const qtransposed_algorithm_rows[] = {
    SMR_ALGORITHM(i8_gemm_indirect, qtransposed_product),
    SMR_ALGORITHM(qlinear_depthwise, qtransposed_depthwise),
};

static const struct smr_algorithms qtransposed_algorithms = {
    .begin = qtransposed_begin,
    .count = sizeof qtransposed_algorithm_rows / sizeof *qtransposed_algorithm_rows,
    .rows = qtransposed_algorithm_rows,
};

const struct smr_op_funcs smr_op_qconv_transpose_funcs = {
    .check = qtransposed_check,
    .prepare = smr_prepare_algorithm,
    .pack = qtransposed_pack,
    .algorithms = &qtransposed_algorithms,
    .state_bytes = sizeof(struct qtransposed_state),
};
