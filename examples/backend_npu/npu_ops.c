// SPDX-License-Identifier: Apache-2.0
// The NPU's other operators (qadd, pools, requantize, reshape), and functions that all operators
// share.
#include "npu.h"

#include <stdio.h>
#include <string.h>

// ---- shared by operators ----

const samara_region_tensor *npu_input(const samara_region *region, const samara_region_node *node,
                                      uint32_t index) {
  if (index >= node->input_count || node->inputs[index] < 0) return NULL;
  return &region->tensors[node->inputs[index]];
}

const samara_region_tensor *npu_output(const samara_region *region,
                                       const samara_region_node *node) {
  return &region->tensors[node->outputs[0]];
}

const samara_region_attribute *npu_attribute(const samara_region_node *node, const char *name) {
  static const samara_region_attribute none = {.name = ""};
  for (uint32_t i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attributes[i].name, name) == 0) return &node->attributes[i];
  return &none;
}

bool npu_refuse(char *reason, size_t reason_size, const char *text) {
  snprintf(reason, reason_size, "%s", text);
  return false;
}

int32_t npu_zero_point(const samara_region_tensor *tensor) {
  return tensor->zero_points != NULL ? tensor->zero_points[0] : 0;
}

struct npu_output npu_output_of(const samara_region_node *node) {
  return (struct npu_output){.scale = npu_attribute(node, "scale")->f,
                             .zero_point = (int32_t)npu_attribute(node, "zero_point")->i,
                             .lo = (int32_t)npu_attribute(node, "lo")->i,
                             .hi = (int32_t)npu_attribute(node, "hi")->i};
}

// docs/reference/quantized-arithmetic.md: clamp first, then round half to even. Adding and
// subtracting 1.5 * 2^23 does this in the default rounding mode.
int8_t npu_requantize(float p, const struct npu_output *output) {
  const float lo = (float)(output->lo - output->zero_point);
  const float hi = (float)(output->hi - output->zero_point);
  const float magic = 12582912.0f;
  const float number = p == p ? p : 0.0f;  // NaN counts as 0
  const float above = number > lo ? number : lo, within = above < hi ? above : hi;
  return (int8_t)((int32_t)((within + magic) - magic) + output->zero_point);
}

static bool is_one_scale(const samara_region_tensor *tensor) {
  return tensor->dtype == SAMARA_QINT8 && tensor->quant_count == 1;
}

bool npu_is_picture(const samara_region_tensor *x, char *reason, size_t reason_size) {
  if (x->rank < 3 || x->rank > 2 + NPU_AXES)
    return npu_refuse(reason, reason_size, "only 1 to 3 spatial axes are supported");
  if (x->dtype == SAMARA_QINT8 && x->quant_count != 1)
    return npu_refuse(reason, reason_size, "an input with scales along an axis is not supported");
  if (x->dtype != SAMARA_QINT8 && x->dtype != SAMARA_INT8)
    return npu_refuse(reason, reason_size, "only int8 is supported");
  return true;
}

void npu_set_window(const samara_region_node *node, const samara_region_tensor *x,
                    const samara_region_tensor *y, const int64_t *kernel,
                    struct npu_window *window) {
  const int32_t axes = x->rank - 2, lead = NPU_AXES - axes;
  const int64_t *strides = npu_attribute(node, "strides")->ints;
  const int64_t *dilations = npu_attribute(node, "dilations")->ints;
  const int64_t *pads = npu_attribute(node, "pads")->ints;
  window->batch = x->shape[0];
  window->in_channels = x->shape[x->rank - 1];
  window->out_channels = y->shape[y->rank - 1];
  for (int32_t i = 0; i < NPU_AXES; i++) {
    const int32_t axis = i - lead;
    const bool there = axis >= 0;
    window->in[i] = there ? x->shape[1 + axis] : 1;
    window->out[i] = there ? y->shape[1 + axis] : 1;
    window->kernel[i] = there ? kernel[axis] : 1;
    window->stride[i] = there ? strides[axis] : 1;
    window->dilation[i] = there ? dilations[axis] : 1;
    window->before[i] = there ? pads[axis] : 0;
    window->after[i] = there ? pads[axes + axis] : 0;
  }
}

static void compile_nothing(const samara_region *region, const samara_region_node *node,
                            struct npu_command *command) {
  (void)region, (void)node, (void)command;
}

// ---- pools ----

static bool pool_supports(const samara_region *region, const samara_region_node *node, char *reason,
                          size_t reason_size) {
  if (strcmp(node->op, "qavg_pool") == 0 && npu_attribute(node, "dequantized")->i != 0)
    return npu_refuse(reason, reason_size, "means of dequantized values are not supported");
  return npu_is_picture(npu_input(region, node, 0), reason, reason_size);
}

