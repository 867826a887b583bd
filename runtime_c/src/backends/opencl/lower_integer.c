// SPDX-License-Identifier: Apache-2.0
// Operators of int8 except products, bit-exact: docs/reference/quantized-arithmetic.md.
#include "base/fp.h"

#include "backends/opencl/lower_integer.h"

#include <math.h>
#include <string.h>

int32_t smr_cl_zero(const samara_region_tensor *tensor, int64_t i) {
  if (tensor->zero_points == NULL) return 0;
  return tensor->zero_points[tensor->quant_count > 1 ? i : 0];
}

float smr_cl_scale(const samara_region_tensor *tensor, int64_t i) {
  return tensor->scales == NULL ? 1.0f : tensor->scales[tensor->quant_count > 1 ? i : 0];
}

static void cl_q_clamp(struct smr_cl_launch *launch, int64_t lo, int64_t hi, int64_t zero) {
  launch->floats[0] = (float)(lo - zero);
  launch->floats[1] = (float)(hi - zero);
}

void smr_cl_limits(const struct smr_cl_node *node, struct smr_cl_launch *launch) {
  cl_q_clamp(launch, smr_cl_int(node, "lo"), smr_cl_int(node, "hi"),
             smr_cl_int(node, "zero_point"));
}

bool smr_cl_is(const struct smr_cl_node *node, const char *op) {
  return strcmp(node->node->op, op) == 0;
}

bool smr_cl_whole(const samara_region_tensor *tensor, const char **why) {
  if (tensor == NULL || tensor->dtype != SAMARA_QINT8 || tensor->quant_count <= 1) return true;
  *why = "scales along an axis are not supported";
  return false;
}

// ---- two operands ----

static bool cl_q_binary_fits(const struct smr_cl_node *node, const char **why) {
  return smr_cl_whole(smr_cl_input(node, 0), why) && smr_cl_whole(smr_cl_input(node, 1), why) &&
         smr_cl_sizes_fit(node, SMR_CL_AXES, why);
}

static uint16_t cl_q_binary_kernel(const struct smr_cl_node *node) {
  return smr_cl_is(node, "qadd") ? SMR_CL_qadd : SMR_CL_qmul;
}

static void cl_q_binary_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_q_binary_kernel(node)] = true;
}

static void cl_q_binary_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *operands[] = {smr_cl_input(node, 0), smr_cl_input(node, 1)};
  struct smr_cl_launch *launch = smr_cl_broadcast(node, out, cl_q_binary_kernel(node), 2);
  if (launch == NULL) return;
  launch->ints[13] = smr_cl_zero(operands[0], 0);
  launch->ints[14] = smr_cl_zero(operands[1], 0);
  launch->ints[15] = (int32_t)smr_cl_int(node, "zero_point");
  smr_cl_limits(node, launch);
  if (smr_cl_is(node, "qadd")) {
    launch->ints[22] = (int32_t)smr_cl_int(node, "a_multiplier");
    launch->ints[23] = (int32_t)smr_cl_int(node, "b_multiplier");
    launch->floats[2] = ldexpf(1.0f, -(int)smr_cl_int(node, "shift"));
  } else {
    const float product = smr_cl_scale(operands[0], 0) * smr_cl_scale(operands[1], 0);
    launch->floats[2] = product / smr_cl_number(node, "scale");
  }
}

// ---- one operand ----

static int cl_q_unary_kernel(const struct smr_cl_node *node) {
  const samara_dtype dtype = smr_cl_input(node, 0)->dtype;
  if (smr_cl_is(node, "qlookup")) return SMR_CL_qlookup;
  if (smr_cl_is(node, "requantize")) return SMR_CL_requantize;
  if (smr_cl_is(node, "dequantize")) return SMR_CL_dequantize;
  if (smr_cl_is(node, "reinterpret")) return SMR_CL_reinterpret;
  return dtype == SAMARA_FLOAT32   ? SMR_CL_quantize_f32
         : dtype == SAMARA_FLOAT16 ? SMR_CL_quantize_f16
                                   : -1;
}

static bool cl_q_unary_fits(const struct smr_cl_node *node, const char **why) {
  const bool bytes = smr_cl_is(node, "reinterpret");
  if (!bytes &&
      (!smr_cl_whole(smr_cl_input(node, 0), why) || !smr_cl_whole(smr_cl_output(node, 0), why)))
    return false;
  if (cl_q_unary_kernel(node) < 0) {
    *why = "its element type is not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, SAMARA_MAX_RANK, why);
}

static void cl_q_unary_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_q_unary_kernel(node)] = true;
}

