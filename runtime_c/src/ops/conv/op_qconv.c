// SPDX-License-Identifier: Apache-2.0
// qconv: convolutions of int8 over [N, spatial, C].
#include "base/fp.h"

#include "kernels/i8_dwconv/i8_dwconv.h"

#include "ops/algorithm.h"
#include "ops/check/check.h"
#include "ops/conv/conv_indirection.h"
#include "ops/conv/conv_shape.h"
#include "ops/conv/planes.h"
#include "ops/conv/qwindows.h"
#include "ops/matmul/qlinear.h"
#include "ops/partition.h"
#include "ops/table/funcs.h"

#include <string.h>

struct qconv_state {
  struct smr_conv_shape shape;
  struct smr_qlinear linear;
  bool filled;                   // windows: each row of taps is padded to whole groups
  struct smr_i8_gemm_plan plan;  // of the algorithm `point`
  struct smr_qwindows windows;
  size_t offset;  // depthwise_3d: in scratch, a pixel of padding bytes
};

static samara_status qconv_check(const struct smr_job *job) {
  const struct smr_tensor *w = job->inputs[1];
  return smr_qlinear_check(job, SMR_ATTR_GROUP(job, qconv, int8_output),
                           SMR_ATTR(job, qconv, to)->i, 0, smr_product(w->dims + 1, w->rank - 1u));
}

static size_t qconv_x_pixel(const struct smr_job *job) {
  return (size_t)job->inputs[0]->pixel_stride;
}

