// SPDX-License-Identifier: Apache-2.0
// qconv: convolutions of int8 over [N, spatial, C].
#include "base/fp.h"

#include "base/lean.h"
#include "kernels/i8_dwconv/i8_dwconv.h"

#include "ops/check.h"
#include "ops/conv_points.h"
#include "ops/funcs.h"
#include "ops/qlinear.h"
#include "ops/qpatches.h"
#include "ops/window.h"

#include <string.h>

enum qconv_path {
  QCONV_DEPTHWISE,     // one input and one output channel per group, 1 or 2 spatial dims
  QCONV_DEPTHWISE_3D,  // the same through pointers
  QCONV_POINT,         // 1x1, every pixel its own: a plain product
  QCONV_CONTIGUOUS,    // 1-D without padding or dilation: windows are overlapping rows of x
  QCONV_INDIRECT,      // a product over pointers to pixels, block by block
  QCONV_GATHER,        // a product over copied patches, block by block
};

enum {
  QCONV_POINTERS = SMR_LEAN(4096, 256),  // of a block: half of a 64 KiB L1, next to x and w
  QCONV_PATCH_BYTES = SMR_LEAN(32 << 10, 2 << 10),  // of a block of patches
};

enum {
  QCONV_HAS_BLOCKS = SMR_HAS(qconv_indirect) || SMR_HAS(qconv_gather),
  QCONV_HAS_DEPTHWISE = SMR_HAS(qconv_depthwise) || SMR_HAS(qconv_depthwise_3d),
};

struct qconv_state {
  struct smr_qlinear linear;
  struct smr_window window;
  enum qconv_path path;
  size_t taps, channels, pixels;       // channels of one group, pixels of the output
  struct smr_i8_gemm_plan plan, tail;  // INDIRECT, GATHER: of a block; `tail` of the last one
  size_t rows, blocks;                 // of output pixels
  size_t patch_stride;                 // GATHER: bytes of a patch of all groups, rounded up
  size_t pad_offset;                   // in scratch: bytes of padding
};

static samara_status qconv_check(const struct smr_job *job) {
  const struct smr_tensor *w = job->inputs[1];
  return smr_qlinear_check(job, 0, smr_product(w->dims + 1, w->rank - 1u));
}

static size_t qconv_x_pixel(const struct smr_job *job) {
  return (size_t)job->inputs[0]->pixel_stride;
}

// Geometry of a depthwise convolution; pointers and arrays are not set.
static struct smr_i8_dwconv_args qconv_depthwise_args(const struct smr_job *job,
                                                      const struct qconv_state *s) {
  const struct smr_window *w = &s->window;
  const size_t x_pixel = qconv_x_pixel(job), y_pixel = (size_t)job->outputs[0]->pixel_stride;
  const size_t in_w = (size_t)w->in[2], in_h = (size_t)w->in[1];
  const size_t out_w = (size_t)w->out[2], out_h = (size_t)w->out[1];
  return (struct smr_i8_dwconv_args){
      .batch = (size_t)w->batch,
      .channels = s->linear.n,
      .in_h = in_h,
      .in_w = in_w,
      .out_h = out_h,
      .out_w = out_w,
      .kernel_h = (size_t)w->kernel[1],
      .kernel_w = (size_t)w->kernel[2],
      .stride_h = (size_t)w->stride[1],
      .stride_w = (size_t)w->stride[2],
      .dilation_h = (size_t)w->dilation[1],
      .dilation_w = (size_t)w->dilation[2],
      .pad_top = (size_t)w->pad_begin[1],
      .pad_left = (size_t)w->pad_begin[2],
      .in_pixel_stride = x_pixel,
      .in_row_stride = x_pixel * in_w,
      .in_batch_stride = x_pixel * in_w * in_h,
      .x_zero = s->linear.x_zero,
      .panel_stride_bytes = s->linear.panel_stride_bytes,
      .out_pixel_stride = y_pixel,
      .out_row_stride = y_pixel * out_w,
      .out_batch_stride = y_pixel * out_w * out_h,
      .end = {.to = s->linear.to, .zero = s->linear.zero, .lo = s->linear.lo, .hi = s->linear.hi},
  };
}

