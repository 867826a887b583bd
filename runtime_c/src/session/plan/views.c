// SPDX-License-Identifier: Apache-2.0
// Parts: values whose bytes are inside a larger value, so that concat, split and slice need no
// copies. Decided once, from the graph and static dims only, so that kept or watched tensors and
// other dims do not change which kernels run.
#include "base/fp.h"

#include "session/plan/plan.h"

#include <string.h>

#include "base/checked.h"
#include "ops/table/attrs.h"
#include "ops/table/opattrs.h"

// ---- static facts ----

static bool views_const(const struct smr_frame *frame, uint32_t expr, int64_t *out) {
  const struct smr_expr *e = &frame->function->exprs[expr];
  *out = e->k;
  return e->op == SMR_EXPR_CONST && e->k >= 0;
}

static bool views_dim(const struct smr_frame *frame, uint32_t id, uint32_t axis, int64_t *out) {
  return views_const(frame, frame->function->values[id].dims[axis], out);
}

static bool views_same_dim(const struct smr_frame *frame, uint32_t a, uint32_t b, uint32_t axis) {
  int64_t x, y;
  return frame->function->values[a].dims[axis] == frame->function->values[b].dims[axis] ||
         (views_dim(frame, a, axis, &x) && views_dim(frame, b, axis, &y) && x == y);
}

// Element `k` of a list attribute if it is a literal >= 0.
static bool views_attr(const struct smr_frame *frame, const struct smr_node_attr *from, uint32_t k,
                       int64_t *out) {
  if (from->exprs != NULL) return k < from->expr_count && views_const(frame, from->exprs[k], out);
  if (k >= from->literal.count || from->literal.ints == NULL) return false;
  *out = from->literal.ints[k];
  return *out >= 0;
}

static bool views_axis(int64_t axis, uint32_t rank, uint32_t *out) {
  if (axis < 0) axis += rank;
  *out = (uint32_t)axis;
  return axis >= 0 && axis < (int64_t)rank;
}

// Whether all axes before `axis` have size 1: a part along `axis` then has no gaps.
static bool views_ones_before(const struct smr_frame *frame, uint32_t id, uint32_t axis) {
  int64_t dim;
  for (uint32_t i = 0; i < axis; i++)
    if (!views_dim(frame, id, i, &dim) || dim != 1) return false;
  return true;
}

// Add the bytes from index 0 to index `at` of an axis of the dense value `id`.
static bool views_advance(const struct smr_frame *frame, uint32_t id, uint32_t axis, int64_t at,
                          int64_t *bytes) {
  const struct smr_value *v = &frame->function->values[id];
  int64_t step = (int64_t)smr_dtype_bytes(v->dtype), dim;
  if (at == 0) return true;
  if (smr_dtype_packed(v->dtype)) return false;
  for (uint32_t i = axis + 1; i < v->rank; i++)
    if (!views_dim(frame, id, i, &dim) || !smr_mul_i64(step, dim, &step)) return false;
  return smr_mul_i64(step, at, &step) && smr_add_i64(*bytes, step, bytes) &&
         *bytes <= PTRDIFF_MAX / 2;
}

// ---- who reads what ----

void smr_views_begin(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  for (uint32_t n = 0; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++)
      if (f->nodes[n].inputs[i] >= 0 && !smr_op_reads_strided(f->nodes[n].op, i))
        frame->values[f->nodes[n].inputs[i]].dense_only = true;
  for (uint32_t i = 0; i < f->expr_count; i++)
    if (f->exprs[i].op == SMR_EXPR_READ) frame->values[f->exprs[i].a].dense_only = true;
  for (uint32_t i = 0; i < f->output_count; i++) frame->values[f->outputs[i]].dense_only = true;
}

// ---- split and slice: outputs inside the input ----

// Position of output `id` inside the node's input.
struct views_cut {
  uint32_t axis;       // axis along which the input is cut
  int64_t start;       // first index on that axis
  int64_t lead_bytes;  // offset from slices of axes before it
  bool ones;           // all axes before it have size 1 in the output
  bool whole;          // axes before it are not sliced
};

static bool views_source_fits(const struct smr_frame *frame, uint32_t x, uint32_t y) {
  const struct smr_value *values = frame->function->values;
  const uint32_t head = frame->values[x].alias_of;
  if (frame->values[y].is_output || values[x].dtype != values[y].dtype ||
      values[head].constant >= 0)
    return false;
  return values[head].producer < 0 || !frame->nodes[values[head].producer].late;
}