static void pool_place(const samara_region *region, const samara_region_node *node,
                       struct npu_command *command) {
  npu_set_window(node, npu_input(region, node, 0), npu_output(region, node),
                 npu_attribute(node, "kernel")->ints, &command->window);
}

static void qavg_pool_compile(const samara_region *region, const samara_region_node *node,
                              struct npu_command *command) {
  const samara_region_tensor *x = npu_input(region, node, 0);
  command->output = npu_output_of(node);
  command->in_zero[0] = npu_zero_point(x);
  command->ratio = x->scales[0] / command->output.scale;
  command->counts_padding = npu_attribute(node, "count_include_pad")->i != 0;
}

// The taps of a window along one axis: those inside the input, and how many count including
// padding.
struct taps {
  int64_t first, end;  // of the input, in steps of the dilation
  int64_t padded;
};

static struct taps taps_of(const struct npu_window *window, int axis, int64_t out) {
  const int64_t start = out * window->stride[axis] - window->before[axis];
  struct taps taps = {.first = window->kernel[axis]};
  for (int64_t k = 0; k < window->kernel[axis]; k++) {
    const int64_t at = start + k * window->dilation[axis];
    if (at < window->in[axis] + window->after[axis]) taps.padded++;
    if (at < 0 || at >= window->in[axis]) continue;
    if (k < taps.first) taps.first = k;
    taps.end = k + 1;
  }
  if (taps.end == 0) taps.first = 0;
  return taps;
}

// The sum and the largest element of one window; a window of only padding has no largest element.
struct pooled {
  int64_t sum, count, padded;
  int8_t largest;
};

static struct pooled pool_window(const struct npu_command *command, int64_t image,
                                 const int64_t *out, int64_t channel) {
  const struct npu_window *window = &command->window;
  struct pooled pooled = {.padded = 1, .largest = INT8_MIN};
  struct taps taps[NPU_AXES];
  int64_t start[NPU_AXES];
  for (int axis = 0; axis < NPU_AXES; axis++) {
    taps[axis] = taps_of(window, axis, out[axis]);
    start[axis] = out[axis] * window->stride[axis] - window->before[axis];
    pooled.padded *= taps[axis].padded;
  }
  for (int64_t a = taps[0].first; a < taps[0].end; a++)
    for (int64_t b = taps[1].first; b < taps[1].end; b++)
      for (int64_t c = taps[2].first; c < taps[2].end; c++) {
        const int64_t z = start[0] + a * window->dilation[0];
        const int64_t r = start[1] + b * window->dilation[1];
        const int64_t s = start[2] + c * window->dilation[2];
        const int64_t from = ((image * window->in[0] + z) * window->in[1] + r) * window->in[2] + s;
        const int8_t value = ((const int8_t *)command->in[0])[from * window->in_channels + channel];
        pooled.sum += value - command->in_zero[0];
        pooled.count++;
        if (value > pooled.largest) pooled.largest = value;
      }
  return pooled;
}

static int8_t mean_of(const struct npu_command *command, const struct pooled *pooled) {
  const int64_t n = command->counts_padding ? pooled->padded : pooled->count;
  const float m = command->ratio / (float)(n > 1 ? n : 1);
  const float p = (float)(int32_t)(uint32_t)pooled->sum * m;
  return npu_requantize(p, &command->output);
}

static void pool_run(const struct npu_command *command, bool mean) {
  const struct npu_window *window = &command->window;
  int8_t *y = command->out;
  int64_t out[NPU_AXES];
  for (int64_t image = 0; image < window->batch; image++)
    for (out[0] = 0; out[0] < window->out[0]; out[0]++)
      for (out[1] = 0; out[1] < window->out[1]; out[1]++)
        for (out[2] = 0; out[2] < window->out[2]; out[2]++)
          for (int64_t channel = 0; channel < window->out_channels; channel++) {
            const struct pooled pooled = pool_window(command, image, out, channel);
            *y++ = mean ? mean_of(command, &pooled) : pooled.largest;
          }
}

static void max_pool_run(const struct npu_command *command) { pool_run(command, false); }
static void qavg_pool_run(const struct npu_command *command) { pool_run(command, true); }

// ---- qadd ----

static bool qadd_supports(const samara_region *region, const samara_region_node *node, char *reason,
                          size_t reason_size) {
  if (!is_one_scale(npu_input(region, node, 0)) || !is_one_scale(npu_input(region, node, 1)))
    return npu_refuse(reason, reason_size, "an input with scales along an axis is not supported");
  return true;
}

static void qadd_compile(const samara_region *region, const samara_region_node *node,
                         struct npu_command *command) {
  command->output = npu_output_of(node);
  command->factor[0] = (int32_t)npu_attribute(node, "a_multiplier")->i;
  command->factor[1] = (int32_t)npu_attribute(node, "b_multiplier")->i;
  command->ratio = 1.0f;
  for (int64_t shift = npu_attribute(node, "shift")->i; shift > 0; shift--) command->ratio *= 0.5f;
  for (int64_t shift = npu_attribute(node, "shift")->i; shift < 0; shift++) command->ratio *= 2;
  for (uint32_t i = 0; i < 2; i++) command->in_zero[i] = npu_zero_point(npu_input(region, node, i));
}