static void cl_q_unary_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  struct smr_cl_launch *launch = smr_cl_walk(node, out, (uint16_t)cl_q_unary_kernel(node));
  if (launch == NULL) return;
  smr_cl_bind(launch, 1, smr_cl_input(node, 1));
  launch->ints[2] = smr_cl_zero(x, 0);
  launch->ints[3] = smr_cl_zero(y, 0);
  cl_q_clamp(launch, -128, 127, launch->ints[3]);
  if (smr_cl_is(node, "quantize"))
    launch->floats[2] = smr_cl_scale(y, 0);
  else if (smr_cl_is(node, "dequantize"))
    launch->floats[2] = smr_cl_scale(x, 0);
  else if (smr_cl_is(node, "requantize"))
    launch->floats[2] = smr_cl_scale(x, 0) / smr_cl_scale(y, 0);
  else if (smr_cl_is(node, "reinterpret"))
    launch->ints[2] = (x->dtype == SAMARA_UINT8) == (y->dtype == SAMARA_UINT8) ? 0 : 128;
}

// ---- means and softmax ----

static bool cl_q_pool_fits(const struct smr_cl_node *node, const char **why) {
  return smr_cl_whole(smr_cl_input(node, 0), why) && smr_cl_sizes_fit(node, 5, why);
}

static void cl_q_pool_kernels(const struct smr_cl_node *node, bool *kernels) {
  (void)node;
  kernels[SMR_CL_qavg_pool] = true;
}

static void cl_q_pool_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  if (smr_cl_numel(y) == 0) return;
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, SMR_CL_qavg_pool);
  const samara_region_attribute *kernel = smr_cl_attribute(node, "kernel");
  int64_t taps = 1;
  for (uint32_t i = 0; i < kernel->count; i++) taps *= kernel->ints[i];
  smr_cl_pool(node, launch);
  launch->ints[14] = smr_cl_zero(x, 0);
  launch->ints[16 + 9] = (int32_t)smr_cl_int(node, "zero_point");
  launch->ints[16 + 10] = (int32_t)smr_cl_int(node, "dequantized");
  smr_cl_limits(node, launch);
  launch->floats[2] = smr_cl_scale(x, 0);
  launch->floats[3] = smr_cl_number(node, "scale");
  float *factors = (float *)smr_cl_table(out, launch, 1, ((size_t)taps + 1) * sizeof *factors);
  if (factors == NULL) return;
  const float ratio = smr_cl_scale(x, 0) / launch->floats[3];
  for (int64_t n = 1; n <= taps; n++) factors[n] = ratio / (float)n;
}

static bool cl_q_mean_fits(const struct smr_cl_node *node, const char **why) {
  return smr_cl_whole(smr_cl_input(node, 0), why) && smr_cl_sizes_fit(node, SMR_CL_AXES, why);
}

static void cl_q_mean_kernels(const struct smr_cl_node *node, bool *kernels) {
  (void)node;
  kernels[SMR_CL_qmean] = true;
}

static void cl_q_mean_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0);
  if (smr_cl_numel(smr_cl_output(node, 0)) == 0) return;
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, SMR_CL_qmean);
  smr_cl_reduction(node, launch);
  launch->ints[15] = smr_cl_zero(x, 0);
  launch->ints[16 + 12] = (int32_t)smr_cl_int(node, "zero_point");
  smr_cl_limits(node, launch);
  const int32_t n = launch->ints[14] < 1 ? 1 : launch->ints[14];
  const float ratio = smr_cl_scale(x, 0) / smr_cl_number(node, "scale");
  launch->floats[2] = ratio / (float)n;
}

static bool cl_q_softmax_fits(const struct smr_cl_node *node, const char **why) {
  if (smr_cl_input(node, 0)->rank == 0) {
    *why = "it has no axes";
    return false;
  }
  return smr_cl_whole(smr_cl_input(node, 0), why) && smr_cl_sizes_fit(node, SAMARA_MAX_RANK, why);
}

static void cl_q_softmax_kernels(const struct smr_cl_node *node, bool *kernels) {
  (void)node;
  kernels[SMR_CL_qsoftmax] = true;
}

static void cl_q_softmax_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const int32_t axis = smr_cl_axis(node, "axis", x->rank);
  if (smr_cl_numel(y) == 0) return;
  int64_t inner = 1, outer = 1;
  for (int32_t i = 0; i < axis; i++) outer *= x->shape[i];
  for (int32_t i = axis + 1; i < x->rank; i++) inner *= x->shape[i];
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, SMR_CL_qsoftmax);
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 1, smr_cl_input(node, 1));
  smr_cl_bind(launch, 5, y);
  launch->ints[0] = (int32_t)(outer * inner);
  launch->ints[1] = (int32_t)x->shape[axis];
  launch->ints[2] = (int32_t)inner;
  smr_cl_set_items(launch, outer * inner, 1, 1);
}

// ---- normalisation ----

static bool cl_q_norm_fits(const struct smr_cl_node *node, const char **why) {
  return smr_cl_whole(smr_cl_input(node, 0), why) && smr_cl_sizes_fit(node, SAMARA_MAX_RANK, why);
}

static enum smr_cl_kernel cl_q_norm_kernel(const struct smr_cl_node *node) {
  return smr_cl_is(node, "qlayer_norm") ? SMR_CL_qlayer_norm : SMR_CL_qrms_norm;
}

static void cl_q_norm_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_q_norm_kernel(node)] = true;
}