static bool views_cut(struct smr_frame *frame, uint32_t x, uint32_t y,
                      const struct views_cut *cut) {
  struct smr_frame_value *from = &frame->values[x], *to = &frame->values[y];
  const uint32_t last = frame->function->values[x].rank - 1u;
  int64_t offset = cut->lead_bytes, wide, narrow;
  if (!views_source_fits(frame, x, y) || !views_advance(frame, x, cut->axis, cut->start, &offset))
    return false;
  // A kept value must outlive the call.
  const bool owned = frame->function->values[from->alias_of].producer >= 0;
  if (cut->ones && from->view_stride == 0 && (!smr_value_kept(to) || frame->is_entry || owned)) {
    from->dense_only = true;
  } else {
    if (!cut->whole || cut->axis != last || to->dense_only || !views_dim(frame, x, last, &wide) ||
        !views_dim(frame, y, last, &narrow))
      return false;
    to->view_stride = from->view_stride != 0 ? from->view_stride : wide;
  }
  to->alias_of = from->alias_of;
  to->view_bytes = from->view_bytes + (size_t)offset;
  to->part = true;
  return true;
}

static bool views_slice(struct smr_frame *frame, struct smr_frame_node *node) {
  const uint32_t x = (uint32_t)node->node->inputs[0], y = node->node->outputs[0];
  const uint32_t rank = frame->function->values[x].rank;
  struct views_cut cut = {.ones = true, .whole = true};
  int64_t begin[SAMARA_MAX_RANK], step, dim;
  bool full[SAMARA_MAX_RANK];
  if (frame->function->values[y].rank != rank || rank == 0) return false;
  const struct smr_node_attr *begins = &node->node->attrs[SMR_ATTR_INDEX(slice, begin)];
  const struct smr_node_attr *steps = &node->node->attrs[SMR_ATTR_INDEX(slice, step)];
  for (uint32_t i = 0; i < rank; i++) {
    if (!views_attr(frame, begins, i, &begin[i]) || !views_attr(frame, steps, i, &step) ||
        step != 1)
      return false;
    full[i] = begin[i] == 0 && views_same_dim(frame, x, y, i);
    if (!full[i]) cut.axis = i;
  }
  for (uint32_t i = 0; i < cut.axis; i++) {
    cut.whole = cut.whole && full[i];
    cut.ones = cut.ones && views_dim(frame, y, i, &dim) && dim == 1;
    if (!views_advance(frame, x, i, begin[i], &cut.lead_bytes)) return false;
  }
  cut.start = begin[cut.axis];
  return views_cut(frame, x, y, &cut);
}

static bool views_split(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_node *n = node->node;
  const uint32_t x = (uint32_t)n->inputs[0];
  struct views_cut cut = {.whole = true};
  if (!views_axis(SMR_ATTR(&node->job, split, axis)->i, frame->function->values[x].rank, &cut.axis))
    return false;
  cut.ones = views_ones_before(frame, x, cut.axis);
  bool all = true;
  for (uint32_t i = 0; i < n->output_count; i++) {
    int64_t size;
    if (frame->function->values[n->outputs[i]].rank != frame->function->values[x].rank)
      return false;
    all = views_cut(frame, x, n->outputs[i], &cut) && all;
    if (!views_dim(frame, n->outputs[i], cut.axis, &size) ||
        !smr_add_i64(cut.start, size, &cut.start))
      return all && i + 1 == n->output_count;
  }
  return all;
}

// ---- identity and reshape: the output is the input ----

static bool views_group_has_output(const struct smr_frame *frame, uint32_t group) {
  for (uint32_t i = 0; i < frame->function->value_count; i++)
    if (frame->values[i].alias_of == group && frame->values[i].is_output) return true;
  return false;
}

static bool views_alias(struct smr_frame *frame, const struct smr_node *n) {
  const struct smr_frame_value *in = &frame->values[n->inputs[0]];
  const uint32_t group = in->alias_of;
  struct smr_frame_value *out = &frame->values[n->outputs[0]];
  const struct smr_frame_value *head = &frame->values[group];
  if (head->tensor.dtype != out->tensor.dtype || head->tensor.layout != SMR_LAYOUT_PLAIN)
    return false;
  const bool owned = frame->function->values[group].producer >= 0;
  // An output must be written to the caller's buffer, and a kept value must outlive the call.
  if (out->is_output && (!owned || in->part || views_group_has_output(frame, group))) return false;
  if (smr_value_kept(out) && !frame->is_entry && !owned) return false;
  out->alias_of = group;
  out->view_bytes = in->view_bytes;
  out->part = in->part;
  return true;
}