// Batch entries are groups; in QCONV_CONTIGUOUS images, sharing the weights.
static struct smr_i8_gemm_args qconv_gemm_args(const struct smr_job *job,
                                               const struct qconv_state *s) {
  const struct smr_window *w = &s->window;
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
  if (SMR_HAS(qconv_contiguous) && s->path == QCONV_CONTIGUOUS) {
    args.batch = (size_t)w->batch;
    args.m = (size_t)w->out[2];
    args.k = s->taps * s->channels;
    args.a_stride = (size_t)w->stride[2] * s->channels;
    args.a_batch_stride = (size_t)w->in[2] * s->channels;
    args.w_batch_stride_bytes = 0;
    args.columns_batch_stride = 0;
    args.out_batch_stride = args.out_stride * args.m;
  } else if (SMR_HAS(qconv_indirect) && s->path == QCONV_INDIRECT) {
    static const int8_t *const some_pointers[1] = {NULL};  // a plan asks only whether there are any
    args.indirect = some_pointers;
    args.taps = s->taps;
    args.a_stride = 0;
  } else if (SMR_HAS(qconv_gather) && s->path == QCONV_GATHER) {
    args.k = s->taps * s->channels;
    args.a_stride = s->patch_stride;
    args.a_batch_stride = args.k;
  }
  return args;
}

// ---- preparing ----

// Work (ops/choice.h) beyond the multiply-adds: an indirect product starts anew with every tap,
// copies of patches cost by the byte. They meet at 64 channels.
static const double qconv_tap_start = 16.0, qconv_gather_work = 1.25;

// Whether an indirect product reads rows by whole groups of channels.
static bool qconv_groups(const struct qconv_state *s) { return s->channels % SMR_I8_GROUP == 0; }

static enum qconv_path qconv_choose(struct smr_job *job, const struct qconv_state *s,
                                    int64_t groups) {
  const struct smr_window *w = &s->window;
  const uint8_t layout = job->inputs[1]->layout;
  const int64_t numel = smr_numel(job->outputs[0]);
  const double outputs = (double)(numel ? numel : 1) * (double)s->taps;
  const double macs = outputs * (double)s->channels;
  struct smr_candidate list[3];
  uint32_t count = 0;
  if (layout == SMR_LAYOUT_DWPANEL || (layout == SMR_LAYOUT_PLAIN && groups == w->channels_in &&
                                       groups == w->channels_out && groups > 1)) {
    list[0] = (struct smr_candidate){"depthwise", macs,
                                     w->spatial < 3 ? QCONV_DEPTHWISE : QCONV_DEPTHWISE_3D};
    return (enum qconv_path)smr_choose(job, list, 1);
  }
  bool padded = false, strided = false, dilated = false;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    padded = padded || w->pad_begin[i] || w->pad_end[i];
    strided = strided || w->stride[i] != 1;
    dilated = dilated || (w->dilation[i] != 1 && w->kernel[i] != 1);
  }
  const bool dense = job->inputs[0]->pixel_stride == w->channels_in;
  if (s->taps == 1 && !padded && !strided)
    list[count++] = (struct smr_candidate){"point", macs, QCONV_POINT};
  else if (w->spatial == 1 && groups == 1 && dense && !padded && !dilated)
    list[count++] = (struct smr_candidate){"contiguous", macs, QCONV_CONTIGUOUS};
  if (qconv_groups(s))
    list[count++] =
        (struct smr_candidate){"indirect", macs + qconv_tap_start * outputs, QCONV_INDIRECT};
  list[count++] = (struct smr_candidate){"gather", qconv_gather_work * macs, QCONV_GATHER};
  return (enum qconv_path)smr_choose(job, list, count);
}

static samara_status qconv_prepare_depthwise(struct smr_job *job, struct qconv_state *s) {
  const struct smr_window *w = &s->window;
  const struct smr_i8_dwconv_args args = qconv_depthwise_args(job, s);
  if (s->path == QCONV_DEPTHWISE) {
    job->tiles = smr_i8_dwconv_units(&args);
    job->kernel = smr_i8_dwconv_kernel(smr_i8_dwconv_config(job->isa), &args);
    return SAMARA_OK;
  }
  size_t pointers, offset;
  job->tiles = (size_t)(w->batch * w->out[0] * w->out[1]);
  job->kernel = "i8_dwconv_indirect";
  SMR_TRY(smr_scratch_take(job, (size_t)w->channels_in, 1, &s->pad_offset));
  if (!smr_mul_size((size_t)w->out[2], s->taps, &pointers)) pointers = SIZE_MAX;
  return smr_thread_scratch_take(job, pointers, sizeof(int8_t *), &offset);
}

