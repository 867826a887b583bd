// SPDX-License-Identifier: Apache-2.0
// qconv: convolutions of int8 over [N, spatial, C].
#include "base/fp.h"

#include "kernels/i8_dwconv/i8_dwconv.h"

#include "ops/check/check.h"
#include "ops/conv/conv_indirection.h"
#include "ops/conv/planes.h"
#include "ops/conv/qwindows.h"
#include "ops/conv/window.h"
#include "ops/matmul/qlinear.h"
#include "ops/partition.h"
#include "ops/table/funcs.h"

#include <string.h>

enum qconv_path {
  QCONV_DEPTHWISE,     // one input and one output channel per group, 1 or 2 spatial dims
  QCONV_DEPTHWISE_3D,  // the same through pointers
  QCONV_POINT,         // 1x1, every pixel its own: a plain product
  QCONV_WINDOWS,       // a product over windows of padded lines, block by block
};

enum {
  QCONV_FILLED_BYTES = 32 << 10,  // of weights that are copied to be filled up, at most
  QCONV_HAS_DEPTHWISE = SMR_HAS(qconv_depthwise) || SMR_HAS(qconv_depthwise_3d),
};

struct qconv_state {
  struct smr_qlinear linear;
  struct smr_window window;
  enum qconv_path path;
  bool filled;                    // WINDOWS: rows of taps are filled up to whole groups
  size_t taps, channels, pixels;  // channels of one group, pixels of the output
  struct smr_i8_gemm_plan plan;   // WINDOWS: of a block
  struct smr_qwindows windows;
  size_t offset;  // in scratch: bytes of padding; WINDOWS: where taps lie
};

static samara_status qconv_check(const struct smr_job *job) {
  const struct smr_tensor *w = job->inputs[1];
  return smr_qlinear_check(job, SMR_ATTR_GROUP(job, qconv, int8_output),
                           SMR_ATTR(job, qconv, to)->i, 0, smr_product(w->dims + 1, w->rank - 1u));
}

static size_t qconv_x_pixel(const struct smr_job *job) {
  return (size_t)job->inputs[0]->pixel_stride;
}

// Geometry of a depthwise convolution; pointers and arrays are not set.
static struct smr_i8_dwconv_args qconv_depthwise_args(const struct smr_job *job,
                                                      const struct qconv_state *s) {
  const struct smr_window *w = &s->window;
  const size_t x_pixel = qconv_x_pixel(job), y_pixel = smr_pixel_stride(job->outputs[0]);
  return (struct smr_i8_dwconv_args){
      SMR_PLANES(w),
      SMR_PLANES_TAPS(w),
      SMR_PLANES_STRIDES(in, x_pixel, w->in),
      SMR_PLANES_STRIDES(out, y_pixel, w->out),
      .channels = s->linear.n,
      .pieces = smr_partition(job),
      .x_zero = s->linear.x_zero,
      .panel_stride_bytes = s->linear.panel_stride_bytes,
      .end = {.to = s->linear.to, .zero = s->linear.zero, .lo = s->linear.lo, .hi = s->linear.hi},
  };
}

// Batch entries are groups.
static struct smr_i8_gemm_args qconv_gemm_args(const struct smr_job *job,
                                               const struct qconv_state *s) {
  const struct smr_tensor *y = job->outputs[0];
  struct smr_i8_gemm_args args = {.a = job->inputs[0]->data, .taps = 1};
  smr_qlinear_args(job, &s->linear, 0, &args);
  args.out = y->data;
  args.out_stride = (size_t)y->pixel_stride;
  args.out_batch_stride = s->linear.n;
  args.m = s->pixels;
  args.k = s->channels;
  args.a_stride = qconv_x_pixel(job);
  args.a_batch_stride = s->channels;
  if (SMR_HAS(qconv_windows) && s->path == QCONV_WINDOWS) {
    args.k = s->windows.k;
    args.taps = s->windows.taps;
  }
  return args;
}

// ---- preparing ----

