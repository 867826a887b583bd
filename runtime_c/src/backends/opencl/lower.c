// SPDX-License-Identifier: Apache-2.0
// Code shared by the operators' rows.
#include "base/fp.h"

#include "backends/opencl/driver.h"
#include "backends/opencl/lower.h"

#include <string.h>

size_t smr_cl_element(samara_dtype dtype) {
  switch (dtype) {
    case SAMARA_INT8:
    case SAMARA_QINT8:
    case SAMARA_UINT8:
    case SAMARA_BOOL:
      return 1;
    case SAMARA_FLOAT16:
    case SAMARA_BFLOAT16:
    case SAMARA_INT16:
    case SAMARA_UINT16:
      return 2;
    case SAMARA_FLOAT32:
    case SAMARA_INT32:
    case SAMARA_UINT32:
      return 4;
    case SAMARA_INT64:
    case SAMARA_FLOAT64:
    case SAMARA_UINT64:
      return 8;
    default:
      return 0;
  }
}

int smr_cl_float(samara_dtype dtype) {
  return dtype == SAMARA_FLOAT32 ? 0 : dtype == SAMARA_FLOAT16 ? 1 : -1;
}

static bool cl_tensor_fits(const samara_region_tensor *tensor, int32_t rank, const char **why) {
  if (tensor == NULL) return true;
  int64_t n = 1;
  for (int32_t i = 0; i < tensor->rank; i++) {
    const int64_t dim = tensor->shape[i] < 0 ? 1 : tensor->shape[i];
    if (dim > INT32_MAX || n * dim > INT32_MAX) {
      *why = "tensors of 2^31 elements are not supported";
      return false;
    }
    n *= dim;
  }
  if (tensor->rank > rank) {
    *why = "so many axes are not supported";
    return false;
  }
  return true;
}

bool smr_cl_sizes_fit(const struct smr_cl_node *node, int32_t rank, const char **why) {
  for (uint32_t i = 0; i < node->node->input_count; i++)
    if (!cl_tensor_fits(smr_cl_input(node, i), rank, why)) return false;
  for (uint32_t i = 0; i < node->node->output_count; i++)
    if (!cl_tensor_fits(smr_cl_output(node, i), rank, why)) return false;
  return true;
}

static bool cl_is_plain(const samara_region_tensor *tensor, const char **why) {
  if (tensor == NULL ||
      (tensor->layout == SAMARA_LAYOUT_PLAIN && smr_cl_element(tensor->dtype) != 0))
    return true;
  *why = "packed elements are not supported";
  return false;
}

bool smr_cl_plain(const struct smr_cl_node *node, const char **why) {
  for (uint32_t i = 0; i < node->node->input_count; i++)
    if (!cl_is_plain(smr_cl_input(node, i), why)) return false;
  for (uint32_t i = 0; i < node->node->output_count; i++)
    if (!cl_is_plain(smr_cl_output(node, i), why)) return false;
  return true;
}

int64_t smr_cl_int(const struct smr_cl_node *node, const char *name) {
  const samara_region_attribute *attribute = smr_cl_attribute(node, name);
  return attribute == NULL ? 0 : attribute->i;
}

float smr_cl_number(const struct smr_cl_node *node, const char *name) {
  const samara_region_attribute *attribute = smr_cl_attribute(node, name);
  return attribute == NULL ? 0.0f : attribute->f;
}

int32_t smr_cl_axis(const struct smr_cl_node *node, const char *name, int32_t rank) {
  const int32_t axis = (int32_t)smr_cl_int(node, name);
  return axis < 0 ? axis + rank : axis;
}

bool smr_cl_all(const struct smr_cl_node *node, const char *name, int64_t value) {
  const samara_region_attribute *attribute = smr_cl_attribute(node, name);
  if (attribute == NULL || attribute->symbolic) return false;
  for (uint32_t i = 0; i < attribute->count; i++)
    if (attribute->ints[i] != value) return false;
  return true;
}

