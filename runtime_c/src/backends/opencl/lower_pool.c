// SPDX-License-Identifier: Apache-2.0
// Pools.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <string.h>

static int cl_pool_kernel(const struct smr_cl_node *node) {
  const samara_dtype dtype = smr_cl_input(node, 0)->dtype;
  if (strcmp(node->node->op, "avg_pool") == 0)
    return dtype == SAMARA_FLOAT32   ? SMR_CL_avg_pool_f32
           : dtype == SAMARA_FLOAT16 ? SMR_CL_avg_pool_f16
                                     : -1;
  switch (dtype) {
    case SAMARA_FLOAT32:
      return SMR_CL_max_pool_f32;
    case SAMARA_FLOAT16:
      return SMR_CL_max_pool_f16;
    case SAMARA_INT8:
    case SAMARA_QINT8:
      return SMR_CL_max_pool_i8;
    case SAMARA_UINT8:
      return SMR_CL_max_pool_u8;
    default:
      return -1;
  }
}

static bool cl_pool_fits(const struct smr_cl_node *node, const char **why) {
  if (cl_pool_kernel(node) < 0) {
    *why = "its element type is not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, 5, why);
}

static void cl_pool_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_pool_kernel(node)] = true;
}

void smr_cl_pool(const struct smr_cl_node *node, struct smr_cl_launch *launch) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const samara_region_attribute *kernel = smr_cl_attribute(node, "kernel");
  const samara_region_attribute *strides = smr_cl_attribute(node, "strides");
  const samara_region_attribute *dilations = smr_cl_attribute(node, "dilations");
  const samara_region_attribute *pads = smr_cl_attribute(node, "pads");
  const int32_t spatial = x->rank - 2;
  const int64_t channels = x->shape[x->rank - 1];
  int32_t *p = launch->ints, *q = launch->ints + 16;
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 5, y);
  p[0] = (int32_t)channels;
  p[1] = smr_cl_walkers(node, channels);
  for (int32_t i = 0; i < 3; i++) {
    const int32_t axis = i - (3 - spatial);
    p[2 + i] = axis < 0 ? 1 : (int32_t)x->shape[1 + axis];
    p[5 + i] = axis < 0 ? 1 : (int32_t)y->shape[1 + axis];
    p[8 + i] = axis < 0 ? 1 : (int32_t)kernel->ints[axis];
    p[11 + i] = axis < 0 ? 1 : (int32_t)strides->ints[axis];
    q[i] = axis < 0 ? 1 : (int32_t)dilations->ints[axis];
    q[3 + i] = axis < 0 ? 0 : (int32_t)pads->ints[axis];
    q[6 + i] = axis < 0 ? 0 : (int32_t)pads->ints[spatial + axis];
  }
  p[15] = (int32_t)smr_cl_int(node, "count_include_pad");
  smr_cl_set_items(launch, p[1], smr_cl_numel(y) / channels, 1);
}

static void cl_pool_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  if (smr_cl_numel(smr_cl_output(node, 0)) == 0) return;
  smr_cl_pool(node, smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_pool_kernel(node)));
}

static const struct smr_cl_row cl_pool_rows[] = {
    SMR_CL_ROW(pool, max_pool, cl_pool_fits, cl_pool_kernels, cl_pool_lower),
    SMR_CL_ROW(pool, avg_pool, cl_pool_fits, cl_pool_kernels, cl_pool_lower),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_pool_rows(void) { return cl_pool_rows; }