// Work (ops/choice.h) beyond the multiply-adds: a product over windows starts anew with every tap.
static const smr_work qconv_tap_start = 1.0;
static const smr_work qconv_depthwise_work =
    8.0;  // a multiply-add has four of a dot product's lanes

static enum qconv_path qconv_choose(struct smr_job *job, const struct qconv_state *s,
                                    int64_t groups) {
  const struct smr_window *w = &s->window;
  const uint8_t layout = job->inputs[1]->layout;
  const int64_t numel = smr_numel(job->outputs[0]);
  const smr_work outputs = smr_work_of(numel ? numel : 1) * smr_work_of((int64_t)s->taps);
  const smr_work macs = outputs * smr_work_of((int64_t)s->channels);
  struct smr_candidate list[2];
  uint32_t count = 0;
  if (layout == SMR_LAYOUT_DWPANEL || (layout == SMR_LAYOUT_PLAIN && groups == w->channels_in &&
                                       groups == w->channels_out && groups > 1)) {
    list[0] = (struct smr_candidate){"depthwise", qconv_depthwise_work * macs,
                                     w->spatial < 3 ? QCONV_DEPTHWISE : QCONV_DEPTHWISE_3D};
    return (enum qconv_path)smr_choose(job, list, 1);
  }
  bool moved = false;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    moved = moved || w->pad_begin[i] || w->pad_end[i] || w->stride[i] != 1;
  if (s->taps == 1 && !moved) list[count++] = (struct smr_candidate){"point", macs, QCONV_POINT};
  list[count++] =
      (struct smr_candidate){"windows", macs + qconv_tap_start * outputs, QCONV_WINDOWS};
  return (enum qconv_path)smr_choose(job, list, count);
}

static samara_status qconv_prepare_depthwise(struct smr_job *job, struct qconv_state *s) {
  const struct smr_window *w = &s->window;
  const struct smr_i8_dwconv_args args = qconv_depthwise_args(job, s);
  if (!SMR_HAS(qconv_depthwise_3d) || s->path == QCONV_DEPTHWISE) {
    job->tiles = smr_i8_dwconv_units(&args);
    job->kernel = smr_i8_dwconv_kernel(smr_i8_dwconv_config(job->isa), &args);
    return SAMARA_OK;
  }
  size_t pointers, offset;
  job->tiles = (size_t)(w->batch * w->out[0] * w->out[1]);
  job->kernel = "i8_dwconv_indirect";
  SMR_TRY(smr_scratch_take(job, (size_t)w->channels_in, 1, &s->offset));
  if (!smr_mul_size((size_t)w->out[2], s->taps, &pointers)) pointers = SIZE_MAX;
  return smr_thread_scratch_take(job, pointers, sizeof(int8_t *), &offset);
}

static samara_status qconv_prepare_windows(struct smr_job *job, struct qconv_state *s) {
  const struct smr_i8_gemm_config *config = s->linear.config;
  static const struct smr_i8_gemm_windows some = {.line = 1};  // a plan asks whether there are any
  SMR_TRY(smr_qwindows_make(job, &s->window, config, s->linear.groups, s->channels,
                            s->linear.has_w_zero, s->filled, &s->windows));
  struct smr_i8_gemm_args args = qconv_gemm_args(job, s);
  args.m = s->windows.lines * s->windows.columns;
  args.windows = &some;
  smr_i8_gemm_plan_make(config, &args, &s->plan);
  job->kernel = s->plan.kernel;
  size_t bytes, offset;
  if (!smr_mul_size(s->windows.taps, sizeof(size_t), &bytes)) bytes = SIZE_MAX;
  if (!smr_mul_size(s->windows.blocks, s->plan.units, &job->tiles)) job->tiles = SIZE_MAX;
  SMR_TRY(smr_scratch_take(job, bytes, 1, &s->offset));
  return smr_thread_scratch_take(job, s->windows.bytes, 1, &offset);
}