void smr_cl_strides(const samara_region_tensor *tensor, int32_t rank, int64_t *strides) {
  int64_t stride = 1;
  for (int32_t i = rank; i-- > 0;) {
    const int32_t own = i - (rank - tensor->rank);
    const int64_t dim = own < 0 ? 1 : tensor->shape[own];
    strides[i] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
}

void smr_cl_box_of(struct smr_cl_box *box, const samara_region_tensor *y,
                   const samara_region_tensor *const *operands, int32_t count) {
  memset(box, 0, sizeof *box);
  box->rank = y->rank;
  box->operands = count;
  for (int32_t i = 0; i < y->rank; i++) box->dims[i] = y->shape[i];
  for (int32_t i = 0; i < count; i++) smr_cl_strides(operands[i], y->rank, box->strides[i]);
}

void smr_cl_box_join(struct smr_cl_box *box) {
  struct smr_cl_box joined = {.rank = SMR_CL_AXES, .operands = box->operands};
  int32_t at = SMR_CL_AXES;  // the axis that was filled last
  for (int32_t i = 0; i < SMR_CL_AXES; i++) joined.dims[i] = 1;
  for (int32_t i = box->rank; i-- > 0;) {
    if (box->dims[i] == 1) continue;
    bool behind = at < SMR_CL_AXES;
    for (int32_t k = 0; k < box->operands && behind; k++)
      behind = box->strides[k][i] == joined.strides[k][at] * joined.dims[at];
    if (behind) {
      joined.dims[at] *= box->dims[i];
      continue;
    }
    if (at == 0) return;  // excluded by fits()
    joined.dims[--at] = box->dims[i];
    for (int32_t k = 0; k < box->operands; k++) joined.strides[k][at] = box->strides[k][i];
  }
  *box = joined;
}

int32_t smr_cl_walkers(const struct smr_cl_node *node, int64_t n) {
  // On a CPU an item processes at least 16 elements, because starting an item costs as much as an
  // element. Items come in groups of 16, which CPUs vectorize.
  const int64_t least = n < 16 ? n : 16;
  int64_t items = node->features->cpu ? n / 16 : n;
  if (items < least) items = least;
  if (items > 1 << 20) items = 1 << 20;
  return (int32_t)((items + 15) / 16 * 16);
}

void smr_cl_set_items(struct smr_cl_launch *launch, int64_t a, int64_t b, int64_t c) {
  launch->dims = 3;
  launch->items[0] = (size_t)a;
  launch->items[1] = (size_t)b;
  launch->items[2] = (size_t)c;
}

bool smr_cl_is_much(const struct smr_cl_node *node, int64_t outputs) {
  enum { TILE = 4 * 4, ITEMS = 512, UNITS = 16 };  // items per unit; units if unknown
  const int64_t units = node->features->units != 0 ? node->features->units : UNITS;
  return outputs / TILE >= units * ITEMS;
}

// Whether the next kernel (with subgroups) may replace this one. Its sums depend on the number of
// lanes.
static bool cl_may_share(const struct smr_cl_node *node, uint16_t kernel) {
  return kernel < SMR_CL_KERNELS && smr_cl_shares(&smr_cl_texts[kernel + 1]) &&
         !node->features->cpu && !node->region->strict &&
         SMR_ATOMIC_LOAD(&node->features->subgroups);
}

void smr_cl_set_kernel(const struct smr_cl_node *node, bool *kernels, uint16_t kernel) {
  kernels[kernel] = true;
  if (cl_may_share(node, kernel)) kernels[kernel + 1] = true;
}

void smr_cl_share(const struct smr_cl_node *node, struct smr_cl_launch *launch, int64_t n) {
  enum { TILE = 4 * 4, SHORTEST = 2 * SMR_CL_GROUP, LONGEST = 1 << 30 };
  const int64_t items = (int64_t)(launch->items[0] * launch->items[1] * launch->items[2]);
  if (!cl_may_share(node, launch->kernel) || n < SHORTEST || n > LONGEST ||
      smr_cl_is_much(node, items * TILE))
    return;
  launch->kernel++;
  launch->grouped = true;
  launch->group = SMR_CL_GROUP;
  launch->items[0] *= SMR_CL_GROUP;
}

bool smr_cl_stays(const struct smr_cl_node *node) {
  enum { KEPT_BYTES = 512 << 10 };
  return smr_cl_input(node, 1)->size_bytes <= KEPT_BYTES;
}

// PoCL keeps the variables of all items of a work-group on one stack, which a few thousand large
// tiles overflow.
static void cl_bound_group(struct smr_cl_launch *launch, const struct smr_cl_tile *tile) {
  enum { LARGE = 64, MANY = 2048, MOST = 64 };
  const size_t items = launch->items[0];
  if (tile->rows * tile->columns < LARGE || items * launch->items[1] <= MANY) return;
  for (launch->group = 1; launch->group < MOST && items % (launch->group * 2u) == 0;)
    launch->group = (uint8_t)(launch->group * 2);
}

void smr_cl_set_tiles(struct smr_cl_launch *launch, const struct smr_cl_tile *tile, int64_t rows,
                      int64_t columns, int64_t batch) {
  const int64_t down = (rows + tile->rows - 1) / tile->rows;
  const int64_t across = (columns + tile->columns - 1) / tile->columns;
  launch->ints[16 + 15] = tile->turned;
  smr_cl_set_items(launch, tile->turned ? across : down, tile->turned ? down : across, batch);
  cl_bound_group(launch, tile);
}

void smr_cl_box_turn(const struct smr_cl_node *node, struct smr_cl_box *box) {
  enum { LAST = SMR_CL_AXES - 1, SHORT = 16 };
  int32_t longest = LAST;
  if (!node->features->cpu || box->dims[LAST] >= SHORT) return;
  for (int32_t i = 0; i < LAST; i++)
    if (box->dims[i] > box->dims[longest]) longest = i;
  const int64_t dim = box->dims[LAST];
  box->dims[LAST] = box->dims[longest];
  box->dims[longest] = dim;
  for (int32_t k = 0; k < box->operands; k++) {
    const int64_t stride = box->strides[k][LAST];
    box->strides[k][LAST] = box->strides[k][longest];
    box->strides[k][longest] = stride;
  }
}

void smr_cl_rows_of(const struct smr_cl_node *node, struct smr_cl_launch *launch,
                    const struct smr_cl_box *box) {
  int64_t rows = 1;
  for (int32_t i = 0; i < 5; i++) {
    launch->ints[2 + i] = (int32_t)box->dims[i];
    rows *= box->dims[i];
  }
  launch->ints[0] = (int32_t)box->dims[5];
  launch->ints[1] = smr_cl_walkers(node, box->dims[5]);
  smr_cl_set_items(launch, launch->ints[1], rows, 1);
}

void smr_cl_put_strides(struct smr_cl_launch *launch, const struct smr_cl_box *box, int32_t operand,
                        int32_t first, int32_t along) {
  for (int32_t i = 0; i < 5; i++) launch->ints[first + i] = (int32_t)box->strides[operand][i];
  launch->ints[along] = (int32_t)box->strides[operand][5];
}

struct smr_cl_launch *smr_cl_walk(const struct smr_cl_node *node, struct smr_cl_launches *out,
                                  uint16_t kernel) {
  const int64_t n = smr_cl_numel(smr_cl_output(node, 0));
  if (n == 0) return NULL;
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, (enum smr_cl_kernel)kernel);
  smr_cl_bind(launch, 0, smr_cl_input(node, 0));
  smr_cl_bind(launch, 5, smr_cl_output(node, 0));
  launch->ints[0] = (int32_t)n;
  launch->ints[1] = smr_cl_walkers(node, n);
  smr_cl_set_items(launch, launch->ints[1], 1, 1);
  return launch;
}

struct smr_cl_launch *smr_cl_broadcast(const struct smr_cl_node *node, struct smr_cl_launches *out,
                                       uint16_t kernel, int32_t count) {
  static const int32_t first[SMR_CL_OPERANDS] = {7, 16, 22}, along[SMR_CL_OPERANDS] = {12, 21, 27};
  const samara_region_tensor *y = smr_cl_output(node, 0), *operands[SMR_CL_OPERANDS] = {NULL};
  struct smr_cl_box box;
  if (smr_cl_numel(y) == 0) return NULL;
  for (int32_t i = 0; i < count; i++) operands[i] = smr_cl_input(node, (uint32_t)i);
  smr_cl_box_of(&box, y, operands, count);
  smr_cl_box_join(&box);
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, (enum smr_cl_kernel)kernel);
  smr_cl_bind(launch, 5, y);
  smr_cl_rows_of(node, launch, &box);
  for (int32_t i = 0; i < count; i++) {
    smr_cl_bind(launch, (uint32_t)i, operands[i]);
    smr_cl_put_strides(launch, &box, i, first[i], along[i]);
  }
  return launch;
}
