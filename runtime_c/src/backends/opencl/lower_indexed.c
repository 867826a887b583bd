// SPDX-License-Identifier: Apache-2.0
// Gathering and scattering. Indices are converted to positions of slices: on the host if they are
// constant, else by a kernel, which also checks them.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <string.h>

enum {
  CL_MOST_TUPLE = 8,
  CL_SMALL_SLICE = 16,  // elements; for smaller slices, items share all elements
};

struct cl_indexed {
  const samara_region_tensor *x, *indices;  // x: the indexed tensor
  bool scatters, elements, wrap;
  int64_t m;          // positions
  int64_t slice;      // elements of a slice
  int64_t outer;      // of gather: product of the axes before the indexed one, which repeat all
                      // positions
  int64_t rows;       // number of slices in x
  int64_t depth;      // indices of a position
  int64_t per_batch;  // positions that share the batch axes
  int64_t sizes[CL_MOST_TUPLE];  // sizes of the axes indexed by a tuple; for elements: all sizes of
                                 // x
  int64_t counts[SMR_CL_AXES];   // for elements: shape of the indices
  int32_t axis;                  // for elements
};

static bool cl_indexed_is(const struct smr_cl_node *node, const char *op) {
  return strcmp(node->node->op, op) == 0;
}

static bool cl_indexed_is_elements(const struct smr_cl_node *node) {
  return cl_indexed_is(node, "gather_elements") || cl_indexed_is(node, "scatter_elements");
}

static int64_t cl_indexed_extent(const samara_region_tensor *t, int32_t begin, int32_t end) {
  int64_t n = 1;
  for (int32_t i = begin; i < end; i++) n *= t->shape[i];
  return n;
}

static void cl_read_elements(const struct smr_cl_node *node, struct cl_indexed *s) {
  const int32_t first = SMR_CL_AXES - s->x->rank;
  s->elements = true;
  s->axis = first + smr_cl_axis(node, "axis", s->x->rank);
  s->m = smr_cl_numel(s->indices);
  s->slice = s->outer = s->depth = 1;
  s->rows = smr_cl_numel(s->x);
  for (int32_t i = 0; i < SMR_CL_AXES; i++) {
    s->sizes[i] = i < first ? 1 : s->x->shape[i - first];
    s->counts[i] = i < first ? 1 : s->indices->shape[i - first];
  }
}

static void cl_read_tuples(const struct smr_cl_node *node, struct cl_indexed *s) {
  const samara_region_tensor *x = s->x, *indices = s->indices;
  int32_t axis, end;
  s->outer = 1;
  if (cl_indexed_is(node, "gather")) {
    axis = smr_cl_axis(node, "axis", x->rank);
    end = axis + 1;
    s->m = s->per_batch = smr_cl_numel(indices);
    s->outer = cl_indexed_extent(x, 0, axis);
    s->rows = x->shape[axis];
  } else {
    axis = (int32_t)smr_cl_int(node, "batch_dims");
    end = axis + (int32_t)indices->shape[indices->rank - 1];
    s->m = cl_indexed_extent(indices, 0, indices->rank - 1);
    s->per_batch = cl_indexed_extent(indices, axis, indices->rank - 1);
    s->rows = cl_indexed_extent(x, 0, end);
  }
  s->depth = end - axis;
  s->slice = cl_indexed_extent(x, end, x->rank);
  for (int32_t i = axis; i < end; i++) s->sizes[i - axis] = x->shape[i];
}

static void cl_indexed_read(const struct smr_cl_node *node, struct cl_indexed *s) {
  memset(s, 0, sizeof *s);
  s->x = smr_cl_input(node, 0);
  s->indices = smr_cl_input(node, 1);
  s->wrap = smr_cl_int(node, "wrap") != 0;
  s->scatters = cl_indexed_is(node, "scatter_nd") || cl_indexed_is(node, "scatter_elements");
  if (cl_indexed_is_elements(node))
    cl_read_elements(node, s);
  else
    cl_read_tuples(node, s);
}

// ---- constant indices ----

// Whether positions can be computed now: indices and the indexed sizes are constant.
static bool cl_indexed_is_constant(const struct smr_cl_node *node) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *indices = smr_cl_input(node, 1);
  for (int32_t i = 0; i < x->rank; i++)
    if (x->shape[i] < 0 || (x->symbolic >> i & 1)) return false;
  return indices->data != NULL;
}

// Index `i`, counted from the front; -1 if out of range.
static int64_t cl_index_at(const struct cl_indexed *s, int64_t i, int64_t size) {
  int64_t at = s->indices->dtype == SAMARA_INT64 ? ((const int64_t *)s->indices->data)[i]
                                                 : ((const int32_t *)s->indices->data)[i];
  if (at < 0 && s->wrap) at += size;
  return at < 0 || at >= size ? -1 : at;
}

