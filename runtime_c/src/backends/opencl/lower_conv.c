// SPDX-License-Identifier: Apache-2.0
// Convolutions of floats and their transposes.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <string.h>

enum { CL_CONV_ROWS = 8, CL_DEPTHWISE_ROWS = 4, CL_CONV_COLS = 16, CL_CONV_WIDE = 32 };

static const uint16_t cl_conv_panel[4] = {SMR_CL_conv_f32, SMR_CL_conv_f32_f16, SMR_CL_conv_f16,
                                          SMR_CL_conv_f32_i8};
static const uint16_t cl_conv_4x4[SMR_CL_TILED] = {SMR_CL_conv_f32_4x4, SMR_CL_conv_f32_f16_4x4,
                                                   SMR_CL_conv_f16_4x4};
static const uint16_t cl_conv_1x4[SMR_CL_TILED] = {SMR_CL_conv_f32_1x4, SMR_CL_conv_f32_f16_1x4,
                                                   SMR_CL_conv_f16_1x4};
static const uint16_t cl_conv_depthwise_1x4[SMR_CL_TILED] = {
    SMR_CL_depthwise_f32_1x4, SMR_CL_depthwise_f32_f16_1x4, SMR_CL_depthwise_f16_1x4};
static const uint16_t cl_conv_plain[3] = {SMR_CL_conv_plain_f32, SMR_CL_conv_plain_f32_f16,
                                          SMR_CL_conv_plain_f16};
static const uint16_t cl_conv_spread[3] = {SMR_CL_spread_f32, SMR_CL_spread_f32_f16,
                                           SMR_CL_spread_f16};
static const uint16_t cl_conv_depthwise[3] = {SMR_CL_depthwise_f32, SMR_CL_depthwise_f32_f16,
                                              SMR_CL_depthwise_f16};
static const uint16_t cl_conv_depthwise_plain[3] = {
    SMR_CL_depthwise_plain_f32, SMR_CL_depthwise_plain_f32_f16, SMR_CL_depthwise_plain_f16};

static bool cl_conv_spreads(const struct smr_cl_node *node) {
  return strcmp(node->node->op, "conv_transpose") == 0;
}

bool smr_cl_is_depthwise(const struct smr_cl_node *node) {
  const samara_region_tensor *w = smr_cl_input(node, 1);
  const int64_t groups = smr_cl_int(node, "groups");
  return groups > 1 && w->shape[0] == groups && w->shape[w->rank - 1] == 1;
}

bool smr_cl_knows_weights(const struct smr_cl_node *node, const char **why) {
  const samara_region_tensor *w = smr_cl_input(node, 1);
  for (int32_t i = 0; i < w->rank; i++)
    if (w->shape[i] < 0) {
      *why = "weights of symbolic shape are not supported";
      return false;
    }
  return true;
}

// Whether the convolution is a matrix product: one tap, no padding, stride 1.
static bool cl_conv_is_product(const struct smr_cl_node *node) {
  const samara_region_tensor *w = smr_cl_input(node, 1);
  if (w->layout != SAMARA_LAYOUT_PANEL || smr_cl_int(node, "groups") != 1) return false;
  if (!SMR_HAS(cl_matmul) || !smr_cl_all(node, "strides", 1) || !smr_cl_all(node, "pads", 0))
    return false;
  for (int32_t i = 1; i + 1 < w->rank; i++)
    if (w->shape[i] != 1) return false;
  return true;
}

static bool cl_conv_fits(const struct smr_cl_node *node, const char **why) {
  const samara_region_tensor *w = smr_cl_input(node, 1);
  if (!smr_cl_sizes_fit(node, 5, why) || smr_cl_product_types(node, why) < 0) return false;
  if (!smr_cl_knows_weights(node, why)) return false;
  const bool depthwise = smr_cl_is_depthwise(node) && !cl_conv_spreads(node);
  if ((cl_conv_spreads(node) && w->layout != SAMARA_LAYOUT_PLAIN) ||
      (w->layout == SAMARA_LAYOUT_DWPANEL) != (depthwise && w->layout != SAMARA_LAYOUT_PLAIN)) {
    *why = "the layout of its weights is not supported";
    return false;
  }
  if (depthwise && !SMR_HAS(cl_depthwise)) {
    *why = "this build leaves out depthwise convolutions on devices";
    return false;
  }
  return true;
}

static uint16_t cl_conv_kernel(const struct smr_cl_node *node) {
  const char *why;
  const int types = smr_cl_product_types(node, &why);
  const bool plain = smr_cl_input(node, 1)->layout == SAMARA_LAYOUT_PLAIN;
  if (cl_conv_spreads(node)) return cl_conv_spread[types];
  if (smr_cl_is_depthwise(node))
    return plain ? cl_conv_depthwise_plain[types] : cl_conv_depthwise[types];
  return plain ? cl_conv_plain[types] : cl_conv_panel[types];
}

// Whether the node has small tiles, for devices that run thousands of items.
static bool cl_conv_has_small(const struct smr_cl_node *node, int types) {
  return !node->features->cpu && types < SMR_CL_TILED && !cl_conv_spreads(node) &&
         smr_cl_input(node, 1)->layout != SAMARA_LAYOUT_PLAIN;
}