// Whether rows of taps that are no whole groups are worth a copy of their weights with zeros behind
// each, so that kernels which can read windows in place do so: those of first layers.
static bool qconv_fills(const struct smr_job *job, const struct smr_window *w, size_t groups) {
  const struct smr_tensor *weights = job->inputs[1];
  const size_t k = (size_t)(w->kernel[2] * weights->dims[weights->rank - 1]);
  for (uint32_t i = 0; i < weights->quant->count; i++)
    if (weights->quant->zero_points[i] != 0) return false;
  return weights->constant >= 0 && smr_qwindows_merge(w, groups) && k % SMR_I8_GROUP != 0 &&
         smr_numel(weights) <= QCONV_FILLED_BYTES;
}

// What a build without them lacks. Weights that are not constant, whose dims may vary too, may take
// any path; of those that are, the padding may still be one that only the session knows.
static samara_status qconv_need(struct smr_job *job, const struct qconv_state *s, bool fills) {
  const bool vary = job->dims_vary, any = vary && job->inputs[1]->constant < 0;
  const enum qconv_path path = s->path;
  const bool depthwise = path == QCONV_DEPTHWISE || path == QCONV_DEPTHWISE_3D;
  if (fills && job->inputs[1]->layout != SMR_LAYOUT_PLAIN &&
      (path == QCONV_WINDOWS || (vary && !depthwise)))
    SMR_NEED(job, qlinear_pad);
  if (path == QCONV_DEPTHWISE || any) {
    SMR_NEED(job, qconv_depthwise);
    SMR_TRY(smr_qlinear_need_depthwise(job, &s->window, (size_t)s->window.channels_in));
  }
  if (path == QCONV_DEPTHWISE_3D || any) SMR_NEED(job, qconv_depthwise_3d);
  if (any) SMR_NEED(job, qlinear_depthwise);
  if (path == QCONV_POINT || any || (vary && !depthwise && s->taps == 1))
    SMR_NEED(job, qconv_point);
  if (path == QCONV_WINDOWS || any || (vary && !depthwise)) {
    SMR_NEED(job, qconv_windows);
    SMR_NEED(job, i8_gemm_windows);
  }
  return SAMARA_OK;
}

static samara_status qconv_prepare(struct smr_job *job) {
  struct qconv_state *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  *s = (struct qconv_state){.pixels = 0};
  SMR_TRY(smr_window_read(job, SMR_ATTR_GROUP(job, qconv, window), w->dims + 1, &s->window));
  const int64_t groups = SMR_ATTR(job, qconv, groups)->i;
  s->taps = (size_t)smr_window_taps(&s->window);
  s->channels = (size_t)w->dims[w->rank - 1];
  s->pixels = (size_t)(s->window.batch * smr_window_pixels(&s->window));
  s->path = qconv_choose(job, s, groups);
  const bool fills = qconv_fills(job, &s->window, (size_t)groups);
  SMR_TRY(qconv_need(job, s, fills));
  s->filled = SMR_HAS(qlinear_pad) && fills && s->path == QCONV_WINDOWS &&
              smr_i8_gemm_native(smr_i8_gemm_config(job->isa), SMR_I8_GROUP, false);
  const bool depthwise =
      QCONV_HAS_DEPTHWISE && (s->path == QCONV_DEPTHWISE || s->path == QCONV_DEPTHWISE_3D);
  const size_t n = (size_t)(w->dims[0] / groups), depth = s->taps * s->channels;
  s->linear = (struct smr_qlinear){
      .depthwise = depthwise,
      .groups = depthwise ? 1 : (size_t)groups,
      .taps = depthwise ? s->taps : 1,
      .tap_stride = 1,
      .k = depthwise ? 1 : depth,
      .n = depthwise ? (size_t)w->dims[0] : n,
      .group_stride = n * depth,
      .k_stride = 1,
      .n_stride = depth,
      .weight_key = depthwise                       ? SMR_LINEAR_KEY_DEPTHWISE
                    : groups < SMR_LINEAR_KEY_LIMIT ? SMR_LINEAR_KEY_CONV | (uint32_t)groups
                                                    : 0,
  };
  if (SMR_HAS(qlinear_pad) && s->filled) {
    s->linear.pads_taps = s->linear.pads_file = true;
    s->linear.tap_stride = s->linear.k = s->channels * (size_t)s->window.kernel[2];
    s->linear.taps = s->taps / (size_t)s->window.kernel[2];
    s->linear.weight_key = (uint32_t)s->linear.k;  // of no SMR_LINEAR_KEY_
  }
  SMR_TRY(smr_qlinear_prepare(job, SMR_ATTR_GROUP(job, qconv, int8_output), &s->linear));
  if (smr_numel(job->outputs[0]) == 0) {
    job->kernel = "nothing";
    job->tiles = 0;
    return SAMARA_OK;
  }
  if (depthwise) return qconv_prepare_depthwise(job, s);
  if (SMR_HAS(qconv_windows) && s->path == QCONV_WINDOWS) return qconv_prepare_windows(job, s);
  const struct smr_i8_gemm_args args = qconv_gemm_args(job, s);
  smr_i8_gemm_plan_make(s->linear.config, &args, &s->plan);
  smr_i8_gemm_plan_share(&s->plan, smr_partition(job));
  job->kernel = s->plan.kernel;
  job->tiles = s->plan.units;
  return SAMARA_OK;
}