// Blocks of output pixels whose pointers or patches are made together.
static samara_status qconv_prepare_blocks(struct smr_job *job, struct qconv_state *s) {
  const struct smr_i8_gemm_config *config = s->linear.config;
  const bool gathers = s->path == QCONV_GATHER;
  size_t row_bytes, bytes, offset;
  if (!smr_mul_size(s->taps, gathers ? s->channels * s->linear.groups : sizeof(int8_t *),
                    &row_bytes) ||
      row_bytes > PTRDIFF_MAX - 15)
    SMR_FAIL(job->error, LIMIT, "%s: a window is too large", job->op->name);
  if (gathers) s->patch_stride = row_bytes = (row_bytes + 15) & ~(size_t)15;
  s->rows = gathers ? QCONV_PATCH_BYTES / (row_bytes ? row_bytes : 1) : QCONV_POINTERS / s->taps;
  s->rows = s->rows < config->mr ? config->mr : s->rows - s->rows % config->mr;
  if (s->rows > s->pixels) s->rows = s->pixels;
  s->blocks = (s->pixels + s->rows - 1) / s->rows;
  struct smr_i8_gemm_args args = qconv_gemm_args(job, s);
  args.m = s->rows;
  smr_i8_gemm_plan_make(config, &args, &s->plan);
  args.m = s->pixels - (s->blocks - 1) * s->rows;
  smr_i8_gemm_plan_make(config, &args, &s->tail);
  job->kernel = s->plan.kernel;
  job->tiles = (s->blocks - 1) * s->plan.units + s->tail.units;
  SMR_TRY(smr_scratch_take(job, gathers ? 0 : s->channels, 1, &s->pad_offset));
  if (!smr_mul_size(s->rows, row_bytes, &bytes)) bytes = SIZE_MAX;
  return smr_thread_scratch_take(job, bytes, 1, &offset);
}

// What a build without them lacks. Weights that are not constant, whose dims may vary too, may take
// any path; of those that are, the padding may still be one that only the session knows.
static samara_status qconv_need(struct smr_job *job, const struct qconv_state *s, int64_t groups) {
  const bool vary = job->dims_vary, any = vary && job->inputs[1]->constant < 0;
  const enum qconv_path path = s->path;
  const bool depthwise = path == QCONV_DEPTHWISE || path == QCONV_DEPTHWISE_3D;
  if (path == QCONV_DEPTHWISE || any) {
    SMR_NEED(job, qconv_depthwise);
    SMR_TRY(smr_qlinear_need_depthwise(job, &s->window, (size_t)s->window.channels_in));
  }
  if (path == QCONV_DEPTHWISE_3D || any) SMR_NEED(job, qconv_depthwise_3d);
  if (any) SMR_NEED(job, qlinear_depthwise);
  if (path == QCONV_POINT || any || (vary && !depthwise && s->taps == 1))
    SMR_NEED(job, qconv_point);
  if (path == QCONV_CONTIGUOUS || any ||
      (vary && !depthwise && s->window.spatial == 1 && groups == 1))
    SMR_NEED(job, qconv_contiguous);
  const bool blocks = vary && !depthwise;
  const bool quads =
      qconv_groups(s) && qconv_tap_start <= (qconv_gather_work - 1) * (double)s->channels;
  if (path == QCONV_INDIRECT || any || (blocks && quads)) {
    SMR_NEED(job, qconv_indirect);
    SMR_NEED(job, i8_gemm_indirect);
  }
  if (path == QCONV_GATHER || any || (blocks && !quads)) SMR_NEED(job, qconv_gather);
  return SAMARA_OK;
}

static samara_status qconv_prepare(struct smr_job *job) {
  struct qconv_state *s = job->state;
  const struct smr_tensor *w = job->inputs[1];
  *s = (struct qconv_state){.pixels = 0};
  SMR_TRY(smr_window_read(job, w->dims + 1, &s->window));
  const int64_t groups = smr_op_attr_int(job, "groups");
  s->taps = (size_t)smr_window_taps(&s->window);
  s->channels = (size_t)w->dims[w->rank - 1];
  s->pixels = (size_t)(s->window.batch * smr_window_pixels(&s->window));
  s->path = qconv_choose(job, s, groups);
  SMR_TRY(qconv_need(job, s, groups));
  const bool depthwise = s->path == QCONV_DEPTHWISE || s->path == QCONV_DEPTHWISE_3D;
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
  SMR_TRY(smr_qlinear_prepare(job, &s->linear));
  if (smr_numel(job->outputs[0]) == 0) {
    job->kernel = "nothing";
    job->tiles = 0;
    return SAMARA_OK;
  }
  if (QCONV_HAS_DEPTHWISE && depthwise) return qconv_prepare_depthwise(job, s);
  if (QCONV_HAS_BLOCKS && (s->path == QCONV_INDIRECT || s->path == QCONV_GATHER))
    return qconv_prepare_blocks(job, s);
  const struct smr_i8_gemm_args args = qconv_gemm_args(job, s);
  smr_i8_gemm_plan_make(s->linear.config, &args, &s->plan);
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
  return (int8_t *)job->scratch + s->pad_offset;
}

