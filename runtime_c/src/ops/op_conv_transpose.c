// SPDX-License-Identifier: Apache-2.0
// conv_transpose: convolutions that spread each input pixel, with a fused epilogue.
//
// An output pixel o meets tap t of the kernel where o + pad - t * dilation is a multiple of the
// stride, so outputs of one remainder ("phase") of o + pad meet the same taps, and form an ordinary
// convolution with them. Weights are packed phase by phase, taps of a phase one after another; a
// row of the output is computed as one indirect product per phase, written with a step of `stride`
// pixels. No work is spent on taps that meet nothing, and no scatter needs a second pass.
#include "base/fp.h"

#include "ops/check.h"
#include "ops/funcs.h"
#include "ops/linear.h"
#include "ops/window.h"

#include <string.h>

struct transposed_state {
  struct smr_linear linear;
  struct smr_window window;
  size_t channels;               // of one group
  size_t x_offset, zero_offset;  // in scratch: x as float32; zeros
  bool widens_x;
};

// Along an axis the taps t, t + period, t + 2 period ... leave the same remainder, and no others
// do: they are class t mod period. Classes without taps (beyond the kernel) are never met.
static int64_t transposed_period(const struct smr_window *w, uint32_t axis) {
  int64_t a = w->stride[axis], b = w->dilation[axis];
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return w->stride[axis] / a;
}

// Taps of a class.
static size_t transposed_count(const struct smr_window *w, uint32_t axis, int64_t class) {
  const int64_t k = w->kernel[axis];
  return class < k ? (size_t)((k - 1 - class) / transposed_period(w, axis) + 1) : 0;
}

// Taps of all classes before this one.
static size_t transposed_start(const struct smr_window *w, uint32_t axis, int64_t class) {
  const int64_t period = transposed_period(w, axis);
  const int64_t each = w->kernel[axis] / period, more = w->kernel[axis] % period;
  return (size_t)(class * each + (class < more ? class : more));
}

// The class of the tap at position `at` of an axis sorted by class.
static int64_t transposed_class_at(const struct smr_window *w, uint32_t axis, size_t at) {
  const int64_t period = transposed_period(w, axis);
  const size_t each = (size_t)(w->kernel[axis] / period), more = (size_t)(w->kernel[axis] % period);
  const size_t longer = more * (each + 1);
  return (int64_t)(at < longer ? at / (each + 1) : more + (at - longer) / each);
}

// Packed order: classes (z, y, x) lexicographic, in a class taps (z, y, x) lexicographic. A class
// is a box of taps, so depths before it hold kernel_y * kernel_x taps each, and so on.
static size_t transposed_source_tap(const struct smr_job *job, size_t packed) {
  const struct smr_window *w = &((const struct transposed_state *)job->state)->window;
  const size_t ny = (size_t)w->kernel[1], nx = (size_t)w->kernel[2];
  const int64_t z = transposed_class_at(w, 0, packed / (ny * nx));
  const size_t cz = transposed_count(w, 0, z);
  const size_t in_z = packed - transposed_start(w, 0, z) * ny * nx;
  const int64_t y = transposed_class_at(w, 1, in_z / (cz * nx));
  const size_t cy = transposed_count(w, 1, y);
  const size_t in_y = in_z - transposed_start(w, 1, y) * cz * nx;
  const int64_t x = transposed_class_at(w, 2, in_y / (cz * cy));
  const size_t cx = transposed_count(w, 2, x);
  const size_t in_x = in_y - transposed_start(w, 2, x) * cz * cy;
  const size_t tz = (size_t)z + in_x / (cy * cx) * (size_t)transposed_period(w, 0);
  const size_t ty = (size_t)y + in_x / cx % cy * (size_t)transposed_period(w, 1);
  const size_t tx = (size_t)x + in_x % cx * (size_t)transposed_period(w, 2);
  return (tz * ny + ty) * nx + tx;
}

// The packed order follows from strides and dilations: all of them in the key, or no key.
static uint32_t transposed_key(const struct smr_window *w, int64_t groups) {
  uint32_t key = 0;
  if (groups >= 1 << 12) return 0;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    if (w->stride[i] > 7 || w->dilation[i] > 3) return 0;
    key = key << 5 | (uint32_t)w->stride[i] << 2 | (uint32_t)w->dilation[i];
  }
  return SMR_LINEAR_KEY_TRANSPOSED | key << 12 | (uint32_t)groups;
}