static void cl_q_norm_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *bias = smr_cl_input(node, 2);
  const int32_t axis = smr_cl_axis(node, "axis", x->rank);
  if (smr_cl_numel(x) == 0) return;
  int64_t rows = 1, n = 1;
  for (int32_t i = 0; i < x->rank; i++) *(i < axis ? &rows : &n) *= x->shape[i];
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, cl_q_norm_kernel(node));
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 1, smr_cl_input(node, 1));
  smr_cl_bind(launch, 2, bias);
  smr_cl_bind(launch, 5, smr_cl_output(node, 0));
  launch->ints[0] = (int32_t)rows;
  launch->ints[1] = (int32_t)n;
  launch->ints[2] = smr_cl_zero(x, 0);
  launch->ints[3] = (int32_t)smr_cl_int(node, "zero_point");
  launch->ints[4] = bias != NULL;
  smr_cl_limits(node, launch);
  launch->floats[2] = smr_cl_number(node, "eps");
  smr_cl_set_items(launch, rows, 1, 1);
}

// ---- resizing ----

enum { CL_Q_WHOLE_WEIGHT = 2048 };  // weight 1.0 of a tap

// Whether the taps of an axis of `size` elements are constant and in range.
static bool cl_q_taps_fit(const samara_region_tensor *taps, const samara_region_tensor *x,
                          int32_t axis, const char **why) {
  // An index out of range is an error, which kernels cannot report.
  *why = "taps that are not constant are checked on the CPU";
  if (taps->data == NULL || x->shape[axis] < 0 || (x->symbolic >> axis & 1)) return false;
  const int32_t *tap = (const int32_t *)taps->data;
  *why = "a tap is out of range";
  for (int64_t i = 0; i < taps->shape[0]; i++, tap += 3)
    if (tap[0] < 0 || tap[0] >= x->shape[axis] || tap[1] < 0 || tap[1] >= x->shape[axis] ||
        tap[2] < 0 || tap[2] > CL_Q_WHOLE_WEIGHT)
      return false;
  return true;
}

static bool cl_q_resize_fits(const struct smr_cl_node *node, const char **why) {
  const samara_region_tensor *x = smr_cl_input(node, 0);
  for (uint32_t i = 1; i < node->node->input_count; i++)
    if (smr_cl_input(node, i) != NULL && !cl_q_taps_fit(smr_cl_input(node, i), x, (int32_t)i, why))
      return false;
  return smr_cl_whole(x, why) && smr_cl_sizes_fit(node, 4, why);
}

static void cl_q_resize_kernels(const struct smr_cl_node *node, bool *kernels) {
  (void)node;
  kernels[SMR_CL_qresize] = true;
}

static void cl_q_resize_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const bool planes = smr_cl_input(node, 2) != NULL;
  const int64_t channels = x->shape[x->rank - 1];
  if (smr_cl_numel(y) == 0) return;
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, SMR_CL_qresize);
  for (uint32_t i = 0; i < 3; i++) smr_cl_bind(launch, i, smr_cl_input(node, i));
  smr_cl_bind(launch, 5, y);
  int32_t *p = launch->ints;
  p[0] = (int32_t)channels;
  p[1] = smr_cl_walkers(node, channels);
  p[2] = planes ? (int32_t)x->shape[1] : 1;
  p[3] = (int32_t)x->shape[x->rank - 2];
  p[4] = planes ? (int32_t)y->shape[1] : 1;
  p[5] = (int32_t)y->shape[y->rank - 2];
  p[6] = smr_cl_zero(x, 0);
  p[7] = (int32_t)smr_cl_int(node, "zero_point");
  p[8] = planes;
  smr_cl_limits(node, launch);
  const float ratio = smr_cl_scale(x, 0) / smr_cl_number(node, "scale");
  launch->floats[2] = ratio * ldexpf(1.0f, planes ? -22 : -11);
  smr_cl_set_items(launch, p[1], smr_cl_numel(y) / channels, 1);
}

#define CL_Q(part, op, family) \
  SMR_CL_ROW(part, op, cl_q_##family##_fits, cl_q_##family##_kernels, cl_q_##family##_lower)

static const struct smr_cl_row cl_integer_rows[] = {
    CL_Q(binary, qadd, binary),       CL_Q(binary, qmul, binary),
    CL_Q(qunary, qlookup, unary),     CL_Q(qunary, quantize, unary),
    CL_Q(qunary, dequantize, unary),  CL_Q(qunary, requantize, unary),
    CL_Q(qunary, reinterpret, unary), CL_Q(pool, qavg_pool, pool),
    CL_Q(reduce, qmean, mean),        CL_Q(qsoftmax, qsoftmax, softmax),
    CL_Q(qnorm, qlayer_norm, norm),   CL_Q(qnorm, qrms_norm, norm),
    CL_Q(qresize, qresize, resize),   {.op = NULL},
};

const struct smr_cl_row *smr_cl_integer_rows(void) { return cl_integer_rows; }

#undef CL_Q
