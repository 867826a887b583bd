// SPDX-License-Identifier: Apache-2.0
// The memory plan of a frame: which values share bytes, their lifetimes and offsets.
#include "base/fp.h"

#include "session/plan/plan.h"

#include "base/checked.h"

// ---- groups and homes ----

static bool plan_in_range(const struct smr_frame *frame, uint32_t id, uint32_t begin,
                          uint32_t end) {
  if (!SMR_HAS(late)) return true;  // there is only one stage
  const int32_t producer = frame->function->values[id].producer;
  if (producer < 0) return begin == 0;
  const uint32_t stage = frame->function->nodes[producer].stage;
  return stage >= begin && stage < end;
}

// A kept value stays in place, unless it has gaps between pixels: then it is copied when it is
// made.
static bool plan_kept_in_place(const struct smr_frame_value *value) {
  return smr_value_kept(value) && smr_value_gap(value) == 0;
}

// Whether the group of `head` has a kept member.
static bool plan_group_kept(const struct smr_frame *frame, uint32_t head) {
  for (uint32_t i = 0; SMR_HAS(keep) && i < frame->function->value_count; i++)
    if (plan_kept_in_place(&frame->values[i]) && frame->values[i].alias_of == head) return true;
  return false;
}

// The output whose buffer the group of `head` may use, or -1. In the entry function these are the
// outputs bound to variables, unless the user sees the same bytes.
static int32_t plan_group_output(const struct smr_frame *frame, uint32_t head) {
  const struct smr_function *f = frame->function;
  int32_t found = -1;
  for (uint32_t i = f->output_count; i-- > 0;) {
    if (frame->values[f->outputs[i]].alias_of != head) continue;
    if (frame->values[f->outputs[i]].is_result) return -1;
    found = (int32_t)i;
  }
  return found;
}

// The output of the entry function that may be computed into the caller's memory: the only output
// of the group that the caller sees; else -1. An output has all bytes of its group (views.c).
static int32_t plan_group_bindable(const struct smr_frame *frame, uint32_t head) {
  const struct smr_function *f = frame->function;
  int32_t found = -1;
  for (uint32_t i = 0; i < f->user_output_count; i++) {
    if (frame->values[f->outputs[f->user_outputs[i]]].alias_of != head) continue;
    if (found >= 0) return -1;
    found = f->user_outputs[i];
  }
  return found;
}

static void plan_home(struct smr_frame *frame, uint32_t id) {
  const struct smr_value *v = &frame->function->values[id];
  struct smr_frame_value *value = &frame->values[id];
  value->root = value->alias_of;
  value->first = value->last = 0;
  value->output = -1;
  if (value->alias_of != id) return;
  value->home = v->constant >= 0 ? SMR_HOME_CONSTANT : SMR_HOME_INPUT;
  if (v->producer < 0) return;
  value->first = value->last = (uint32_t)v->producer;
  value->capacity_bytes = smr_value_bytes_bound(frame, id);
  value->home = value->capacity_bytes == SMR_UNBOUNDED_BYTES ? SMR_HOME_OWN : SMR_HOME_ARENA;
  if (smr_value_on_device(value)) value->home = SMR_HOME_NONE;
}

// Set the home of outputs and kept tensors, which are not in the arena.
static void plan_special_homes(struct smr_frame *frame, uint32_t begin, uint32_t end) {
  for (uint32_t i = 0; i < frame->function->value_count; i++) {
    const uint32_t head = frame->values[i].alias_of;
    struct smr_frame_value *value = &frame->values[head];
    if ((!frame->values[i].is_output && !plan_kept_in_place(&frame->values[i])) ||
        !plan_in_range(frame, head, begin, end) || frame->function->values[head].producer < 0)
      continue;
    value->last = frame->function->node_count;
    if (plan_group_kept(frame, head)) {
      if (!frame->is_entry) value->home = SMR_HOME_OWN;
      continue;
    }
    value->output = plan_group_output(frame, head);
    if (value->output >= 0)
      value->home = SMR_HOME_OUTPUT;
    else if (SMR_HAS(bind) && frame->is_entry)
      value->output = plan_group_bindable(frame, head);
  }
}

// ---- lifetimes ----

static void plan_use(struct smr_frame *frame, uint32_t id, uint32_t node, uint32_t end) {
  struct smr_frame_value *head = &frame->values[frame->values[id].alias_of];
  const bool inside = !SMR_HAS(late) || node < frame->stage_begin[end];
  const uint32_t until = inside ? node : frame->function->node_count;
  if (until > head->last) head->last = until;
}