static int64_t cl_position_of(const struct cl_indexed *s, int64_t e) {
  int64_t position = 0, rest = e, stride = 1;
  if (s->elements) {
    for (int32_t i = SMR_CL_AXES; i-- > 0;) {
      const int64_t at = i == s->axis ? cl_index_at(s, e, s->sizes[i]) : rest % s->counts[i];
      if (at < 0) return -1;
      rest /= s->counts[i];
      position += at * stride;
      stride *= s->sizes[i];
    }
    return position;
  }
  position = e / s->per_batch;
  for (int64_t k = 0; k < s->depth; k++) {
    const int64_t at = cl_index_at(s, e * s->depth + k, s->sizes[k]);
    if (at < 0) return -1;
    position = position * s->sizes[k] + at;
  }
  return position;
}

// ---- rows ----

static bool cl_indexed_fits(const struct smr_cl_node *node, const char **why) {
  const samara_region_tensor *indices = smr_cl_input(node, 1);
  struct cl_indexed s;
  if (indices->dtype != SAMARA_INT64 && indices->dtype != SAMARA_INT32) {
    *why = "the type of its indices is not supported";
    return false;
  }
  if (!smr_cl_plain(node, why) ||
      !smr_cl_sizes_fit(node, cl_indexed_is_elements(node) ? SMR_CL_AXES : SAMARA_MAX_RANK, why))
    return false;
  cl_indexed_read(node, &s);
  if (s.scatters && smr_cl_int(node, "reduction") != 0) {
    *why = "updates that are added or compared are not supported";
    return false;
  }
  if (!cl_indexed_is_constant(node) || smr_cl_numel(smr_cl_output(node, 0)) == 0) return true;
  for (int64_t e = 0; e < s.m && s.slice > 0; e++) {
    if (cl_position_of(&s, e) < 0) {
      *why = "an index is out of range";
      return false;
    }
  }
  return true;
}

static int cl_size_class(const struct smr_cl_node *node) {
  const size_t size = smr_cl_element(smr_cl_output(node, 0)->dtype);
  return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}

// By size of element.
static const uint16_t cl_gathers[4] = {SMR_CL_gather_1, SMR_CL_gather_2, SMR_CL_gather_4,
                                       SMR_CL_gather_8};
static const uint16_t cl_scatters[4] = {SMR_CL_scatter_1, SMR_CL_scatter_2, SMR_CL_scatter_4,
                                        SMR_CL_scatter_8};
static const uint16_t cl_scatter_ordered[4] = {SMR_CL_scatter_ordered_1, SMR_CL_scatter_ordered_2,
                                               SMR_CL_scatter_ordered_4, SMR_CL_scatter_ordered_8};
static const uint16_t cl_whole_copy[4] = {SMR_CL_copy_1, SMR_CL_copy_2, SMR_CL_copy_4,
                                          SMR_CL_copy_8};

static uint16_t cl_locate_kernel(const struct cl_indexed *s) {
  if (s->indices->dtype == SAMARA_INT64)
    return s->elements ? SMR_CL_locate_elements_i64 : SMR_CL_locate_tuples_i64;
  return s->elements ? SMR_CL_locate_elements_i32 : SMR_CL_locate_tuples_i32;
}

static void cl_indexed_kernels(const struct smr_cl_node *node, bool *kernels) {
  const int size = cl_size_class(node);
  const bool constant = cl_indexed_is_constant(node);
  struct cl_indexed s;
  cl_indexed_read(node, &s);
  if (!constant) kernels[cl_locate_kernel(&s)] = true;
  if (!s.scatters) {
    kernels[cl_gathers[size]] = true;
    return;
  }
  kernels[constant ? cl_scatters[size] : cl_scatter_ordered[size]] = true;
  kernels[cl_whole_copy[size]] = true;
}

// Add a launch that checks the indices and writes positions to scratch.
static struct smr_cl_place cl_indexed_locate(const struct smr_cl_node *node,
                                             struct smr_cl_launches *out,
                                             const struct cl_indexed *s) {
  const struct smr_cl_place place = smr_cl_scratch(out, (uint64_t)s->m * sizeof(int32_t));
  struct smr_cl_launch *launch =
      smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_locate_kernel(s));
  smr_cl_bind(launch, 0, s->indices);
  launch->buffers[5] = place;
  smr_cl_flag(out, launch, 6);
  launch->ints[0] = (int32_t)s->m;
  launch->ints[1] = smr_cl_walkers(node, s->m);
  launch->ints[2] = s->elements ? s->axis : (int32_t)s->depth;
  launch->ints[3] = s->wrap;
  launch->ints[4] = (int32_t)s->per_batch;
  for (int32_t i = 0; i < SMR_CL_AXES; i++) launch->ints[8 + i] = (int32_t)s->counts[i];
  for (int32_t i = 0; i < CL_MOST_TUPLE; i++) launch->ints[16 + i] = (int32_t)s->sizes[i];
  smr_cl_set_items(launch, launch->ints[1], 1, 1);
  return place;
}