static void qadd_place(const samara_region *region, const samara_region_node *node,
                       struct npu_command *command) {
  const samara_region_tensor *y = npu_output(region, node);
  command->rank = y->rank;
  memcpy(command->dims, y->shape, sizeof command->dims);
  for (uint32_t i = 0; i < 2; i++) {
    const samara_region_tensor *x = npu_input(region, node, i);
    int64_t step = 1;
    for (int32_t axis = y->rank - 1; axis >= 0; axis--) {
      const int32_t own = axis - (y->rank - x->rank);
      const int64_t dim = own >= 0 ? x->shape[own] : 1;
      command->step[i][axis] = dim == 1 ? 0 : step;
      step *= dim;
    }
  }
}

static void qadd_run(const struct npu_command *command) {
  int64_t index[SAMARA_MAX_RANK] = {0}, at[2] = {0, 0};
  const int8_t *a = command->in[0], *b = command->in[1];
  int8_t *y = command->out;
  for (size_t n = 0; n < command->out_bytes; n++) {
    const int32_t left = command->factor[0] * (a[at[0]] - command->in_zero[0]);
    const int32_t right = command->factor[1] * (b[at[1]] - command->in_zero[1]);
    y[n] = npu_requantize((float)(left + right) * command->ratio, &command->output);
    for (int32_t axis = command->rank - 1; axis >= 0; axis--) {
      for (int i = 0; i < 2; i++) at[i] += command->step[i][axis];
      if (++index[axis] < command->dims[axis]) break;
      for (int i = 0; i < 2; i++) at[i] -= command->step[i][axis] * command->dims[axis];
      index[axis] = 0;
    }
  }
}

// ---- requantize ----

static bool requantize_supports(const samara_region *region, const samara_region_node *node,
                                char *reason, size_t reason_size) {
  if (!is_one_scale(npu_input(region, node, 0)) || !is_one_scale(npu_output(region, node)))
    return npu_refuse(reason, reason_size, "scales along an axis are not supported");
  return true;
}

static void requantize_compile(const samara_region *region, const samara_region_node *node,
                               struct npu_command *command) {
  const samara_region_tensor *x = npu_input(region, node, 0), *y = npu_output(region, node);
  command->in_zero[0] = npu_zero_point(x);
  command->ratio = x->scales[0] / y->scales[0];
  command->output = (struct npu_output){
      .scale = y->scales[0], .zero_point = npu_zero_point(y), .lo = INT8_MIN, .hi = INT8_MAX};
}

static void place_nothing(const samara_region *region, const samara_region_node *node,
                          struct npu_command *command) {
  (void)region, (void)node, (void)command;
}

static void requantize_run(const struct npu_command *command) {
  const int8_t *x = command->in[0];
  int8_t *y = command->out;
  for (size_t i = 0; i < command->out_bytes; i++)
    y[i] = npu_requantize((float)(x[i] - command->in_zero[0]) * command->ratio, &command->output);
}

// ---- reshape ----

static bool reshape_supports(const samara_region *region, const samara_region_node *node,
                             char *reason, size_t reason_size) {
  const samara_region_tensor *x = npu_input(region, node, 0);
  if (x->dtype != SAMARA_QINT8 && x->dtype != SAMARA_INT8)
    return npu_refuse(reason, reason_size, "only int8 is supported");
  return true;
}

static void reshape_run(const struct npu_command *command) {
  if (command->out_bytes != 0) memmove(command->out, command->in[0], command->out_bytes);
}

// ---- the table ----

static const struct npu_op max_pool = {
    "max_pool", false, pool_supports, compile_nothing, pool_place, max_pool_run,
};
static const struct npu_op qavg_pool = {
    "qavg_pool", false, pool_supports, qavg_pool_compile, pool_place, qavg_pool_run,
};
static const struct npu_op qadd = {
    "qadd", false, qadd_supports, qadd_compile, qadd_place, qadd_run,
};
static const struct npu_op requantize = {
    "requantize", true, requantize_supports, requantize_compile, place_nothing, requantize_run,
};
static const struct npu_op reshape = {
    "reshape", true, reshape_supports, compile_nothing, place_nothing, reshape_run,
};

const struct npu_op *npu_find_op(const char *name) {
  static const struct npu_op *const ops[] = {
      &npu_op_qconv, &max_pool, &qavg_pool, &qadd, &requantize, &reshape,
  };
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
    if (strcmp(ops[i]->name, name) == 0) return ops[i];
  return NULL;
}
