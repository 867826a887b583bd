// SPDX-License-Identifier: Apache-2.0
// Normalisations.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <string.h>

static bool cl_norm_is(const struct smr_cl_node *node, const char *op) {
  return strcmp(node->node->op, op) == 0;
}

static uint16_t cl_norm_kernel(const struct smr_cl_node *node) {
  const bool half = smr_cl_input(node, 0)->dtype == SAMARA_FLOAT16;
  if (cl_norm_is(node, "rms_norm")) return half ? SMR_CL_rms_f16 : SMR_CL_rms_f32;
  return half ? SMR_CL_norm_f16 : SMR_CL_norm_f32;
}

static bool cl_norm_fits(const struct smr_cl_node *node, const char **why) {
  const samara_region_tensor *x = smr_cl_input(node, 0);
  bool same = smr_cl_float(x->dtype) >= 0;
  for (uint32_t i = 1; i < node->node->input_count; i++) {
    const samara_region_tensor *t = smr_cl_input(node, i);
    same = same && (t == NULL || t->dtype == x->dtype);
  }
  if (!same) {
    *why = "its element types are not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, SAMARA_MAX_RANK, why);
}

static void cl_norm_kernels(const struct smr_cl_node *node, bool *kernels) {
  smr_cl_set_kernel(node, kernels, cl_norm_kernel(node));
}

static void cl_norm_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const samara_region_tensor *scale = smr_cl_input(node, 1), *bias = smr_cl_input(node, 2);
  const int64_t n = smr_cl_numel(x);
  if (n == 0) return;
  int64_t outer = 1, middle = 1, groups = 1, together = 1;
  const bool channels = cl_norm_is(node, "instance_norm") || cl_norm_is(node, "group_norm");
  if (channels) {
    const int64_t all = x->shape[x->rank - 1];
    groups = cl_norm_is(node, "group_norm") ? smr_cl_int(node, "groups") : 0;
    if (groups == 0) groups = all;
    together = all / groups;
    outer = x->shape[0];
    middle = n / outer / all;
  } else {
    const int32_t axis = smr_cl_axis(node, "axis", x->rank);
    for (int32_t i = 0; i < axis; i++) outer *= x->shape[i];
    together = n / outer;
  }
  struct smr_cl_launch *launch =
      smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_norm_kernel(node));
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 1, scale);
  smr_cl_bind(launch, 2, bias);
  smr_cl_bind(launch, 5, y);
  launch->ints[0] = (int32_t)(outer * groups);
  launch->ints[1] = (int32_t)middle;
  launch->ints[2] = (int32_t)groups;
  launch->ints[3] = (int32_t)together;
  launch->ints[4] = (scale != NULL ? 1 : 0) | (bias != NULL ? 2 : 0);
  launch->ints[5] = channels;
  launch->ints[6] = middle > together;
  launch->floats[0] = smr_cl_number(node, "eps");
  smr_cl_set_items(launch, outer * groups, 1, 1);
  smr_cl_share(node, launch, middle > together ? middle : together);
}

// ---- neighbouring channels ----

static uint16_t cl_lrn_kernel(const struct smr_cl_node *node) {
  return smr_cl_input(node, 0)->dtype == SAMARA_FLOAT16 ? SMR_CL_lrn_f16 : SMR_CL_lrn_f32;
}

static void cl_lrn_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_lrn_kernel(node)] = true;
}

static void cl_lrn_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0);
  const int64_t n = smr_cl_numel(x), size = smr_cl_int(node, "size");
  if (n == 0) return;
  struct smr_cl_launch *launch =
      smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_lrn_kernel(node));
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 5, smr_cl_output(node, 0));
  launch->ints[0] = (int32_t)n;
  launch->ints[1] = smr_cl_walkers(node, n);
  launch->ints[2] = (int32_t)x->shape[x->rank - 1];
  launch->ints[3] = (int32_t)size;
  launch->floats[0] = smr_cl_number(node, "alpha") / (float)size;
  launch->floats[1] = smr_cl_number(node, "beta");
  launch->floats[2] = smr_cl_number(node, "bias");
  smr_cl_set_items(launch, launch->ints[1], 1, 1);
}

#define CL_NORM(op) SMR_CL_ROW(norm, op, cl_norm_fits, cl_norm_kernels, cl_norm_lower)

static const struct smr_cl_row cl_norm_rows[] = {
    CL_NORM(layer_norm),
    CL_NORM(rms_norm),
    CL_NORM(instance_norm),
    CL_NORM(group_norm),
    SMR_CL_ROW(lrn, lrn, cl_norm_fits, cl_lrn_kernels, cl_lrn_lower),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_norm_rows(void) { return cl_norm_rows; }

#undef CL_NORM
