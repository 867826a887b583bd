// SPDX-License-Identifier: Apache-2.0
// The memory plan of a frame: which values share bytes, how long they live, where they lie.
#include "base/fp.h"

#include "session/session.h"

#include "base/checked.h"

// ---- groups and homes ----

static bool plan_in_range(const struct smr_frame *frame, uint32_t id, uint32_t begin,
                          uint32_t end) {
  const int32_t producer = frame->function->values[id].producer;
  if (producer < 0) return begin == 0;
  const uint32_t stage = frame->function->nodes[producer].stage;
  return stage >= begin && stage < end;
}

// What is kept stays where it is, but with gaps between its pixels it is copied when it is made.
static bool plan_kept_in_place(const struct smr_frame_value *value) {
  return value->kept && value->view_stride == 0;
}

// True when the group of `head` has a kept member.
static bool plan_group_kept(const struct smr_frame *frame, uint32_t head) {
  for (uint32_t i = 0; i < frame->function->value_count; i++)
    if (plan_kept_in_place(&frame->values[i]) && frame->values[i].alias_of == head) return true;
  return false;
}

// The output whose place the group of `head` may take, or -1. In the entry function these are the
// outputs bound to variables, unless the user sees the same bytes.
static int32_t plan_group_output(const struct smr_frame *frame, uint32_t head) {
  const struct smr_function *f = frame->function;
  int32_t found = -1;
  for (uint32_t i = 0; i < f->output_count; i++) {
    if (frame->values[f->outputs[i]].alias_of != head) continue;
    if (frame->is_entry && frame->session->outputs[i].variable < 0) return -1;
    if (found < 0) found = (int32_t)i;
  }
  return found;
}

static void plan_home(struct smr_frame *frame, uint32_t id) {
  const struct smr_function *f = frame->function;
  struct smr_frame_value *value = &frame->values[id];
  value->root = value->alias_of;
  value->first = value->last = 0;
  value->output = -1;
  if (value->alias_of != id) return;
  if (f->values[id].constant >= 0) {
    value->home = SMR_HOME_CONSTANT;
    return;
  }
  if (f->values[id].producer < 0) {
    value->home = SMR_HOME_INPUT;
    return;
  }
  value->first = value->last = (uint32_t)f->values[id].producer;
  value->capacity_bytes = smr_value_bytes_bound(frame, id);
  value->home = value->capacity_bytes == SMR_UNBOUNDED_BYTES ? SMR_HOME_OWN : SMR_HOME_ARENA;
}

// Outputs and kept tensors have places of their own; few groups are either.
static void plan_special_homes(struct smr_frame *frame, uint32_t begin, uint32_t end) {
  for (uint32_t i = 0; i < frame->function->value_count; i++) {
    if (!frame->values[i].is_output && !plan_kept_in_place(&frame->values[i])) continue;
    const uint32_t head = frame->values[i].alias_of;
    struct smr_frame_value *value = &frame->values[head];
    if (!plan_in_range(frame, head, begin, end)) continue;
    if (value->home == SMR_HOME_CONSTANT || value->home == SMR_HOME_INPUT) continue;
    value->last = frame->function->node_count;
    if (plan_group_kept(frame, head)) {
      if (!frame->is_entry) value->home = SMR_HOME_OWN;
      continue;
    }
    value->output = plan_group_output(frame, head);
    if (value->output >= 0) value->home = SMR_HOME_OUTPUT;
  }
}

// ---- lifetimes ----

static void plan_use(struct smr_frame *frame, uint32_t id, uint32_t node, uint32_t end) {
  struct smr_frame_value *head = &frame->values[frame->values[id].alias_of];
  const uint32_t until = node < frame->stage_begin[end] ? node : frame->function->node_count;
  if (until > head->last) head->last = until;
}