static void qconv_prologue(const struct smr_job *job, const struct qconv_state *s) {
  if (job->tiles == 0) return;
  smr_qlinear_prologue(job, &s->linear);
  if (s->path == QCONV_INDIRECT) memset(qconv_pad(job, s), s->linear.x_zero, s->channels);
  if (s->path == QCONV_DEPTHWISE_3D) memset(qconv_pad(job, s), s->linear.x_zero, s->linear.n);
}

// Lines of a depthwise convolution in three dims.
static samara_status qconv_lines_3d(const struct smr_job *job, const struct qconv_state *s,
                                    const struct smr_i8_dwconv_args *like, size_t begin, size_t end,
                                    const int8_t **pointers) {
  const struct smr_window *w = &s->window;
  const size_t out_w = (size_t)w->out[2], work = s->taps * like->channels;
  const size_t piece = work < SMR_PACE_WORK ? SMR_PACE_WORK / work : 1;
  const size_t line_bytes = like->out_row_stride * smr_qlinear_out_bytes(&s->linear);
  const int8_t *pad = qconv_pad(job, s);
  struct smr_pace pace = {.job = job};
  for (size_t line = begin; line < end; line++) {
    smr_conv_points_i8(w, like->in, like->in_pixel_stride, pad, line * out_w, out_w, pointers);
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
      SMR_TRY(smr_pace_step(&pace, (x_end - x) * work));
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

// Tiles of blocks: the pointers or patches of a block serve all its tiles of one call.
static samara_status qconv_run_blocks(const struct smr_job *job, const struct qconv_state *s,
                                      size_t begin, size_t end, void *thread_scratch) {
  const struct smr_i8_gemm_args all = qconv_gemm_args(job, s);
  const struct smr_qpatches patches = {.window = &s->window,
                                       .x = job->inputs[0]->data,
                                       .pixel_stride = qconv_x_pixel(job),
                                       .groups = s->linear.groups,
                                       .channels = s->channels,
                                       .zero = (int8_t)s->linear.x_zero,
                                       .row_stride = s->patch_stride};
  const size_t element = smr_qlinear_out_bytes(&s->linear);
  const size_t last = s->blocks - 1, before_last = last * s->plan.units;
  struct smr_pace pace = {.job = job};
  for (size_t tile = begin; tile < end;) {
    const size_t block = tile < before_last ? tile / s->plan.units : last;
    const struct smr_i8_gemm_plan *plan = block < last ? &s->plan : &s->tail;
    const size_t unit = tile - block * s->plan.units;
    const size_t count = plan->units - unit < end - tile ? plan->units - unit : end - tile;
    const size_t first = block * s->rows;
    struct smr_i8_gemm_args args = all;
    args.m = block < last ? s->rows : s->pixels - first;
    args.out = (char *)all.out + first * all.out_stride * element;
    if (SMR_HAS(qconv_gather) && s->path == QCONV_GATHER) {
      SMR_TRY(smr_qpatches_gather(&pace, &patches, first, args.m, thread_scratch));
      args.a = thread_scratch;
    } else if (SMR_HAS(qconv_indirect)) {
      const int8_t **pointers = thread_scratch;
      args.a = NULL;
      args.indirect = pointers;
      args.pad = qconv_pad(job, s);
      smr_conv_points_i8(&s->window, job->inputs[0]->data, qconv_x_pixel(job), args.pad, first,
                         args.m, pointers);
    }
    smr_i8_gemm_run(plan, &args, unit, unit + count);
    tile += count;
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
  if (QCONV_HAS_BLOCKS && (s->path == QCONV_INDIRECT || s->path == QCONV_GATHER))
    return qconv_run_blocks(job, s, begin, end, thread_scratch);
  if (SMR_HAS(qconv_point) || SMR_HAS(qconv_contiguous)) {
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