static samara_status transposed_prepare(struct smr_job *job) {
  struct transposed_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  *s = (struct transposed_state){.channels = (size_t)w->dims[w->rank - 1]};
  SMR_TRY(smr_window_read(job, w->dims + 1, &s->window));
  const size_t groups = (size_t)smr_op_attr_int(job, "groups");
  const size_t taps = (size_t)smr_window_taps(&s->window), n = (size_t)w->dims[0] / groups;
  s->widens_x = x->dtype == SAMARA_FLOAT16;
  s->linear = (struct smr_linear){
      .groups = groups,
      .taps = taps,
      .k = s->channels,
      .n = n,
      .group_stride = n * taps * s->channels,
      .k_stride = 1,
      .n_stride = taps * s->channels,
      .source_tap = transposed_source_tap,
      .weight_key = transposed_key(&s->window, (int64_t)groups),
  };
  SMR_TRY(smr_linear_prepare(job, &s->linear));
  if (s->widens_x)
    SMR_TRY(smr_scratch_take(job, (size_t)smr_numel(x), sizeof(float), &s->x_offset));
  SMR_TRY(smr_scratch_take(job, s->channels, sizeof(float), &s->zero_offset));
  // Pointers for one row of output pixels of a phase: class 0 has most taps.
  const size_t stride = (size_t)s->window.stride[2], width = (size_t)s->window.out[2];
  size_t offset, most = width / stride + 1;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    if (!smr_mul_size(most, transposed_count(&s->window, i, 0), &most)) most = SIZE_MAX / 2;
  SMR_TRY(smr_thread_scratch_take(job, most, sizeof(float *), &offset));
  const struct smr_window *geometry = &s->window;
  job->tiles = (size_t)(geometry->batch * geometry->out[0] * geometry->out[1]);
  if (smr_numel(job->outputs[0]) == 0) job->tiles = 0;
  job->kernel = "conv_transpose_phases";
  return SAMARA_OK;
}

static const char *transposed_scratch(const struct smr_job *job, size_t offset) {
  return (const char *)job->scratch + offset;
}

// The taps that one phase of output pixels meets, as a box.
struct transposed_box {
  int64_t class[SMR_MAX_SPATIAL];
  size_t count[SMR_MAX_SPATIAL];
  size_t first;  // packed index of its first tap
};

static struct transposed_box transposed_box_of(const struct smr_window *w, const int64_t *out) {
  struct transposed_box box = {.first = 0};
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    const int64_t phase = (out[i] + w->pad_begin[i]) % w->stride[i];
    const int64_t period = transposed_period(w, i);
    const int64_t classes = period < w->kernel[i] ? period : w->kernel[i];
    int64_t class = 0;
    while (class < classes && class * w->dilation[i] % w->stride[i] != phase) class ++;
    box.class[i] = class;
    box.count[i] = class < classes ? transposed_count(w, i, class) : 0;
  }
  if (box.count[0] * box.count[1] * box.count[2] == 0) return box;
  const size_t ny = (size_t)w->kernel[1], nx = (size_t)w->kernel[2];
  box.first = transposed_start(w, 0, box.class[0]) * ny * nx +
              transposed_start(w, 1, box.class[1]) * box.count[0] * nx +
              transposed_start(w, 2, box.class[2]) * box.count[0] * box.count[1];
  return box;
}

// Input position that output position `at` meets through tap `index` of the box; it may lie
// outside.
static int64_t transposed_meets(const struct smr_window *w, const struct transposed_box *box,
                                uint32_t axis, int64_t at, size_t index) {
  const int64_t t = box->class[axis] + (int64_t)index * transposed_period(w, axis);
  return (at + w->pad_begin[axis] - t * w->dilation[axis]) / w->stride[axis];  // without remainder
}