static void plan_lifetimes(struct smr_frame *frame, uint32_t begin, uint32_t end) {
  const struct smr_function *f = frame->function;
  // The parts of a concat are made before it.
  for (uint32_t n = frame->stage_begin[begin]; n < frame->stage_begin[end]; n++)
    for (uint32_t i = 0; i < f->nodes[n].output_count; i++) {
      struct smr_frame_value *head = &frame->values[frame->values[f->nodes[n].outputs[i]].alias_of];
      if (n < head->first) head->first = n;
    }
  for (uint32_t n = frame->stage_begin[begin]; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++)
      if (f->nodes[n].inputs[i] >= 0) plan_use(frame, (uint32_t)f->nodes[n].inputs[i], n, end);
  // A READ takes its element when its stage begins.
  for (uint32_t i = 0; i < f->expr_count; i++)
    if (f->exprs[i].op == SMR_EXPR_READ)
      plan_use(frame, (uint32_t)f->exprs[i].a, frame->stage_begin[f->expr_stage[i]], end);
}

// ---- in place ----

static uint32_t plan_root(struct smr_frame *frame, uint32_t id) {
  uint32_t root = frame->values[id].alias_of;
  while (frame->values[root].root != root) root = frame->values[root].root;
  return root;
}

// Whether two values have the same number of bytes whatever the dims turn out to be.
static bool plan_same_size(const struct smr_frame *frame, uint32_t a, uint32_t b) {
  const struct smr_value *va = &frame->function->values[a], *vb = &frame->function->values[b];
  if (va->rank != vb->rank || smr_dtype_bytes(va->dtype) != smr_dtype_bytes(vb->dtype) ||
      smr_dtype_packed(va->dtype) != smr_dtype_packed(vb->dtype))
    return false;
  for (uint32_t i = 0; i < va->rank; i++) {
    const uint32_t x = va->dims[i], y = vb->dims[i];
    const bool fixed = frame->lo[x] == frame->hi[x] && frame->lo[y] == frame->hi[y];
    if (x != y && !(fixed && frame->lo[x] == frame->lo[y])) return false;
  }
  return true;
}

static void plan_in_place(struct smr_frame *frame, uint32_t n, uint32_t begin, uint32_t end) {
  const struct smr_node *node = &frame->function->nodes[n];
  if ((node->op->flags & SMR_OP_INPLACE) == 0 || frame->nodes[n].alias || frame->nodes[n].late ||
      node->input_count == 0 || node->inputs[0] < 0)
    return;
  const uint32_t x = (uint32_t)node->inputs[0], y = node->outputs[0];
  const uint32_t from = plan_root(frame, x);
  struct smr_frame_value *head = &frame->values[from], *out = &frame->values[y];
  if (frame->values[x].part || out->part) return;  // they begin elsewhere than their groups
  if (head->home != SMR_HOME_ARENA || out->home != SMR_HOME_ARENA || head->last != n ||
      !plan_in_range(frame, from, begin, end) || !plan_same_size(frame, x, y))
    return;
  for (uint32_t i = 1; i < node->input_count; i++)
    if (node->inputs[i] >= 0 && plan_root(frame, (uint32_t)node->inputs[i]) == from) return;
  out->root = from;
  if (out->last > head->last) head->last = out->last;
  if (out->capacity_bytes > head->capacity_bytes) head->capacity_bytes = out->capacity_bytes;
}

void smr_frame_place(struct smr_frame *frame, uint32_t begin, uint32_t end) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->value_count; i++)
    if (plan_in_range(frame, i, begin, end)) plan_home(frame, i);
  plan_special_homes(frame, begin, end);
  plan_lifetimes(frame, begin, end);
  for (uint32_t n = frame->stage_begin[begin]; n < frame->stage_begin[end]; n++)
    plan_in_place(frame, n, begin, end);
  for (uint32_t i = 0; i < f->value_count; i++)
    if (plan_in_range(frame, i, begin, end)) frame->values[i].root = plan_root(frame, i);
}

// ---- offsets ----