static samara_status qconv_pack(const struct smr_job *job, const struct smr_derived *what,
                                void *out) {
  (void)what;
  const struct qconv_state *s = job->state;
  return smr_qlinear_pack(job, &s->linear, out);
}

// ---- running ----

static int8_t *qconv_pad(const struct smr_job *job, const struct qconv_state *s) {
  return (int8_t *)job->scratch + s->offset;
}

static size_t *qconv_taps(const struct smr_job *job, const struct qconv_state *s) {
  return (size_t *)(void *)((char *)job->scratch + s->offset);
}

static void qconv_prologue(const struct smr_job *job, const struct qconv_state *s) {
  if (job->tiles == 0) return;
  smr_qlinear_prologue(job, &s->linear);
  if (SMR_HAS(qconv_windows) && s->path == QCONV_WINDOWS)
    smr_qwindows_taps(&s->window, &s->windows, qconv_taps(job, s));
  if (SMR_HAS(qconv_depthwise_3d) && s->path == QCONV_DEPTHWISE_3D)
    memset(qconv_pad(job, s), s->linear.x_zero, s->linear.n);
}

// Lines of a depthwise convolution in three dims.
static samara_status qconv_lines_3d(const struct smr_job *job, const struct qconv_state *s,
                                    const struct smr_i8_dwconv_args *like, size_t begin, size_t end,
                                    const int8_t **pointers) {
  const struct smr_window *w = &s->window;
  const size_t out_w = (size_t)w->out[2], work = s->taps * like->channels;
  const size_t piece = work < SMR_DEADLINE_WORK ? SMR_DEADLINE_WORK / work : 1;
  const size_t line_bytes = like->out_row_stride * smr_qlinear_out_bytes(&s->linear);
  const int8_t *pad = qconv_pad(job, s);
  struct smr_deadline_watch watch = {.job = job};
  for (size_t line = begin; line < end; line++) {
    smr_conv_indirection_i8(w, like->in, like->in_pixel_stride, pad, line * out_w, out_w, pointers);
    const struct smr_i8_dwconv_indirect_args args = {
        .pixels = out_w,
        .taps = s->taps,
        .channels = like->channels,
        .indirect = pointers,
        .pad = pad,
        .x_zero = like->x_zero,
        .w = like->w,
        .panel_stride_bytes = like->panel_stride_bytes,
        .w_zero = like->w_zero,
        .out = (char *)like->out + line * line_bytes,
        .out_stride = like->out_pixel_stride,
        .end = like->end,
    };
    for (size_t x = 0; x < out_w; x += piece) {
      const size_t x_end = out_w - x < piece ? out_w : x + piece;
      SMR_TRY(smr_deadline_step(&watch, (x_end - x) * work));
      smr_i8_dwconv_indirect_run(smr_i8_dwconv_config(job->isa), &args, x, x_end);
    }
  }
  return SAMARA_OK;
}

