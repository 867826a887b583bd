// SPDX-License-Identifier: Apache-2.0
// Attention.
#include "base/fp.h"

#include "backends/opencl/lower.h"

enum { CL_ATTENTION_COLUMNS = 128 };  // columns per item

static bool cl_attention_fits(const struct smr_cl_node *node, const char **why) {
  const samara_region_tensor *q = smr_cl_input(node, 0), *mask = smr_cl_input(node, 3);
  if (smr_cl_float(q->dtype) < 0 || (mask != NULL && mask->dtype != q->dtype)) {
    *why = "its element types are not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, 5, why);
}

static uint16_t cl_attention_kernel(const struct smr_cl_node *node) {
  return smr_cl_input(node, 0)->dtype == SAMARA_FLOAT16 ? SMR_CL_attention_f16
                                                        : SMR_CL_attention_f32;
}

static void cl_attention_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_attention_kernel(node)] = true;
}

// Set the strides of an operand by batch, head and row.
static void cl_attention_strides(const samara_region_tensor *t, bool rows_first, int32_t *batch,
                                 int32_t *head, int32_t *row) {
  const int64_t last = t->shape[t->rank - 1], above = t->shape[t->rank - 2];
  const int64_t third = t->rank > 2 ? t->shape[t->rank - 3] : 1;
  *batch = (int32_t)(third * above * last);
  *head = (int32_t)(rows_first ? last : above * last);
  *row = (int32_t)(rows_first ? above * last : last);
}

static void cl_attention_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *q = smr_cl_input(node, 0), *k = smr_cl_input(node, 1);
  const samara_region_tensor *v = smr_cl_input(node, 2), *mask = smr_cl_input(node, 3);
  const samara_region_tensor *y = smr_cl_output(node, 0);
  const bool rows_first = smr_cl_int(node, "layout") == 1;
  if (smr_cl_numel(y) == 0) return;
  struct smr_cl_launch *launch =
      smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_attention_kernel(node));
  int32_t *p = launch->ints, *s = launch->ints + 16;
  const int32_t row_axis = q->rank - (rows_first ? 3 : 2),
                head_axis = q->rank - (rows_first ? 2 : 3);
  const int64_t heads = head_axis < 0 ? 1 : q->shape[head_axis], rows = q->shape[row_axis];
  const int64_t columns = v->shape[v->rank - 1];
  int64_t batches = 1;
  for (int32_t i = 0; i < q->rank - 3; i++) batches *= q->shape[i];
  for (uint32_t i = 0; i < 4; i++) smr_cl_bind(launch, i, smr_cl_input(node, i));
  smr_cl_bind(launch, 5, y);
  p[0] = (int32_t)rows;
  p[1] = (int32_t)k->shape[row_axis];
  p[2] = (int32_t)q->shape[q->rank - 1];
  p[3] = (int32_t)columns;
  p[4] = (int32_t)heads;
  cl_attention_strides(q, rows_first, &p[5], &p[6], &p[7]);
  cl_attention_strides(k, rows_first, &p[8], &p[9], &p[10]);
  cl_attention_strides(v, rows_first, &p[11], &p[12], &p[13]);
  cl_attention_strides(y, rows_first, &p[14], &p[15], &s[0]);
  s[1] = (int32_t)smr_cl_int(node, "causal");
  s[2] = mask != NULL;
  s[3] = smr_cl_int(node, "align") == 1 ? p[1] - p[0] : 0;
  s[9] = (int32_t)(q->rank > 3 ? q->shape[q->rank - 4] : 1);
  const int64_t window = smr_cl_int(node, "window");
  s[10] = window > 0 && window < INT32_MAX ? (int32_t)window : INT32_MAX;
  const int64_t groups = smr_cl_int(node, "groups");
  s[11] = groups > 0 ? (int32_t)groups : 1;
  if (mask != NULL) {
    int64_t strides[5];
    smr_cl_strides(mask, 5, strides);
    for (int32_t i = 0; i < 5; i++) s[4 + i] = (int32_t)strides[i];
  }
  launch->floats[0] = smr_cl_number(node, "scale");
  smr_cl_set_items(launch, rows, batches * heads,
                   (columns + CL_ATTENTION_COLUMNS - 1) / CL_ATTENTION_COLUMNS);
}

static const struct smr_cl_row cl_attention_rows[] = {
    SMR_CL_ROW(attention, attention, cl_attention_fits, cl_attention_kernels, cl_attention_lower),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_attention_rows(void) { return cl_attention_rows; }
