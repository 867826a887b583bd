// SPDX-License-Identifier: Apache-2.0
// Reductions, arg-min and arg-max, softmax, running sums.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <string.h>

struct cl_reducer {
  const char *op;
  int16_t kernels[4];  // for float32, float16, int32, int64; -1: none
};

static const struct cl_reducer cl_reducers[] = {
    {"reduce_sum",
     {SMR_CL_reduce_sum_f32, SMR_CL_reduce_sum_f16, SMR_CL_reduce_sum_i32, SMR_CL_reduce_sum_i64}},
    {"sum_to",
     {SMR_CL_reduce_sum_f32, SMR_CL_reduce_sum_f16, SMR_CL_reduce_sum_i32, SMR_CL_reduce_sum_i64}},
    {"reduce_mean", {SMR_CL_reduce_mean_f32, SMR_CL_reduce_mean_f16, -1, -1}},
    {"reduce_prod", {SMR_CL_reduce_prod_f32, SMR_CL_reduce_prod_f16, -1, -1}},
    {"reduce_max",
     {SMR_CL_reduce_max_f32, SMR_CL_reduce_max_f16, SMR_CL_reduce_max_i32, SMR_CL_reduce_max_i64}},
    {"reduce_min",
     {SMR_CL_reduce_min_f32, SMR_CL_reduce_min_f16, SMR_CL_reduce_min_i32, SMR_CL_reduce_min_i64}},
    {"argmax", {SMR_CL_argmax_f32, SMR_CL_argmax_f16, SMR_CL_argmax_i32, SMR_CL_argmax_i64}},
    {"argmin", {SMR_CL_argmin_f32, SMR_CL_argmin_f16, SMR_CL_argmin_i32, SMR_CL_argmin_i64}},
    {"cumsum", {SMR_CL_cumsum_f32, SMR_CL_cumsum_f16, SMR_CL_cumsum_32, SMR_CL_cumsum_64}},
    {"softmax", {SMR_CL_softmax_f32, SMR_CL_softmax_f16, -1, -1}},
    {"log_softmax", {SMR_CL_log_softmax_f32, SMR_CL_log_softmax_f16, -1, -1}},
};

static int32_t cl_reduce_kernel(const struct smr_cl_node *node) {
  samara_dtype dtype = smr_cl_input(node, 0)->dtype;
  if (strcmp(node->node->op, "cumsum") == 0) {  // signed and unsigned sums wrap to the same bits
    if (dtype == SAMARA_UINT32) dtype = SAMARA_INT32;
    if (dtype == SAMARA_UINT64) dtype = SAMARA_INT64;
  }
  const int type = dtype == SAMARA_FLOAT32   ? 0
                   : dtype == SAMARA_FLOAT16 ? 1
                   : dtype == SAMARA_INT32   ? 2
                   : dtype == SAMARA_INT64   ? 3
                                             : -1;
  for (size_t i = 0; i < sizeof cl_reducers / sizeof *cl_reducers && type >= 0; i++)
    if (strcmp(cl_reducers[i].op, node->node->op) == 0) return cl_reducers[i].kernels[type];
  return -1;
}

