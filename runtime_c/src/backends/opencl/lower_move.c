// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <math.h>
#include <string.h>

static uint16_t cl_raster(const struct smr_cl_node *node) {
  const size_t size = smr_cl_element(smr_cl_output(node, 0)->dtype);
  return size == 1   ? SMR_CL_raster_1
         : size == 2 ? SMR_CL_raster_2
         : size == 4 ? SMR_CL_raster_4
                     : SMR_CL_raster_8;
}

static bool cl_move_fits(const struct smr_cl_node *node, const char **why) {
  return smr_cl_sizes_fit(node, SMR_CL_AXES, why) && smr_cl_plain(node, why);
}

static bool cl_copy_fits(const struct smr_cl_node *node, const char **why) {
  const samara_dtype from = smr_cl_input(node, 0)->dtype, to = smr_cl_output(node, 0)->dtype;
  if (to == SAMARA_BOOL && from != SAMARA_BOOL) {
    *why = "bits that become bools are not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, SAMARA_MAX_RANK, why) && smr_cl_plain(node, why);
}

static void cl_move_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_raster(node)] = true;
}

// Copy the box from x (operand 0) at element `from` to y (operand 1) at element `to`.
static void cl_move_box(const struct smr_cl_node *node, struct smr_cl_launches *out,
                        const samara_region_tensor *x, const samara_region_tensor *y,
                        const struct smr_cl_box *whole, int64_t from, int64_t to) {
  struct smr_cl_box box = *whole;
  for (int32_t i = 0; i < box.rank; i++)
    if (box.dims[i] == 0) return;
  smr_cl_box_join(&box);
  smr_cl_box_turn(node, &box);
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_raster(node));
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 5, y);
  smr_cl_rows_of(node, launch, &box);
  smr_cl_put_strides(launch, &box, 0, 7, 12);
  smr_cl_put_strides(launch, &box, 1, 16, 21);
  launch->ints[13] = (int32_t)from;
  launch->ints[14] = (int32_t)to;
}

// The box with the dims of y, and its strides as operand 1.
static void cl_move_begin(struct smr_cl_box *box, const samara_region_tensor *y) {
  memset(box, 0, sizeof *box);
  box->rank = y->rank;
  box->operands = 2;
  for (int32_t i = 0; i < y->rank; i++) box->dims[i] = y->shape[i];
  smr_cl_strides(y, y->rank, box->strides[1]);
}

// Strides that are not 0 for axes of size 1, as needed for slicing.
static void cl_move_dense(const samara_region_tensor *tensor, int64_t *strides) {
  int64_t stride = 1;
  for (int32_t i = tensor->rank; i-- > 0; stride *= tensor->shape[i]) strides[i] = stride;
}

static void cl_copy_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  if (x->memory == y->memory && x->offset_bytes == y->offset_bytes && x->data == NULL) return;
  struct smr_cl_box box = {
      .rank = 1, .operands = 2, .dims = {smr_cl_numel(y)}, .strides = {{1}, {1}}};
  cl_move_box(node, out, x, y, &box, 0, 0);
}

static void cl_transpose_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const samara_region_attribute *perm = smr_cl_attribute(node, "perm");
  struct smr_cl_box box;
  int64_t strides[SAMARA_MAX_RANK];
  cl_move_begin(&box, y);
  cl_move_dense(x, strides);
  for (int32_t i = 0; i < y->rank; i++) box.strides[0][i] = strides[perm->ints[i]];
  cl_move_box(node, out, x, y, &box, 0, 0);
}

static void cl_concat_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *y = smr_cl_output(node, 0);
  const int32_t axis = smr_cl_axis(node, "axis", y->rank);
  int64_t strides[SAMARA_MAX_RANK], at = 0;
  cl_move_dense(y, strides);
  for (uint32_t k = 0; k < node->node->input_count; k++) {
    const samara_region_tensor *x = smr_cl_input(node, k);
    struct smr_cl_box box = {.rank = y->rank, .operands = 2};
    for (int32_t i = 0; i < y->rank; i++) {
      box.dims[i] = x->shape[i];
      box.strides[1][i] = strides[i];
    }
    cl_move_dense(x, box.strides[0]);
    cl_move_box(node, out, x, y, &box, 0, at * strides[axis]);
    at += x->shape[axis];
  }
}

static void cl_split_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0);
  const int32_t axis = smr_cl_axis(node, "axis", x->rank);
  int64_t strides[SAMARA_MAX_RANK], at = 0;
  cl_move_dense(x, strides);
  for (uint32_t k = 0; k < node->node->output_count; k++) {
    const samara_region_tensor *y = smr_cl_output(node, k);
    if (y == NULL) continue;
    struct smr_cl_box box = {.rank = x->rank, .operands = 2};
    for (int32_t i = 0; i < x->rank; i++) {
      box.dims[i] = y->shape[i];
      box.strides[0][i] = strides[i];
    }
    cl_move_dense(y, box.strides[1]);
    cl_move_box(node, out, x, y, &box, at * strides[axis], 0);
    at += y->shape[axis];
  }
}

static bool cl_split_fits(const struct smr_cl_node *node, const char **why) {
  for (uint32_t i = 0; i < node->node->output_count; i++)
    if (smr_cl_output(node, i) == NULL) {
      *why = "an output that is left out is not supported";
      return false;
    }
  return cl_move_fits(node, why);
}