// Values made on a device are read there from its own memory.
static bool plan_reads_host(const struct smr_frame *frame, uint32_t n, uint32_t id) {
  const uint8_t space = smr_node_space(&frame->nodes[n]);
  return space == 0 || space != smr_value_space(&frame->values[id]);
}

static void plan_lifetimes(struct smr_frame *frame, uint32_t begin, uint32_t end) {
  const struct smr_function *f = frame->function;
  // The parts of a concat are made before the concat.
  for (uint32_t n = frame->stage_begin[begin]; n < frame->stage_begin[end]; n++)
    for (uint32_t i = 0; i < f->nodes[n].output_count; i++) {
      struct smr_frame_value *head = &frame->values[frame->values[f->nodes[n].outputs[i]].alias_of];
      if (n < head->first) head->first = n;
    }
  for (uint32_t n = frame->stage_begin[begin]; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++)
      if (f->nodes[n].inputs[i] >= 0 && plan_reads_host(frame, n, (uint32_t)f->nodes[n].inputs[i]))
        plan_use(frame, (uint32_t)f->nodes[n].inputs[i], n, end);
  // A READ expression reads its element when its stage begins.
  for (uint32_t i = 0; SMR_HAS(late) && i < f->expr_count; i++)
    if (f->exprs[i].op == SMR_EXPR_READ)
      plan_use(frame, (uint32_t)f->exprs[i].a, frame->stage_begin[f->expr_stage[i]], end);
}

// ---- in place ----

static uint32_t plan_root(struct smr_frame *frame, uint32_t id) {
  uint32_t root = frame->values[id].alias_of;
  while (frame->values[root].root != root) root = frame->values[root].root;
  return root;
}

// Whether two values have the same size for all dims.
static bool plan_same_size(const struct smr_frame *frame, uint32_t a, uint32_t b) {
  const struct smr_value *va = &frame->function->values[a], *vb = &frame->function->values[b];
  if (va->rank != vb->rank || smr_dtype_bytes(va->dtype) != smr_dtype_bytes(vb->dtype) ||
      smr_dtype_packed(va->dtype) != smr_dtype_packed(vb->dtype))
    return false;
  for (uint32_t i = 0; i < va->rank; i++) {
    const uint32_t x = va->dims[i], y = vb->dims[i];
    const bool fixed = smr_expr_fixed(frame, x) && smr_expr_fixed(frame, y);
    if (x != y && !(fixed && smr_expr_lo(frame, x) == smr_expr_lo(frame, y))) return false;
  }
  return true;
}