static bool cl_reduce_fits(const struct smr_cl_node *node, const char **why) {
  if (cl_reduce_kernel(node) < 0) {
    *why = "its element type is not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, SMR_CL_AXES, why);
}

static void cl_reduce_kernels(const struct smr_cl_node *node, bool *kernels) {
  smr_cl_set_kernel(node, kernels, (uint16_t)cl_reduce_kernel(node));
}

void smr_cl_reduction(const struct smr_cl_node *node, struct smr_cl_launch *launch) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const samara_region_attribute *axes = smr_cl_attribute(node, "axes");
  int64_t strides[SAMARA_MAX_RANK];
  uint32_t goes = 0;
  for (uint32_t i = 0; axes != NULL && i < axes->count; i++)
    goes |= 1u << (axes->ints[i] < 0 ? axes->ints[i] + x->rank : axes->ints[i]);
  // sum_to has the output's shape, right-aligned, instead of axes.
  for (int32_t i = 0; axes == NULL && i < x->rank; i++) {
    const int32_t own = i - (x->rank - y->rank);
    if (own < 0 || y->shape[own] != x->shape[i]) goes |= 1u << i;
  }
  smr_cl_strides(x, x->rank, strides);
  struct smr_cl_box boxes[2] = {{.operands = 1}, {.operands = 1}};  // kept axes, reduced axes
  for (int32_t i = 0; i < x->rank; i++) {
    struct smr_cl_box *box = &boxes[goes >> i & 1];
    box->dims[box->rank] = x->shape[i];
    box->strides[0][box->rank++] = strides[i];
  }
  int64_t n = 1;
  for (int32_t i = 0; i < boxes[1].rank; i++) n *= boxes[1].dims[i];
  for (int32_t k = 0; k < 2; k++) {
    int32_t *ints = launch->ints + (k == 0 ? 2 : 16);
    smr_cl_box_join(&boxes[k]);
    for (int32_t i = 0; i < SMR_CL_AXES; i++) {
      ints[i] = (int32_t)boxes[k].dims[i];
      ints[SMR_CL_AXES + i] = (int32_t)boxes[k].strides[0][i];
    }
  }
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 5, y);
  const int64_t outputs = smr_cl_numel(y);
  // One item per output, because an item has the work of many elements.
  launch->ints[0] = (int32_t)outputs;
  launch->ints[1] = (int32_t)(outputs < 1 << 20 ? outputs : 1 << 20);
  launch->ints[14] = (int32_t)n;
  smr_cl_set_items(launch, launch->ints[1], 1, 1);
}

static void cl_reduce_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  if (smr_cl_numel(smr_cl_output(node, 0)) == 0) return;
  struct smr_cl_launch *launch =
      smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_reduce_kernel(node));
  smr_cl_reduction(node, launch);
  smr_cl_share(node, launch, launch->ints[16 + SMR_CL_AXES - 1]);
}

// ---- along one axis ----

static void cl_along_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const int32_t axis = smr_cl_axis(node, "axis", x->rank);
  if (smr_cl_numel(y) == 0) return;
  int64_t inner = 1, outer = 1;
  for (int32_t i = 0; i < axis; i++) outer *= x->shape[i];
  for (int32_t i = axis + 1; i < x->rank; i++) inner *= x->shape[i];
  struct smr_cl_launch *launch =
      smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_reduce_kernel(node));
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 5, y);
  launch->ints[0] = (int32_t)(outer * inner);
  launch->ints[1] = (int32_t)(x->rank == 0 ? 1 : x->shape[axis]);
  launch->ints[2] = (int32_t)inner;
  const bool sums = strcmp(node->node->op, "cumsum") == 0;
  launch->ints[3] = (int32_t)smr_cl_int(node, sums ? "exclusive" : "select_last");
  launch->ints[4] = (int32_t)smr_cl_int(node, "reverse");
  smr_cl_set_items(launch, outer * inner, 1, 1);
  smr_cl_share(node, launch, launch->ints[1]);
}

static bool cl_softmax_fits(const struct smr_cl_node *node, const char **why) {
  if (smr_cl_input(node, 0)->rank == 0) {
    *why = "it has no axes";
    return false;
  }
  return cl_reduce_fits(node, why);
}

#define CL_REDUCE(op) SMR_CL_ROW(reduce, op, cl_reduce_fits, cl_reduce_kernels, cl_reduce_lower)
#define CL_ALONG(part, op) SMR_CL_ROW(part, op, cl_softmax_fits, cl_reduce_kernels, cl_along_lower)

static const struct smr_cl_row cl_reduce_rows[] = {
    CL_REDUCE(sum_to),          CL_REDUCE(reduce_sum),
    CL_REDUCE(reduce_mean),     CL_REDUCE(reduce_prod),
    CL_REDUCE(reduce_max),      CL_REDUCE(reduce_min),
    CL_ALONG(argmax, argmax),   CL_ALONG(argmax, argmin),
    CL_ALONG(softmax, softmax), CL_ALONG(softmax, log_softmax),
    CL_ALONG(cumsum, cumsum),   {.op = NULL},
};

const struct smr_cl_row *smr_cl_reduce_rows(void) { return cl_reduce_rows; }

#undef CL_REDUCE
#undef CL_ALONG
