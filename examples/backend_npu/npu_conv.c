// SPDX-License-Identifier: Apache-2.0
// qconv on the NPU: int8 convolutions with int32 sums; weights are plain or in the file's panels.
#include "npu.h"

// ---- compile and place ----

static bool conv_supports(const samara_region *region, const samara_region_node *node, char *reason,
                          size_t reason_size) {
  const samara_region_tensor *w = npu_input(region, node, 1), *bias = npu_input(region, node, 2);
  if (!npu_is_picture(npu_input(region, node, 0), reason, reason_size)) return false;
  if (w->dtype != SAMARA_QINT8)
    return npu_refuse(reason, reason_size, "weights other than qint8 are not supported");
  if ((w->symbolic & 1) != 0)
    return npu_refuse(reason, reason_size, "a number of channels that varies is not supported");
  if (w->quant_count != 1 && w->quant_axis != 0)
    return npu_refuse(reason, reason_size, "weights have scales along another axis than the first");
  if (bias != NULL && bias->dtype != SAMARA_INT32)
    return npu_refuse(reason, reason_size, "a bias other than int32 is not supported");
  return true;
}

static void conv_compile(const samara_region *region, const samara_region_node *node,
                         struct npu_command *command) {
  const samara_region_tensor *x = npu_input(region, node, 0), *w = npu_input(region, node, 1);
  command->output = npu_output_of(node);
  command->in_zero[0] = npu_zero_point(x);
  command->groups = npu_attribute(node, "groups")->i;
  command->to_int32 = npu_attribute(node, "to")->i == SAMARA_INT32;
  command->layout = w->layout;
  command->panel_stride = w->panel_stride_bytes;
  for (int64_t c = 0; c < w->shape[0]; c++) {
    const int64_t i = w->quant_count == 1 ? 0 : c;
    command->multiplier[c] = (x->scales[0] * w->scales[i]) / command->output.scale;
    command->weight_zero[c] = w->zero_points != NULL ? w->zero_points[i] : 0;
  }
}

static void conv_place(const samara_region *region, const samara_region_node *node,
                       struct npu_command *command) {
  const samara_region_tensor *w = npu_input(region, node, 1);
  npu_set_window(node, npu_input(region, node, 0), npu_output(region, node), &w->shape[1],
                 &command->window);
}

// ---- run ----

// The weight of output channel 0 of panel `panel` of `group`, for tap `tap` and channel `c` of the
// group. *step is the distance to the next output channel.
static const int8_t *weight_at(const struct npu_command *command, int64_t group, int64_t panel,
                               int64_t tap, int64_t c, int64_t *step) {
  const struct npu_window *window = &command->window;
  const int8_t *w = command->in[1];
  const int64_t stride = (int64_t)command->panel_stride;
  const int64_t outputs = window->out_channels / command->groups;
  const int64_t depth = window->in_channels / command->groups;
  const int64_t taps = window->kernel[0] * window->kernel[1] * window->kernel[2];
  const int64_t k = tap * depth + c;
  switch (command->layout) {
    case SAMARA_LAYOUT_PANEL:  // [groups][panels][ceil(K / 4)][16][4]
      *step = 4;
      return w + (group * ((outputs + NPU_PANEL - 1) / NPU_PANEL) + panel) * stride +
             k / 4 * (4 * NPU_PANEL) + k % 4;
    case SAMARA_LAYOUT_DWPANEL:  // [ceil(C / 16)][taps][16]: one output channel per group
      *step = 0;
      return w + group / NPU_PANEL * stride + tap * NPU_PANEL + group % NPU_PANEL;
    case SAMARA_LAYOUT_PLAIN:  // [O][taps][C / groups]
      break;
  }
  *step = taps * depth;
  return w + (group * outputs + panel * NPU_PANEL) * *step + k;
}

// Add the products of tap `tap`; `x` is the pixel under it.
static void add_tap(const struct npu_command *command, const int8_t *x, int64_t group,
                    int64_t panel, int64_t tap, int64_t width, uint32_t *acc) {
  const int64_t depth = command->window.in_channels / command->groups;
  const int64_t outputs = command->window.out_channels / command->groups;
  const int32_t *zero = command->weight_zero + group * outputs + panel * NPU_PANEL;
  for (int64_t c = 0; c < depth; c++) {
    const int32_t value = x[group * depth + c] - command->in_zero[0];
    int64_t step;
    const int8_t *w = weight_at(command, group, panel, tap, c, &step);
    for (int64_t i = 0; i < width; i++) acc[i] += (uint32_t)(value * (w[i * step] - zero[i]));
  }
}

// One panel of output channels of one pixel. `at` is the position of the window's first tap.
static void conv_panel(const struct npu_command *command, int64_t image, const int64_t *at,
                       int64_t pixel, int64_t group, int64_t panel) {
  const struct npu_window *window = &command->window;
  const int64_t outputs = window->out_channels / command->groups;
  const int64_t left = outputs - panel * NPU_PANEL, width = left < NPU_PANEL ? left : NPU_PANEL;
  const int64_t channel = group * outputs + panel * NPU_PANEL;
  const int8_t *x = command->in[0];
  const int32_t *bias = command->in[2];
  uint32_t acc[NPU_PANEL];  // modulo 2^32
  for (int64_t i = 0; i < width; i++) acc[i] = bias != NULL ? (uint32_t)bias[channel + i] : 0;
  int64_t tap = 0;
  for (int64_t a = 0; a < window->kernel[0]; a++)
    for (int64_t b = 0; b < window->kernel[1]; b++)
      for (int64_t c = 0; c < window->kernel[2]; c++, tap++) {
        const int64_t z = at[0] + a * window->dilation[0], r = at[1] + b * window->dilation[1];
        const int64_t s = at[2] + c * window->dilation[2];
        // Padding has the value of the zero point, which adds nothing; nor does an empty image.
        if (x == NULL || z < 0 || z >= window->in[0] || r < 0 || r >= window->in[1] || s < 0 ||
            s >= window->in[2])
          continue;
        const int64_t from = ((image * window->in[0] + z) * window->in[1] + r) * window->in[2] + s;
        add_tap(command, x + from * window->in_channels, group, panel, tap, width, acc);
      }
  for (int64_t i = 0; i < width; i++) {
    const int64_t to = pixel * window->out_channels + channel + i;
    const int32_t sum = (int32_t)acc[i];
    if (command->to_int32) {
      ((int32_t *)command->out)[to] = sum;
    } else {
      const float p = (float)sum * command->multiplier[channel + i];
      ((int8_t *)command->out)[to] = npu_requantize(p, &command->output);
    }
  }
}

static void conv_run(const struct npu_command *command) {
  const struct npu_window *window = &command->window;
  const int64_t panels = (window->out_channels / command->groups + NPU_PANEL - 1) / NPU_PANEL;
  int64_t pixel = 0, at[NPU_AXES];
  for (int64_t image = 0; image < window->batch; image++)
    for (int64_t z = 0; z < window->out[0]; z++)
      for (int64_t r = 0; r < window->out[1]; r++)
        for (int64_t s = 0; s < window->out[2]; s++, pixel++) {
          at[0] = z * window->stride[0] - window->before[0];
          at[1] = r * window->stride[1] - window->before[1];
          at[2] = s * window->stride[2] - window->before[2];
          for (int64_t group = 0; group < command->groups; group++)
            for (int64_t panel = 0; panel < panels; panel++)
              conv_panel(command, image, at, pixel, group, panel);
        }
}

const struct npu_op npu_op_qconv = {
    "qconv", false, conv_supports, conv_compile, conv_place, conv_run,
};