static void cl_slice_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const samara_region_attribute *begin = smr_cl_attribute(node, "begin");
  const samara_region_attribute *step = smr_cl_attribute(node, "step");
  struct smr_cl_box box;
  int64_t strides[SAMARA_MAX_RANK], from = 0;
  cl_move_begin(&box, y);
  cl_move_dense(x, strides);
  for (int32_t i = 0; i < y->rank; i++) {
    box.strides[0][i] = strides[i] * step->ints[i];
    from += strides[i] * begin->ints[i];
  }
  cl_move_box(node, out, x, y, &box, from, 0);
}

static void cl_expand_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  struct smr_cl_box box;
  cl_move_begin(&box, y);
  smr_cl_strides(x, y->rank, box.strides[0]);
  cl_move_box(node, out, x, y, &box, 0, 0);
}

static bool cl_tile_fits(const struct smr_cl_node *node, const char **why) {
  // Every axis becomes two: repeats and elements.
  return smr_cl_sizes_fit(node, SMR_CL_AXES / 2, why) && smr_cl_plain(node, why);
}

static void cl_tile_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  int64_t from[SAMARA_MAX_RANK], to[SAMARA_MAX_RANK];
  struct smr_cl_box box = {.rank = 2 * x->rank, .operands = 2};
  cl_move_dense(x, from);
  cl_move_dense(y, to);
  for (int32_t i = 0; i < x->rank; i++) {
    if (x->shape[i] == 0) return;
    box.dims[2 * i] = y->shape[i] / x->shape[i];
    box.strides[1][2 * i] = to[i] * x->shape[i];
    box.dims[2 * i + 1] = x->shape[i];
    box.strides[0][2 * i + 1] = from[i];
    box.strides[1][2 * i + 1] = to[i];
  }
  cl_move_box(node, out, x, y, &box, 0, 0);
}

// ---- pad ----

static uint16_t cl_pad_kernel(const struct smr_cl_node *node) {
  const size_t size = smr_cl_element(smr_cl_output(node, 0)->dtype);
  return size == 1   ? SMR_CL_pad_1
         : size == 2 ? SMR_CL_pad_2
         : size == 4 ? SMR_CL_pad_4
                     : SMR_CL_pad_8;
}

static bool cl_pad_fits(const struct smr_cl_node *node, const char **why) {
  const samara_region_attribute *pads = smr_cl_attribute(node, "pads");
  if (smr_cl_int(node, "mode") != 0) {
    // Elements that are cropped first must not be repeated, which the kernel does not support.
    bool cuts = pads->symbolic;
    for (uint32_t i = 0; i < pads->count && !cuts; i++) cuts = pads->ints[i] < 0;
    if (cuts) {
      *why = "pads that may cut elements off are not supported in this mode";
      return false;
    }
  }
  return smr_cl_sizes_fit(node, SMR_CL_AXES, why) && smr_cl_plain(node, why);
}

static void cl_pad_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_pad_kernel(node)] = true;
}

static void cl_pad_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *value = smr_cl_input(node, 1);
  const samara_region_tensor *y = smr_cl_output(node, 0);
  const samara_region_attribute *pads = smr_cl_attribute(node, "pads");
  if (smr_cl_numel(y) == 0) return;
  struct smr_cl_launch *launch =
      smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_pad_kernel(node));
  struct smr_cl_box box = {.rank = SMR_CL_AXES, .operands = 1};
  int64_t strides[SAMARA_MAX_RANK], before[SMR_CL_AXES] = {0}, sizes[SMR_CL_AXES];
  cl_move_dense(x, strides);
  for (int32_t i = 0; i < SMR_CL_AXES; i++) {
    const int32_t axis = i - (SMR_CL_AXES - y->rank);
    box.dims[i] = axis < 0 ? 1 : y->shape[axis];
    box.strides[0][i] = axis < 0 ? 0 : strides[axis];
    before[i] = axis < 0 ? 0 : pads->ints[axis];
    sizes[i] = axis < 0 ? 1 : x->shape[axis];
  }
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 1, value);
  smr_cl_bind(launch, 5, y);
  smr_cl_rows_of(node, launch, &box);
  for (int32_t i = 0; i < SMR_CL_AXES; i++) launch->ints[7 + i] = (int32_t)sizes[i];
  smr_cl_put_strides(launch, &box, 0, 16, 21);
  for (int32_t i = 0; i < SMR_CL_AXES; i++) launch->ints[22 + i] = (int32_t)before[i];
  launch->ints[13] = (int32_t)smr_cl_int(node, "mode");
  launch->ints[14] = value != NULL;
  launch->ints[15] = y->dtype == SAMARA_QINT8 && y->zero_points != NULL ? y->zero_points[0] : 0;
}

#define CL_MOVE(part, op, fits, lower) SMR_CL_ROW(part, op, fits, cl_move_kernels, lower)

static const struct smr_cl_row cl_move_rows[] = {
    CL_MOVE(raster, identity, cl_copy_fits, cl_copy_lower),
    CL_MOVE(raster, reshape, cl_copy_fits, cl_copy_lower),
    CL_MOVE(raster, bitcast, cl_copy_fits, cl_copy_lower),
    CL_MOVE(raster, transpose, cl_move_fits, cl_transpose_lower),
    CL_MOVE(concat, concat, cl_move_fits, cl_concat_lower),
    CL_MOVE(split, split, cl_split_fits, cl_split_lower),
    CL_MOVE(slice, slice, cl_move_fits, cl_slice_lower),
    CL_MOVE(tile, expand, cl_move_fits, cl_expand_lower),
    CL_MOVE(tile, tile, cl_tile_fits, cl_tile_lower),
    SMR_CL_ROW(pad, pad, cl_pad_fits, cl_pad_kernels, cl_pad_lower),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_move_rows(void) { return cl_move_rows; }

#undef CL_MOVE