// Pointers [pixels][taps of the box] for output pixels out[2], out[2] + stride, ...
static void transposed_points(const struct smr_window *w, const struct transposed_box *box,
                              const float *image, size_t pixel_stride, const float *zero,
                              const int64_t *out, size_t pixels, const float **pointers) {
  const size_t taps = box->count[0] * box->count[1] * box->count[2];
  size_t tap = 0;
  for (size_t jz = 0; jz < box->count[0]; jz++) {
    const int64_t z = transposed_meets(w, box, 0, out[0], jz);
    for (size_t jy = 0; jy < box->count[1]; jy++) {
      const int64_t y = transposed_meets(w, box, 1, out[1], jy);
      const bool inside = z >= 0 && z < w->in[0] && y >= 0 && y < w->in[1];
      const float *row =
          inside ? image + (size_t)((z * w->in[1] + y) * w->in[2]) * pixel_stride : NULL;
      for (size_t jx = 0; jx < box->count[2]; jx++, tap++) {
        const int64_t x0 = transposed_meets(w, box, 2, out[2], jx);
        for (size_t i = 0; i < pixels; i++) {
          const int64_t x = x0 + (int64_t)i;
          pointers[i * taps + tap] =
              inside && x >= 0 && x < w->in[2] ? row + (size_t)x * pixel_stride : zero;
        }
      }
    }
  }
}

// One row of output pixels: `line` counts rows of all images.
static void transposed_line(const struct smr_job *job, const struct transposed_state *s,
                            size_t line, const float **pointers) {
  const struct smr_window *w = &s->window;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const struct smr_tensor *residual = smr_optional_input(job, 3);
  const size_t rows = (size_t)(w->out[0] * w->out[1]), width = (size_t)w->out[2];
  const size_t stride = (size_t)w->stride[2];
  const size_t pixel_stride = s->widens_x ? (size_t)w->channels_in : (size_t)x->pixel_stride;
  const float *data =
      s->widens_x ? (const float *)(const void *)transposed_scratch(job, s->x_offset) : x->data;
  const float *image = data + line / rows * (size_t)smr_product(w->in, 3) * pixel_stride;
  struct smr_f32_gemm_args args = {
      .k = s->channels,
      .a_batch_stride = s->channels,
      .zero = (const float *)(const void *)transposed_scratch(job, s->zero_offset),
      .indirect = pointers,
      .out_type = smr_linear_type(y),
      .out_batch_stride = s->linear.n,
      .out_stride = (size_t)y->pixel_stride * stride,
      .residual_batch_stride = s->linear.n,
  };
  smr_linear_args(job, &s->linear, &args);
  const char *weights = args.w;
  const size_t row_bytes = SMR_PANEL * s->channels * smr_dtype_bytes(job->inputs[1]->dtype);
  const size_t element = smr_dtype_bytes(y->dtype);
  for (size_t first = 0; first < stride && first < width; first++) {
    const int64_t out[SMR_MAX_SPATIAL] = {(int64_t)(line % rows) / w->out[1],
                                          (int64_t)(line % rows) % w->out[1], (int64_t)first};
    const struct transposed_box box = transposed_box_of(w, out);
    args.m = (width - first + stride - 1) / stride;
    args.taps = box.count[0] * box.count[1] * box.count[2];
    args.w = weights + box.first * row_bytes;
    const size_t pixel = line * width + first;
    args.out = (char *)y->data + pixel * (size_t)y->pixel_stride * element;
    if (residual != NULL) {
      args.residual =
          (const char *)residual->data + pixel * (size_t)residual->pixel_stride * element;
      args.residual_stride = (size_t)residual->pixel_stride * stride;
    }
    transposed_points(w, &box, image, pixel_stride, args.zero, out, args.m, pointers);
    struct smr_f32_gemm_plan plan;
    smr_f32_gemm_plan_make(smr_f32_gemm_config(job->isa), &args, &plan);
    smr_f32_gemm_run(&plan, &args, 0, plan.units);
  }
}

static samara_status transposed_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  const struct transposed_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    if (job->tiles == 0) return SAMARA_OK;
    smr_linear_prologue(job, &s->linear);
    char *scratch = job->scratch;
    memset(scratch + s->zero_offset, 0, s->channels * sizeof(float));
    if (s->widens_x)
      smr_f16_to_f32_kernel(job->isa)((size_t)smr_numel(job->inputs[0]), job->inputs[0]->data,
                                      (float *)(void *)(scratch + s->x_offset));
    return SAMARA_OK;
  }
  for (size_t line = begin; line < end; line++) transposed_line(job, s, line, thread_scratch);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_conv_transpose_funcs = {
    .check = smr_linear_check_floats,
    .prepare = transposed_prepare,
    .pack = smr_linear_pack,
    .run = transposed_run,
    .state_bytes = sizeof(struct transposed_state)};
