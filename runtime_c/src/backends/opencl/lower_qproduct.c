// SPDX-License-Identifier: Apache-2.0
// Products of int8: convolutions and matrices, bit-exact: docs/reference/quantized-arithmetic.md.
#include "base/fp.h"

#include "backends/opencl/lower_integer.h"

#include <string.h>

enum { CL_Q_ROWS = 8, CL_Q_DEPTHWISE_ROWS = 4, CL_Q_COLS = 16, CL_Q_MOST_TAPS = 256 };

// The kernels for one layout of weights: for CPUs, and with small tiles (4 x 4 and 1 x 4 outputs)
// for devices that run thousands of items.
struct cl_q_kernels {
  uint16_t large, tiles_4x4, tiles_1x4;
};

static const struct cl_q_kernels
    cl_q_conv_quads = {SMR_CL_qconv_panel, SMR_CL_qconv_quads_4x4, SMR_CL_qconv_quads_1x4},
    cl_q_conv_bytes = {SMR_CL_qconv_panel, SMR_CL_qconv_bytes_4x4, SMR_CL_qconv_bytes_1x4},
    cl_q_conv_plain = {SMR_CL_qconv_plain, SMR_CL_qconv_plain_4x4, SMR_CL_qconv_plain_1x4},
    cl_q_spread = {SMR_CL_qspread, SMR_CL_qspread_4x4, SMR_CL_qspread_1x4},
    cl_q_depthwise = {SMR_CL_qdepthwise_panel, SMR_CL_qdepthwise_1x4, SMR_CL_qdepthwise_1x4},
    cl_q_depthwise_plain = {SMR_CL_qdepthwise_plain, SMR_CL_qdepthwise_plain_1x4,
                            SMR_CL_qdepthwise_plain_1x4},
    cl_q_matmul_quads = {SMR_CL_qmatmul_panel, SMR_CL_qmatmul_quads_4x4, SMR_CL_qmatmul_quads_1x4},
    cl_q_matmul_bytes = {SMR_CL_qmatmul_panel, SMR_CL_qmatmul_bytes_4x4, SMR_CL_qmatmul_bytes_1x4},
    cl_q_matmul_any = {SMR_CL_qmatmul_any, SMR_CL_qmatmul_any_4x4, SMR_CL_qmatmul_any_1x4};

static bool cl_q_is_depthwise(const struct smr_cl_node *node) {
  return smr_cl_is(node, "qconv") && smr_cl_is_depthwise(node);
}