// Add the table of positions. For scatter, all but the last of equal positions become -1.
static void cl_indexed_table(struct smr_cl_launches *out, struct smr_cl_launch *launch,
                             const struct cl_indexed *s) {
  int32_t *positions = (int32_t *)smr_cl_table(out, launch, 1, (size_t)s->m * sizeof *positions);
  if (positions == NULL) return;
  for (int64_t e = 0; e < s->m; e++) positions[e] = (int32_t)cl_position_of(s, e);
  if (!s->scatters) return;
  const samara_allocator *allocator = out->allocator;
  int32_t *last = (int32_t *)allocator->allocate(allocator->user, (size_t)s->rows * sizeof *last);
  if (last == NULL) {
    out->failed = true;
    return;
  }
  for (int64_t e = 0; e < s->m; e++) last[positions[e]] = (int32_t)e;
  for (int64_t e = 0; e < s->m; e++)
    if (last[positions[e]] != (int32_t)e) positions[e] = -1;
  allocator->release(allocator->user, last);
}

// Copy x to y, unless they share memory.
static void cl_indexed_copy(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  if (x->memory == y->memory && x->offset_bytes == y->offset_bytes && x->data == NULL) return;
  struct smr_cl_launch *launch =
      smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_whole_copy[cl_size_class(node)]);
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 5, y);
  launch->ints[0] = (int32_t)smr_cl_numel(y);
  launch->ints[1] = smr_cl_walkers(node, launch->ints[0]);
  smr_cl_set_items(launch, launch->ints[1], 1, 1);
}

// Set the items and ints of a launch that moves slices.
static void cl_indexed_items(const struct smr_cl_node *node, const struct cl_indexed *s,
                             struct smr_cl_launch *launch, bool ordered) {
  const int64_t slices = s->m * s->outer, least = node->features->cpu ? 16 : 256;
  const bool small = s->slice < CL_SMALL_SLICE;
  int64_t items = smr_cl_walkers(node, s->slice), others = slices;
  if (ordered) {
    // Each item loops over all positions.
    if (small) items = s->slice;
    others = least / items;
    others = others < 1 ? 1 : others > s->m ? s->m : others;
  } else if (small) {
    items = smr_cl_walkers(node, s->slice * slices);
    others = 1;
  }
  launch->ints[0] = (int32_t)s->slice;
  launch->ints[1] = (int32_t)items;
  launch->ints[2] = (int32_t)s->m;
  launch->ints[3] = (int32_t)s->rows;
  launch->ints[4] = (int32_t)others;
  launch->ints[5] = small ? (int32_t)(s->slice * slices) : 0;
  smr_cl_set_items(launch, items, others, 1);
}

static void cl_indexed_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const int size = cl_size_class(node);
  const bool constant = cl_indexed_is_constant(node);
  struct smr_cl_place positions = {NULL, 0};
  struct cl_indexed s;
  cl_indexed_read(node, &s);
  if (smr_cl_numel(smr_cl_output(node, 0)) == 0) return;
  if (s.scatters) cl_indexed_copy(node, out);
  if (s.m == 0) return;
  if (!constant) positions = cl_indexed_locate(node, out, &s);
  const uint16_t kernel = !s.scatters ? cl_gathers[size]
                          : constant  ? cl_scatters[size]
                                      : cl_scatter_ordered[size];
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, (enum smr_cl_kernel)kernel);
  smr_cl_bind(launch, 0, smr_cl_input(node, s.scatters ? 2 : 0));
  launch->buffers[1] = positions;
  smr_cl_bind(launch, 5, smr_cl_output(node, 0));
  cl_indexed_items(node, &s, launch, s.scatters && !constant);
  if (constant) cl_indexed_table(out, launch, &s);
}

#define CL_INDEXED(op) \
  SMR_CL_ROW(indexed, op, cl_indexed_fits, cl_indexed_kernels, cl_indexed_lower)

static const struct smr_cl_row cl_indexed_rows[] = {
    CL_INDEXED(gather),           CL_INDEXED(gather_elements), CL_INDEXED(gather_nd),
    CL_INDEXED(scatter_elements), CL_INDEXED(scatter_nd),      {.op = NULL},
};

const struct smr_cl_row *smr_cl_indexed_rows(void) { return cl_indexed_rows; }

#undef CL_INDEXED