static samara_status qconv_run_depthwise(const struct smr_job *job, const struct qconv_state *s,
                                         size_t begin, size_t end, void *thread_scratch) {
  const struct smr_i8_gemm_columns columns = smr_qlinear_columns(job, &s->linear, 0, 0);
  struct smr_i8_dwconv_args args = qconv_depthwise_args(job, s);
  args.in = job->inputs[0]->data;
  args.w = smr_qlinear_weights(job, &s->linear);
  args.w_zero = columns.w_zero;
  args.out = job->outputs[0]->data;
  args.end.bias = columns.start;
  args.end.multiplier = columns.multiplier;
  if (SMR_HAS(qconv_depthwise_3d) && s->path == QCONV_DEPTHWISE_3D)
    return qconv_lines_3d(job, s, &args, begin, end, thread_scratch);
  if (SMR_HAS(qconv_depthwise))
    smr_i8_dwconv_run(smr_i8_dwconv_config(job->isa), &args, begin, end);
  return SAMARA_OK;
}

// Tiles of blocks: the lines of a block serve all its tiles of one call. The last block of an image
// may have fewer than the others.
static samara_status qconv_run_windows(const struct smr_job *job, const struct qconv_state *s,
                                       size_t begin, size_t end, void *thread_scratch) {
  const struct smr_i8_gemm_args all = qconv_gemm_args(job, s);
  struct smr_i8_gemm_windows rows = smr_qwindows_rows(&s->window, &s->windows);
  rows.taps = qconv_taps(job, s);
  const size_t element = smr_qlinear_out_bytes(&s->linear), units = s->plan.units;
  struct smr_deadline_watch watch = {.job = job};
  for (size_t tile = begin, stop; tile < end; tile += stop) {
    const size_t block = tile / units, unit = tile % units;
    struct smr_i8_gemm_args args = all;
    struct smr_i8_gemm_plan plan = s->plan;
    size_t first;
    args.m = smr_qwindows_pixels(&s->window, &s->windows, block, &first);
    args.windows = &rows;
    args.a = thread_scratch;
    args.out = (char *)all.out + first * all.out_stride * element;
    if (args.m < s->windows.lines * s->windows.columns)
      smr_i8_gemm_plan_make(s->plan.config, &args, &plan);
    stop = units - unit < end - tile ? units - unit : end - tile;
    if (unit >= plan.units) continue;
    const size_t count = plan.units - unit < stop ? plan.units - unit : stop;
    SMR_TRY(smr_qwindows_copy(&watch, &s->window, &s->windows, job->inputs[0]->data,
                              qconv_x_pixel(job), s->linear.x_zero, block, thread_scratch));
    smr_i8_gemm_run(&plan, &args, unit, unit + count);
  }
  return SAMARA_OK;
}

static samara_status qconv_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch) {
  const struct qconv_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    qconv_prologue(job, s);
    return SAMARA_OK;
  }
  if (QCONV_HAS_DEPTHWISE && (s->path == QCONV_DEPTHWISE || s->path == QCONV_DEPTHWISE_3D))
    return qconv_run_depthwise(job, s, begin, end, thread_scratch);
  if (SMR_HAS(qconv_windows) && s->path == QCONV_WINDOWS)
    return qconv_run_windows(job, s, begin, end, thread_scratch);
  if (SMR_HAS(qconv_point)) {
    const struct smr_i8_gemm_args args = qconv_gemm_args(job, s);
    smr_i8_gemm_run(&s->plan, &args, begin, end);
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_qconv_funcs = {.check = qconv_check,
                                                .prepare = qconv_prepare,
                                                .pack = qconv_pack,
                                                .run = qconv_run,
                                                .state_bytes = sizeof(struct qconv_state)};