static bool cl_q_product_fits(const struct smr_cl_node *node, const char **why) {
  const samara_region_tensor *w = smr_cl_input(node, 1);
  if (!smr_cl_whole(smr_cl_input(node, 0), why) || w->dtype != SAMARA_QINT8) return false;
  if (smr_cl_is(node, "qmatmul"))
    return w->layout != SAMARA_LAYOUT_DWPANEL && smr_cl_sizes_fit(node, 6, why);
  if (!smr_cl_knows_weights(node, why)) return false;
  const bool depthwise = cl_q_is_depthwise(node);
  if (w->layout == SAMARA_LAYOUT_DWPANEL ? !depthwise
                                         : w->layout == SAMARA_LAYOUT_PANEL && depthwise) {
    *why = "the layout of its weights is not supported";
    return false;
  }
  if (smr_cl_is(node, "qconv_transpose") && w->layout != SAMARA_LAYOUT_PLAIN) {
    *why = "the layout of its weights is not supported";
    return false;
  }
  int64_t taps = 1;
  for (int32_t i = 1; i + 1 < w->rank; i++) taps *= w->shape[i];
  if (depthwise && (taps > CL_Q_MOST_TAPS || !SMR_HAS(cl_depthwise))) {
    *why = "depthwise windows of so many elements are not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, 5, why);
}

static const struct cl_q_kernels *cl_q_product_of(const struct smr_cl_node *node) {
  const samara_region_tensor *w = smr_cl_input(node, 1);
  const bool plain = w->layout == SAMARA_LAYOUT_PLAIN;
  const bool turned_w = smr_cl_int(node, "transpose_w") != 0;
  if (smr_cl_is(node, "qmatmul")) {
    if (plain) return &cl_q_matmul_any;
    const int64_t depth = w->shape[w->rank - (turned_w ? 1 : 2)];
    const bool quads = smr_cl_int(node, "transpose_x") == 0 && depth % 4 == 0;
    return quads ? &cl_q_matmul_quads : &cl_q_matmul_bytes;
  }
  if (smr_cl_is(node, "qconv_transpose")) return &cl_q_spread;
  if (smr_cl_is_depthwise(node)) return plain ? &cl_q_depthwise_plain : &cl_q_depthwise;
  if (plain) return &cl_q_conv_plain;
  return w->shape[w->rank - 1] % 4 == 0 ? &cl_q_conv_quads : &cl_q_conv_bytes;
}

static void cl_q_product_kernels(const struct smr_cl_node *node, bool *kernels) {
  const struct cl_q_kernels *of = cl_q_product_of(node);
  if (node->features->cpu) {
    kernels[of->large] = true;
  } else {
    kernels[of->tiles_4x4] = true;
    kernels[of->tiles_1x4] = true;
  }
}

static struct smr_cl_tile cl_q_product_tile(const struct smr_cl_node *node) {
  const struct cl_q_kernels *of = cl_q_product_of(node);
  if (node->features->cpu)
    return (struct smr_cl_tile){
        of->large, cl_q_is_depthwise(node) ? CL_Q_DEPTHWISE_ROWS : CL_Q_ROWS, CL_Q_COLS, false};
  if (of->tiles_4x4 != of->tiles_1x4 && smr_cl_is_much(node, smr_cl_numel(smr_cl_output(node, 0))))
    return (struct smr_cl_tile){of->tiles_4x4, 4, 4, true};
  return (struct smr_cl_tile){of->tiles_1x4, 1, 4, true};
}

// Requantization: a factor and a zero point of w per column.
static void cl_q_product_table(const struct smr_cl_node *node, struct smr_cl_launches *out,
                               struct smr_cl_launch *launch) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *w = smr_cl_input(node, 1);
  const samara_region_tensor *y = smr_cl_output(node, 0);
  const int64_t outputs = y->shape[y->rank - 1];
  const size_t half = (size_t)outputs * sizeof(float);
  unsigned char *table = (unsigned char *)smr_cl_table(out, launch, 3, 2 * half);
  if (table == NULL) return;
  const float scale = smr_cl_number(node, "scale");
  for (int64_t c = 0; c < outputs; c++) {
    const float product = smr_cl_scale(x, 0) * smr_cl_scale(w, c);
    const float multiplier = product / scale;
    const int32_t zero = smr_cl_zero(w, c);
    memcpy(table + (size_t)c * sizeof multiplier, &multiplier, sizeof multiplier);
    memcpy(table + half + (size_t)c * sizeof zero, &zero, sizeof zero);
  }
}

static void cl_q_product_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *y = smr_cl_output(node, 0);
  if (smr_cl_numel(y) == 0) return;
  const struct smr_cl_tile tile = cl_q_product_tile(node);
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, (enum smr_cl_kernel)tile.kernel);
  if (smr_cl_is(node, "qmatmul")) {
    smr_cl_multiply(node, launch, tile.rows);
    const int64_t batch = (int64_t)launch->items[2];
    smr_cl_set_tiles(launch, &tile, y->shape[y->rank - 2], y->shape[y->rank - 1], batch);
  } else {
    smr_cl_convolve(node, launch, cl_q_is_depthwise(node), &tile);
  }
  int32_t *q = launch->ints + 16;
  q[9] = smr_cl_zero(smr_cl_input(node, 0), 0);
  q[10] = smr_cl_input(node, 2) != NULL;
  q[12] = (int32_t)smr_cl_int(node, "zero_point");
  q[13] = y->dtype == SAMARA_INT32;
  smr_cl_limits(node, launch);
  cl_q_product_table(node, out, launch);
}

#define CL_Q(part, op) \
  SMR_CL_ROW(part, op, cl_q_product_fits, cl_q_product_kernels, cl_q_product_lower)

static const struct smr_cl_row cl_qproduct_rows[] = {
    CL_Q(qconv, qconv),
    CL_Q(qconv, qconv_transpose),
    CL_Q(qmatmul, qmatmul),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_qproduct_rows(void) { return cl_qproduct_rows; }

#undef CL_Q