static void plan_in_place(struct smr_frame *frame, uint32_t n, uint32_t begin, uint32_t end) {
  const struct smr_node *node = &frame->function->nodes[n];
  if ((node->op->flags & SMR_OP_INPLACE) == 0 || (SMR_HAS(views) && frame->nodes[n].alias) ||
      smr_node_space(&frame->nodes[n]) != 0 || frame->nodes[n].late || node->input_count == 0 ||
      node->inputs[0] < 0)
    return;
  const uint32_t x = (uint32_t)node->inputs[0], y = node->outputs[0];
  const uint32_t from = plan_root(frame, x);
  struct smr_frame_value *head = &frame->values[from], *out = &frame->values[y];
  // A part does not begin where its group begins.
  if (smr_value_is_part(&frame->values[x]) || smr_value_is_part(out)) return;
  if (head->home != SMR_HOME_ARENA || out->home != SMR_HOME_ARENA || head->last != n ||
      !plan_in_range(frame, from, begin, end) || !plan_same_size(frame, x, y))
    return;
  for (uint32_t i = 1; i < node->input_count; i++)
    if (node->inputs[i] >= 0 && plan_root(frame, (uint32_t)node->inputs[i]) == from) return;
  out->root = from;
  if (SMR_HAS(bind)) head->output = out->output;  // `from` is not an output
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

// Larger first, then earlier, so that plans are deterministic.
static bool plan_before(const struct smr_plan_item *a, const struct smr_plan_item *b) {
  if (a->rank != b->rank) return a->rank > b->rank;
  if (a->size_bytes != b->size_bytes) return a->size_bytes > b->size_bytes;
  if (a->first != b->first) return a->first < b->first;
  return a->owner < b->owner;
}

// Shell sort, in place: qsort may allocate.
static void plan_sort(struct smr_plan_item *items, size_t count) {
  for (size_t gap = count / 2; gap > 0; gap /= 2)
    for (size_t i = gap; i < count; i++) {
      const struct smr_plan_item item = items[i];
      size_t at = i;
      for (; at >= gap && plan_before(&item, &items[at - gap]); at -= gap)
        items[at] = items[at - gap];
      items[at] = item;
    }
}

// Place `item` into the smallest sufficient gap between those of items[0, count) that live at the
// same time. Items stay ordered by offset. False if the size overflows.
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

static void plan_add(struct smr_frame *frame, size_t *count, uint32_t owner, uint32_t first,
                     uint32_t last, size_t size_bytes) {
  frame->items[(*count)++] = (struct smr_plan_item){
      .first = first, .last = last, .owner = owner, .size_bytes = smr_align64(size_bytes)};
}

// Values and scratch of the stages [begin, end). Returns how many.
static size_t plan_collect(struct smr_frame *frame, uint32_t begin, uint32_t end) {
  const struct smr_function *f = frame->function;
  size_t count = 0;
  for (uint32_t i = 0; i < f->value_count; i++) {
    const struct smr_frame_value *value = &frame->values[i];
    if (value->root == i && value->home == SMR_HOME_ARENA && plan_in_range(frame, i, begin, end))
      plan_add(frame, &count, i, value->first, value->last, value->capacity_bytes);
  }
  for (uint32_t n = frame->stage_begin[begin]; n < frame->stage_begin[end]; n++) {
    frame->nodes[n].scratch_offset = 0;
    if (frame->nodes[n].scratch_capacity != 0)
      plan_add(frame, &count, f->value_count + n, n, n, frame->nodes[n].scratch_capacity);
  }
  return count;
}

// The most bytes that live at once: a lower bound of every plan.
static size_t plan_bound(const struct smr_plan_item *items, size_t count) {
  size_t most = 0;
  for (size_t i = 0; i < count; i++) {
    size_t live = 0;
    for (size_t k = 0; k < count; k++)
      if (items[k].first <= items[i].first && items[i].first <= items[k].last)
        live += items[k].size_bytes;
    if (live > most) most = live;
  }
  return most;
}

static void plan_take_offsets(struct smr_frame *frame, const struct smr_plan_item *items,
                              size_t count) {
  const uint32_t value_count = frame->function->value_count;
  for (size_t i = 0; i < count; i++) {
    const struct smr_plan_item *item = &items[i];
    if (item->owner >= value_count)
      frame->nodes[item->owner - value_count].scratch_offset = item->offset;
    else
      frame->values[item->owner].offset = item->offset;
  }
}

bool smr_plan_pack(struct smr_plan_item *items, size_t count, smr_plan_take_fn take, void *user,
                   size_t *total) {
  enum { PLAN_TRIES = 8, PLAN_MANY = 2048 };  // with more items a retry takes over 10 ms
  size_t best = SIZE_MAX, bound = 0;
  for (uint8_t tries = 0; tries <= PLAN_TRIES; tries++) {
    size_t size = 0;
    bool fits = true;
    plan_sort(items, count);
    for (size_t i = 0; fits && i < count; i++) fits = plan_insert(items, i, &size);
    if (!fits) break;
    if (size < best) {
      best = size;
      if (SMR_HAS(backends) && take != NULL)
        take(user, items, count);
      else
        plan_take_offsets((struct smr_frame *)user, items, count);
    }
    // The item that sets the size was placed too late. Retry with it first.
    if (tries == 0 && count <= PLAN_MANY) bound = plan_bound(items, count);
    if (best == bound || count > PLAN_MANY) break;
    size_t top = 0;
    for (size_t i = 1; i < count; i++)
      if (items[i].offset + items[i].size_bytes > items[top].offset + items[top].size_bytes)
        top = i;
    items[top].rank = (uint8_t)(tries + 1);
  }
  *total = best;
  return best != SIZE_MAX;
}

samara_status smr_frame_plan(struct smr_frame *frame, uint32_t begin, uint32_t end,
                             size_t *size_bytes) {
  const size_t count = plan_collect(frame, begin, end);
  if (!smr_plan_pack(frame->items, count, NULL, frame, size_bytes))
    SMR_FRAME_FAIL(frame, OUT_OF_MEMORY, "its tensors do not fit the address space");
  return SAMARA_OK;
}