static void cl_conv_kernels(const struct smr_cl_node *node, bool *kernels) {
  const char *why;
  const int types = smr_cl_product_types(node, &why);
  if (cl_conv_is_product(node)) {
    smr_cl_panel_kernels(node, kernels);
  } else if (!cl_conv_has_small(node, types)) {
    kernels[cl_conv_kernel(node)] = true;
  } else if (smr_cl_is_depthwise(node)) {
    kernels[cl_conv_depthwise_1x4[types]] = true;
  } else {
    kernels[cl_conv_4x4[types]] = true;
    kernels[cl_conv_1x4[types]] = true;
  }
}

static struct smr_cl_tile cl_conv_tile(const struct smr_cl_node *node, bool depthwise) {
  const char *why;
  const int types = smr_cl_product_types(node, &why);
  if (!cl_conv_has_small(node, types)) {
    const uint16_t kernel = cl_conv_kernel(node);
    if (depthwise) return (struct smr_cl_tile){kernel, CL_DEPTHWISE_ROWS, CL_CONV_COLS, false};
    if (types >= SMR_CL_TILED || kernel != cl_conv_panel[types])
      return (struct smr_cl_tile){kernel, CL_CONV_ROWS, CL_CONV_COLS, false};
    return (struct smr_cl_tile){kernel, CL_CONV_ROWS, CL_CONV_WIDE, smr_cl_stays(node)};
  }
  if (depthwise) return (struct smr_cl_tile){cl_conv_depthwise_1x4[types], 1, 4, true};
  if (smr_cl_is_much(node, smr_cl_numel(smr_cl_output(node, 0))))
    return (struct smr_cl_tile){cl_conv_4x4[types], 4, 4, true};
  return (struct smr_cl_tile){cl_conv_1x4[types], 1, 4, true};
}

void smr_cl_convolve(const struct smr_cl_node *node, struct smr_cl_launch *launch, bool depthwise,
                     const struct smr_cl_tile *tile) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *w = smr_cl_input(node, 1);
  const samara_region_tensor *y = smr_cl_output(node, 0);
  const int64_t outputs = w->shape[0], channels = x->shape[x->rank - 1];
  const int64_t pixels = smr_cl_numel(y) / outputs;
  const int32_t spatial = x->rank - 2;
  const int64_t groups = smr_cl_int(node, "groups"), own = outputs / groups;
  const samara_region_attribute *strides = smr_cl_attribute(node, "strides");
  const samara_region_attribute *dilations = smr_cl_attribute(node, "dilations");
  const samara_region_attribute *pads = smr_cl_attribute(node, "pads");
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 1, w);
  smr_cl_bind(launch, 2, smr_cl_input(node, 2));
  smr_cl_bind(launch, 5, y);
  int32_t *p = launch->ints, *q = launch->ints + 16;
  p[0] = (int32_t)pixels;
  p[1] = (int32_t)channels;
  p[2] = (int32_t)(channels / groups);
  p[3] = (int32_t)outputs;
  p[4] = (int32_t)own;
  p[5] = (int32_t)(w->panel_stride_bytes / smr_cl_element(w->dtype));
  for (int32_t i = 0; i < 3; i++) {
    const int32_t axis = i - (3 - spatial);
    p[6 + i] = axis < 0 ? 1 : (int32_t)x->shape[1 + axis];
    p[9 + i] = axis < 0 ? 1 : (int32_t)y->shape[1 + axis];
    p[12 + i] = axis < 0 ? 1 : (int32_t)w->shape[1 + axis];
    q[i] = axis < 0 ? 1 : (int32_t)strides->ints[axis];
    q[3 + i] = axis < 0 ? 1 : (int32_t)dilations->ints[axis];
    q[6 + i] = axis < 0 ? 0 : (int32_t)pads->ints[axis];
  }
  // Every group is divided into whole blocks of columns.
  const int64_t blocks = ((depthwise ? outputs : own) + tile->columns - 1) / tile->columns;
  q[11] = (int32_t)blocks;
  smr_cl_set_tiles(launch, tile, pixels, (depthwise ? blocks : blocks * groups) * tile->columns, 1);
}

static void cl_conv_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const int64_t outputs = smr_cl_input(node, 1)->shape[0];
  if (smr_cl_numel(y) == 0) return;
  if (cl_conv_is_product(node)) {
    smr_cl_panel_product(node, out, smr_cl_numel(y) / outputs, x->shape[x->rank - 1], outputs);
    return;
  }
  const bool depthwise = smr_cl_is_depthwise(node) && !cl_conv_spreads(node);
  const struct smr_cl_tile tile = cl_conv_tile(node, depthwise);
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, (enum smr_cl_kernel)tile.kernel);
  smr_cl_convolve(node, launch, depthwise, &tile);
  smr_cl_epilogue(node, launch);
  smr_cl_narrow(node, out, launch);
}

static const struct smr_cl_row cl_conv_rows[] = {
    SMR_CL_ROW(conv, conv, cl_conv_fits, cl_conv_kernels, cl_conv_lower),
    SMR_CL_ROW(conv, conv_transpose, cl_conv_fits, cl_conv_kernels, cl_conv_lower),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_conv_rows(void) { return cl_conv_rows; }