samara_status smr_views_need(const struct smr_job *job) {
  const uint32_t code = job->op->code;
  const bool parts = code == SMR_CODE_CONCAT || code == SMR_CODE_SPLIT || code == SMR_CODE_SLICE;
  if (parts) SMR_NEED(job, views_parts);
  if (parts || code == SMR_CODE_IDENTITY || code == SMR_CODE_RESHAPE || code == SMR_CODE_WRITE_ROWS)
    SMR_NEED(job, views);
  return SAMARA_OK;
}

void smr_views_of_input(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_node *n = node->node;
  const uint32_t code = n->op->code;
  if (code == SMR_CODE_CONCAT || n->input_count == 0 || n->inputs[0] < 0 || n->output_count == 0 ||
      smr_node_space(node) != 0)
    return;
  if (code == SMR_CODE_IDENTITY || code == SMR_CODE_RESHAPE) node->alias = views_alias(frame, n);
  if (frame->is_entry && smr_views_adds_rows(frame->function, frame->common->model->variables, n))
    frame->values[n->outputs[0]].alias_of = (uint32_t)n->inputs[0];
  if (!SMR_HAS(views_parts) || node->late) return;
  if (n->op->code == SMR_CODE_SLICE) node->placed = views_slice(frame, node);
  if (n->op->code == SMR_CODE_SPLIT) node->placed = views_split(frame, node);
}

// ---- concat: inputs inside the output ----

// Place the group of input `id` at index `start` of axis `axis` of `whole`.
static bool views_place(struct smr_frame *frame, const struct smr_frame_node *node, uint32_t id,
                        uint32_t axis, int64_t start, const bool *has_output) {
  const struct smr_function *f = frame->function;
  const uint32_t whole = node->node->outputs[0], group = frame->values[id].alias_of;
  struct smr_frame_value *head = &frame->values[group], *host = &frame->values[whole];
  const uint32_t last = f->values[whole].rank - 1u;
  if (frame->values[id].part || head->part || head->alias_of != group || has_output[group] ||
      f->values[group].producer < 0 || f->values[group].dtype != f->values[whole].dtype)
    return false;
  const struct smr_frame_node *maker = &frame->nodes[f->values[group].producer];
  if (maker->late || smr_node_space(maker) != 0 || maker->node->stage != node->node->stage)
    return false;
  int64_t offset = 0, wide, narrow;
  if (!views_advance(frame, whole, axis, start, &offset)) return false;
  if (!views_ones_before(frame, whole, axis) || host->view_stride != 0) {
    if (axis != last || id != group || head->dense_only ||
        (maker->node->op->flags & SMR_OP_STRIDED_OUT) == 0 ||
        !views_dim(frame, whole, last, &wide) || !views_dim(frame, id, last, &narrow))
      return false;
    head->view_stride = host->view_stride != 0 ? host->view_stride : wide;
  }
  head->alias_of = host->alias_of;
  head->view_bytes = host->view_bytes + (size_t)offset;
  head->part = true;
  return true;
}

static void views_concat(struct smr_frame *frame, struct smr_frame_node *node,
                         const bool *has_output) {
  const struct smr_node *n = node->node;
  const uint32_t whole = n->outputs[0], rank = frame->function->values[whole].rank;
  uint32_t axis;
  int64_t start = 0, size;
  bool all = true;
  if (node->late || smr_node_space(node) != 0 ||
      !views_axis(SMR_ATTR(&node->job, concat, axis)->i, rank, &axis))
    return;
  for (uint32_t i = 0; i < n->input_count; i++) {
    if (n->inputs[i] < 0) return;
    const uint32_t id = (uint32_t)n->inputs[i];
    if (frame->function->values[id].rank != rank || !views_dim(frame, id, axis, &size)) return;
    all = views_place(frame, node, id, axis, start, has_output) && all;
    if (!smr_add_i64(start, size, &start)) return;
  }
  node->placed = all;
}

samara_status smr_views_end(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  bool *has_output;
  SMR_TAKE(frame->common, has_output, f->value_count);
  for (uint32_t i = 0; i < f->output_count; i++)
    has_output[frame->values[f->outputs[i]].alias_of] = true;
  // Outer concats first: the position of a concat's output must be known before its inputs are
  // placed.
  for (uint32_t n = f->node_count; n-- > 0;)
    if (f->nodes[n].op->code == SMR_CODE_CONCAT) views_concat(frame, &frame->nodes[n], has_output);
  for (uint32_t i = 0; i < f->value_count; i++) {
    struct smr_frame_value *value = &frame->values[i];
    const struct smr_frame_value *head = &frame->values[value->alias_of];
    if (head == value || !head->part) continue;
    value->alias_of = head->alias_of;
    value->view_bytes += head->view_bytes;
    value->part = true;
    if (value->view_stride != 0 && head->view_stride != 0) value->view_stride = head->view_stride;
  }
  return SAMARA_OK;
}