// Geometry of a depthwise convolution. Pointers and arrays are left unset.
static struct smr_i8_dwconv_args qconv_depthwise_args(const struct smr_job *job,
                                                      const struct qconv_state *s) {
  const struct smr_window *w = &s->shape.window;
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

// Groups are the product's batch.
static struct smr_i8_gemm_args qconv_gemm_args(const struct smr_job *job,
                                               const struct qconv_state *s) {
  const struct smr_tensor *y = job->outputs[0];
  struct smr_i8_gemm_args args = {.a = job->inputs[0]->data, .taps = 1};
  smr_qlinear_args(job, &s->linear, 0, &args);
  args.out = y->data;
  args.out_stride = (size_t)y->pixel_stride;
  args.out_batch_stride = s->linear.n;
  args.m = s->shape.pixels;
  args.k = s->shape.channels;
  args.a_stride = qconv_x_pixel(job);
  args.a_batch_stride = s->shape.channels;
  return args;
}

// ---- choosing ----

// Extra work (ops/choice.h): a product over windows restarts at every tap.
static const smr_work qconv_tap_start = 1.0;
static const smr_work qconv_depthwise_work =
    8.0;  // a single multiply-add uses a quarter of a dot product's lanes

// Whether the weights are computed. Their dims may then be symbolic too.
static bool qconv_is_computed(const struct smr_job *job) { return job->inputs[1]->constant < 0; }

static bool qconv_any_depthwise(const struct smr_job *job) {
  return qconv_is_computed(job) || smr_conv_fits_depthwise(job);
}

static bool qconv_any_depthwise_3d(const struct smr_job *job) {
  return qconv_is_computed(job) || smr_conv_fits_depthwise_3d(job);
}

static bool qconv_fits_windows(const struct smr_job *job) {
  const struct qconv_state *s = job->state;
  return !s->shape.depthwise;
}

static bool qconv_any_windows(const struct smr_job *job) {
  return qconv_is_computed(job) || qconv_fits_windows(job);
}

// Symbolic padding may turn out to be 0.
static bool qconv_any_point(const struct smr_job *job) {
  const struct qconv_state *s = job->state;
  return qconv_is_computed(job) || (s->shape.taps == 1 && !s->shape.depthwise);
}

static smr_work qconv_depthwise_cost(const struct smr_job *job) {
  return qconv_depthwise_work * smr_conv_work(job);
}

static smr_work qconv_windows_work(const struct smr_job *job) {
  return smr_conv_work(job) + qconv_tap_start * smr_conv_tap_work(job);
}

static bool qconv_fills(const struct smr_job *job) {
  const struct qconv_state *s = job->state;
  return smr_qwindows_fills(job, &s->shape.window, s->shape.groups);
}

// Record the kernels for rows of taps, by their width, by the step between pixels in taps, and by
// the channels left over after whole vectors.
static samara_status qconv_depthwise_kernels(struct smr_job *job) {
  const struct smr_conv_shape *s = job->state;
  const struct smr_window *w = &s->window;
  const bool any = job->dims_vary;
  const int64_t taps = w->kernel[2], channels = w->channels_in, rest = channels % 64;
  const bool ones = w->stride[2] == w->dilation[2], twos = w->stride[2] == 2 * w->dilation[2];
  if (qconv_is_computed(job)) SMR_NEED(job, qlinear_depthwise);
  if (any || (taps == 3 && ones)) SMR_NEED(job, i8_dwconv_3s1);
  if (any || (taps == 3 && twos)) SMR_NEED(job, i8_dwconv_3s2);
  if (any || (taps == 5 && ones)) SMR_NEED(job, i8_dwconv_5s1);
  if (any || (taps == 5 && twos)) SMR_NEED(job, i8_dwconv_5s2);
  if (any || (taps == 7 && ones)) SMR_NEED(job, i8_dwconv_7s1);
  if (any || channels >= 64) SMR_NEED(job, i8_dwconv_full);
  if (any || rest > 32) SMR_NEED(job, i8_dwconv_more);
  if (any || (rest > 0 && rest <= 32)) SMR_NEED(job, i8_dwconv_half);
  if (any || rest % 32 != 0) SMR_NEED(job, i8_dwconv_rest_32);
  if (any || rest % 16 != 0) SMR_NEED(job, i8_dwconv_rest_16);
  return SAMARA_OK;
}

static samara_status qconv_depthwise_3d_kernels(struct smr_job *job) {
  if (qconv_is_computed(job)) SMR_NEED(job, qlinear_depthwise);
  return SAMARA_OK;
}

static samara_status qconv_windows_kernels(struct smr_job *job) {
  if (job->inputs[1]->layout != SMR_LAYOUT_PLAIN && qconv_fills(job)) SMR_NEED(job, qlinear_pad);
  SMR_NEED(job, i8_gemm_windows);
  return SAMARA_OK;
}

// ---- preparing ----

static samara_status qconv_begin(struct smr_job *job) {
  *(struct qconv_state *)job->state = (struct qconv_state){.offset = 0};
  return smr_conv_shape_read(job, SMR_ATTR_GROUP(job, qconv, window),
                             SMR_ATTR(job, qconv, groups)->i);
}

static samara_status qconv_take_weights(struct smr_job *job) {
  struct qconv_state *s = job->state;
  smr_conv_qlinear(&s->shape, &s->linear);
  if (SMR_HAS(qlinear_pad) && s->filled) {
    const size_t row = (size_t)s->shape.window.kernel[2];
    s->linear.pads_taps = s->linear.pads_file = true;
    s->linear.tap_stride = s->linear.k = s->shape.channels * row;
    s->linear.taps = s->shape.taps / row;
    s->linear.weight_key = (uint32_t)s->linear.k;  // no SMR_LINEAR_KEY_ bit
  }
  return smr_qlinear_prepare(job, SMR_ATTR_GROUP(job, qconv, int8_output), &s->linear);
}

static samara_status qconv_depthwise_prepare(struct smr_job *job) {
  struct qconv_state *s = job->state;
  SMR_TRY(qconv_take_weights(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  const struct smr_i8_dwconv_args args = qconv_depthwise_args(job, s);
  job->tiles = smr_i8_dwconv_units(&args);
  job->kernel = smr_i8_dwconv_kernel(smr_i8_dwconv_config(job->isa), &args);
  return SAMARA_OK;
}

static samara_status qconv_depthwise_3d_prepare(struct smr_job *job) {
  struct qconv_state *s = job->state;
  const struct smr_window *w = &s->shape.window;
  size_t pointers, offset;
  SMR_TRY(qconv_take_weights(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  job->tiles = (size_t)(w->batch * w->out[0] * w->out[1]);
  job->kernel = "i8_dwconv_indirect";
  SMR_TRY(smr_scratch_take(job, (size_t)w->channels_in, 1, &s->offset));
  if (!smr_mul_size((size_t)w->out[2], s->shape.taps, &pointers)) pointers = SIZE_MAX;
  return smr_thread_scratch_take(job, pointers, sizeof(int8_t *), &offset);
}

static samara_status qconv_point_prepare(struct smr_job *job) {
  struct qconv_state *s = job->state;
  SMR_TRY(qconv_take_weights(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  const struct smr_i8_gemm_args args = qconv_gemm_args(job, s);
  smr_i8_gemm_plan_make(s->linear.config, &args, &s->plan);
  smr_i8_gemm_plan_share(&s->plan, smr_partition(job));
  job->kernel = s->plan.kernel;
  job->tiles = s->plan.units;
  return SAMARA_OK;
}

static samara_status qconv_windows_prepare(struct smr_job *job) {
  struct qconv_state *s = job->state;
  s->filled = SMR_HAS(qlinear_pad) && qconv_fills(job) &&
              smr_i8_gemm_native(smr_i8_gemm_config(job->isa), SMR_I8_GROUP, false);
  SMR_TRY(qconv_take_weights(job));
  if (smr_conv_is_empty(job)) return SAMARA_OK;
  struct smr_i8_gemm_args args = qconv_gemm_args(job, s);
  SMR_TRY(smr_qwindows_prepare(job, &s->shape.window, s->linear.config, s->linear.has_w_zero,
                               s->filled, &args, &s->windows));
  job->tiles = s->windows.tiles;
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

// Lines of a depthwise convolution with three spatial dims.
static samara_status qconv_lines_3d(const struct smr_job *job, const struct qconv_state *s,
                                    const struct smr_i8_dwconv_args *like, size_t begin, size_t end,
                                    const int8_t **pointers) {
  const struct smr_window *w = &s->shape.window;
  const size_t out_w = (size_t)w->out[2], work = s->shape.taps * like->channels;
  const size_t piece = work < SMR_DEADLINE_WORK ? SMR_DEADLINE_WORK / work : 1;
  const size_t line_bytes = like->out_row_stride * smr_qlinear_out_bytes(&s->linear);
  const int8_t *pad = qconv_pad(job, s);
  struct smr_deadline_watch watch = {.job = job};
  for (size_t line = begin; line < end; line++) {
    smr_conv_indirection_i8(w, like->in, like->in_pixel_stride, pad, line * out_w, out_w, pointers);
    const struct smr_i8_dwconv_indirect_args args = {
        .pixels = out_w,
        .taps = s->shape.taps,
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

// Arguments of a run over lines or images without indirection.
static struct smr_i8_dwconv_args qconv_depthwise_run_args(const struct smr_job *job,
                                                          const struct qconv_state *s) {
  const struct smr_i8_gemm_columns columns = smr_qlinear_columns(job, &s->linear, 0, 0);
  struct smr_i8_dwconv_args args = qconv_depthwise_args(job, s);
  args.in = job->inputs[0]->data;
  args.w = smr_qlinear_weights(job, &s->linear);
  args.w_zero = columns.w_zero;
  args.out = job->outputs[0]->data;
  args.end.bias = columns.start;
  args.end.multiplier = columns.multiplier;
  return args;
}

static samara_status qconv_depthwise_run(const struct smr_job *job, size_t begin, size_t end,
                                         void *thread_scratch) {
  (void)thread_scratch;
  const struct qconv_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    smr_qlinear_prologue(job, &s->linear);
    return SAMARA_OK;
  }
  const struct smr_i8_dwconv_args args = qconv_depthwise_run_args(job, s);
  smr_i8_dwconv_run(smr_i8_dwconv_config(job->isa), &args, begin, end);
  return SAMARA_OK;
}

static samara_status qconv_depthwise_3d_run(const struct smr_job *job, size_t begin, size_t end,
                                            void *thread_scratch) {
  const struct qconv_state *s = job->state;
  if (begin == end) {
    smr_qlinear_prologue(job, &s->linear);
    memset(qconv_pad(job, s), s->linear.x_zero, s->linear.n);
    return SAMARA_OK;
  }
  const struct smr_i8_dwconv_args args = qconv_depthwise_run_args(job, s);
  return qconv_lines_3d(job, s, &args, begin, end, thread_scratch);
}

static samara_status qconv_point_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  (void)thread_scratch;
  const struct qconv_state *s = job->state;
  if (begin == end) {
    smr_qlinear_prologue(job, &s->linear);
    return SAMARA_OK;
  }
  const struct smr_i8_gemm_args args = qconv_gemm_args(job, s);
  smr_i8_gemm_run(&s->plan, &args, begin, end);
  return SAMARA_OK;
}

static samara_status qconv_windows_run(const struct smr_job *job, size_t begin, size_t end,
                                       void *thread_scratch) {
  const struct qconv_state *s = job->state;
  if (begin == end) {
    smr_qlinear_prologue(job, &s->linear);
    smr_qwindows_prologue(job, &s->shape.window, &s->windows);
    return SAMARA_OK;
  }
  const struct smr_i8_gemm_args args = qconv_gemm_args(job, s);
  return smr_qwindows_run(job, &s->shape.window, &s->windows, &args, s->linear.x_zero, begin, end,
                          thread_scratch);
}

// `fits_any` of rows that only computed weights of symbolic dims can lead to.
#define QCONV_ANY(function) (SMR_HAS(qlinear_computed) ? SMR_ALGORITHM_ANY(function) : NULL)

static const struct smr_algorithm qconv_depthwise = {
    .name = "depthwise",
    .part = SMR_PART_qconv_depthwise,
    .fits = smr_conv_fits_depthwise,
    .fits_any = QCONV_ANY(qconv_any_depthwise),
    .work = qconv_depthwise_cost,
    .kernels = qconv_depthwise_kernels,
    .prepare = qconv_depthwise_prepare,
    .run = qconv_depthwise_run,
};

static const struct smr_algorithm qconv_depthwise_3d = {
    .name = "depthwise_3d",
    .part = SMR_PART_qconv_depthwise_3d,
    .fits = smr_conv_fits_depthwise_3d,
    .fits_any = QCONV_ANY(qconv_any_depthwise_3d),
    .work = qconv_depthwise_cost,
    .kernels = qconv_depthwise_3d_kernels,
    .prepare = qconv_depthwise_3d_prepare,
    .run = qconv_depthwise_3d_run,
};

static const struct smr_algorithm qconv_point = {
    .name = "point",
    .part = SMR_PART_qconv_point,
    .fits = smr_conv_fits_point,
    .fits_any = SMR_ALGORITHM_ANY(qconv_any_point),
    .work = smr_conv_work,
    .prepare = qconv_point_prepare,
    .run = qconv_point_run,
};

static const struct smr_algorithm qconv_windows = {
    .name = "windows",
    .part = SMR_PART_qconv_windows,
    .fits = qconv_fits_windows,
    .fits_any = QCONV_ANY(qconv_any_windows),
    .work = qconv_windows_work,
    .kernels = qconv_windows_kernels,
    .prepare = qconv_windows_prepare,
    .run = qconv_windows_run,
};

#undef QCONV_ANY

static const struct smr_algorithm *const qconv_rows[] = {
    SMR_ALGORITHM(qconv_depthwise, qconv_depthwise),
    SMR_ALGORITHM(qconv_depthwise_3d, qconv_depthwise_3d),
    SMR_ALGORITHM(qconv_point, qconv_point),
    SMR_ALGORITHM(qconv_windows, qconv_windows),
};

static const struct smr_algorithms qconv_algorithms = {
    .begin = qconv_begin,
    .count = sizeof qconv_rows / sizeof *qconv_rows,
    .rows = qconv_rows,
};

const struct smr_op_funcs smr_op_qconv_funcs = {
    .check = qconv_check,
    .prepare = smr_prepare_algorithm,
    .pack = qconv_pack,
    .algorithms = &qconv_algorithms,
    .state_bytes = sizeof(struct qconv_state),
};