// Larger first; among equals the earlier, so that a plan is the same everywhere.
static bool plan_before(const struct smr_plan_item *a, const struct smr_plan_item *b) {
  if (a->size_bytes != b->size_bytes) return a->size_bytes > b->size_bytes;
  if (a->first != b->first) return a->first < b->first;
  if (a->is_scratch != b->is_scratch) return b->is_scratch;
  return a->owner < b->owner;
}

static void plan_sift(struct smr_plan_item *items, size_t at, size_t count) {
  for (;;) {
    size_t top = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
      if (plan_before(&items[top], &items[child])) top = child;
    if (top == at) return;
    const struct smr_plan_item swap = items[at];
    items[at] = items[top];
    items[top] = swap;
    at = top;
  }
}

// Heap sort: in place, and the library's qsort may allocate.
static void plan_sort(struct smr_plan_item *items, size_t count) {
  for (size_t i = count / 2; i-- > 0;) plan_sift(items, i, count);
  for (size_t end = count; end-- > 1;) {
    const struct smr_plan_item swap = items[0];
    items[0] = items[end];
    items[end] = swap;
    plan_sift(items, 0, end);
  }
}

// Put `item` into the tightest gap between those of items[0, count) that live at the same time;
// they are ordered by offset, and stay so. False when the sum does not fit.
static bool plan_insert(struct smr_plan_item *items, size_t count, size_t *total) {
  struct smr_plan_item item = items[count];
  size_t best = SIZE_MAX, best_gap = SIZE_MAX, reached = 0;
  for (size_t i = 0; i < count; i++) {
    const struct smr_plan_item *other = &items[i];
    if (other->last < item.first || item.last < other->first) continue;
    if (other->offset >= reached) {
      const size_t gap = other->offset - reached;
      if (gap >= item.size_bytes && gap < best_gap) best = reached, best_gap = gap;
    }
    const size_t end = other->offset + other->size_bytes;
    if (end > reached) reached = end;
  }
  item.offset = best != SIZE_MAX ? best : reached;
  size_t end;
  if (!smr_add_size(item.offset, item.size_bytes, &end) || end > PTRDIFF_MAX) return false;
  if (end > *total) *total = end;
  size_t at = count;
  for (; at > 0 && items[at - 1].offset > item.offset; at--) items[at] = items[at - 1];
  items[at] = item;
  return true;
}

samara_status smr_frame_plan(struct smr_frame *frame, uint32_t begin, uint32_t end,
                             size_t *size_bytes) {
  const struct smr_function *f = frame->function;
  struct smr_plan_item *items = frame->items;
  size_t count = 0, total = 0;
  bool fits = true;
  for (uint32_t i = 0; i < f->value_count; i++) {
    const struct smr_frame_value *value = &frame->values[i];
    if (value->root != i || value->home != SMR_HOME_ARENA || !plan_in_range(frame, i, begin, end))
      continue;
    items[count++] = (struct smr_plan_item){.first = value->first,
                                            .last = value->last,
                                            .owner = i,
                                            .size_bytes = smr_align64(value->capacity_bytes)};
  }
  for (uint32_t n = frame->stage_begin[begin]; n < frame->stage_begin[end]; n++) {
    frame->nodes[n].scratch_offset = 0;
    if (frame->nodes[n].scratch_capacity != 0)
      items[count++] =
          (struct smr_plan_item){.first = n,
                                 .last = n,
                                 .owner = n,
                                 .is_scratch = true,
                                 .size_bytes = smr_align64(frame->nodes[n].scratch_capacity)};
  }
  plan_sort(items, count);
  for (size_t i = 0; fits && i < count; i++) fits = plan_insert(items, i, &total);
  if (!fits)
    SMR_FAIL(&frame->session->error, OUT_OF_MEMORY,
             "function '%s': its tensors do not fit the address space", f->name);
  for (size_t i = 0; i < count; i++) {
    if (items[i].is_scratch)
      frame->nodes[items[i].owner].scratch_offset = items[i].offset;
    else
      frame->values[items[i].owner].offset = items[i].offset;
  }
  *size_bytes = total;
  return SAMARA_OK;
}
