// SPDX-License-Identifier: Apache-2.0
// The operator `loop`: max_trip?, condition?, carried…, captures… -> carried…, stacked….
//
// The body maps (i, condition, carried…, captures…) to (condition, carried…, stacked…). A carried
// value alternates between two buffers, the loop's output (A) and scratch (B): the body writes
// directly into the one that its input is not in. If sizes have no bound, both are blocks that
// grow. The body writes stacked values directly into their slice.
#include "base/fp.h"

#include "session/control/control.h"

#include <string.h>

#include "base/checked.h"
#include "ops/table/attrs.h"

struct smr_loop_carry {
  struct smr_tensor now;  // input of the next iteration
  void *places[2];        // NULL: blocks
  size_t capacity[2];
  struct smr_block blocks[2];
  size_t scratch_offset;  // of B
  size_t scratch_bytes;   // SMR_UNBOUNDED_BYTES: blocks
  uint32_t next;          // buffer that the current iteration writes
};

struct smr_loop_stack {
  size_t slice_bytes;
  int64_t slice_dims[SAMARA_MAX_RANK];
};

struct smr_loop_state {
  struct smr_tensor index, condition;
  int64_t index_value;
  uint8_t condition_value, condition_result;
  uint32_t carried, stacked;
  struct smr_loop_carry *carries;
  struct smr_loop_stack *stacks;
  size_t body_offset;
};

static void loop_scalar(struct smr_tensor *t, const char *name, samara_dtype dtype, void *data) {
  t->data = data;
  t->pixel_stride = 1;
  t->size_bytes = smr_dtype_bytes((uint8_t)dtype);
  t->name = name;
  t->constant = -1;
  t->dtype = (uint8_t)dtype;
}

samara_status smr_loop_build(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_loop_state *loop;
  SMR_TAKE(frame->common, loop, 1);
  const uint32_t carried = (uint32_t)node->attrs[SMR_ATTR_INDEX(loop, carried)].i;
  loop->stacked = node->job.output_count - carried;
  for (uint32_t i = carried; i < node->job.output_count; i++)
    if (smr_dtype_packed(node->job.outputs[i]->dtype))
      SMR_FAIL(node->job.error, UNSUPPORTED,
               "'%s' cannot be stacked: its dtype has two elements per byte",
               node->job.outputs[i]->name);
  SMR_TAKE(frame->common, loop->stacks, loop->stacked);
  SMR_TAKE(frame->common, loop->carries, carried);
  loop->carried = carried;
  loop_scalar(&loop->index, "iteration", SAMARA_INT64, &loop->index_value);
  loop_scalar(&loop->condition, "condition", SAMARA_BOOL, &loop->condition_value);
  node->control = loop;
  return SAMARA_OK;
}

samara_status smr_loop_plan(struct smr_frame_node *node) {
  struct smr_loop_state *loop = node->control;
  const struct smr_frame *body = node->callee[0];
  size_t total = 0;
  bool fits = true;
  for (uint32_t c = 0; c < loop->carried; c++) {
    struct smr_loop_carry *carry = &loop->carries[c];
    const uint32_t input = body->function->inputs[SMR_LOOP_FIXED + c];
    carry->scratch_offset = total;
    carry->scratch_bytes = smr_value_bytes_bound(body, input);
    if (!SMR_HAS(late) || carry->scratch_bytes != SMR_UNBOUNDED_BYTES)
      fits = fits && smr_add_size(total, smr_align64(carry->scratch_bytes), &total);
  }
  loop->body_offset = total;
  if (!fits || !smr_add_size(total, body->arena_bytes, &node->scratch_capacity))
    SMR_FAIL(node->job.error, OUT_OF_MEMORY, "node '%s': the size of its buffers overflows",
             node->node->name);
  return SAMARA_OK;
}

// ---- one iteration ----

static void loop_start(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_loop_state *loop = node->control;
  for (uint32_t s = 0; s < loop->stacked; s++) loop->stacks[s].slice_bytes = 0;
  for (uint32_t c = 0; c < loop->carried; c++) {
    struct smr_loop_carry *carry = &loop->carries[c];
    carry->now = *node->job.inputs[SMR_LOOP_FIXED + c];
    carry->next = 0;
    if (SMR_HAS(late) && carry->scratch_bytes == SMR_UNBOUNDED_BYTES) continue;
    carry->places[0] = smr_value_target(frame, node->node->outputs[c], &carry->capacity[0]);
    carry->places[1] = (uint8_t *)node->job.scratch + carry->scratch_offset;
    carry->capacity[1] = carry->scratch_bytes;
  }
}

static samara_status loop_enter(struct smr_frame *frame, struct smr_frame_node *node,
                                int64_t trip) {
  struct smr_loop_state *loop = node->control;
  struct smr_frame *body = node->callee[0];
  const struct smr_tensor **inputs = body->given_inputs;
  void **data = body->given_data;
  size_t *capacity = body->given_capacity;
  loop->index_value = trip;
  loop->condition_value = 1;
  *inputs++ = &loop->index;
  *inputs++ = &loop->condition;
  *data++ = &loop->condition_result;
  *capacity++ = 1;
  for (uint32_t c = 0; c < loop->carried; c++) {
    struct smr_loop_carry *carry = &loop->carries[c];
    *inputs++ = &carry->now;
    *data++ = carry->places[carry->next];
    *capacity++ = carry->capacity[carry->next];
  }
  for (uint32_t i = SMR_LOOP_FIXED + loop->carried; i < node->job.input_count; i++)
    *inputs++ = node->job.inputs[i];
  for (uint32_t s = 0; s < loop->stacked; s++) {
    // Its slice of the output; NULL while its size or address is unknown.
    const uint32_t id = node->node->outputs[loop->carried + s];
    uint8_t *base = smr_value_target(frame, id, capacity);
    const size_t slice = loop->stacks[s].slice_bytes;
    size_t used = 0, need = SIZE_MAX;
    if (base != NULL && (!smr_mul_size((size_t)trip, slice, &used) ||
                         !smr_add_size(used, slice, &need) || need > *capacity))
      return smr_frame_exceeds(frame, frame->values[id].tensor.name, need, *capacity);
    *data++ = base != NULL ? base + used : NULL;
    *capacity++ -= used;
  }
  return smr_frame_enter(body, (uint8_t *)node->job.scratch + loop->body_offset);
}

// Ensure that output `output` of the body is where the body was asked to write it or, if no room is
// planned, at byte `used` of a block of `room_bytes`.
static samara_status loop_place(struct smr_frame *frame, struct smr_frame_node *node,
                                uint32_t output, struct smr_block *block, size_t used,
                                size_t room_bytes, void **place) {
  const struct smr_frame *body = node->callee[0];
  const struct smr_tensor *out = smr_frame_output(body, output);
  *place = body->given_data[output];
  if (SMR_HAS(late) && *place == NULL) {
    SMR_TRY(smr_block_ensure(frame->common, block, room_bytes, used, out->name));
    *place = (uint8_t *)block->data + used;
  } else if (out->size_bytes > body->given_capacity[output]) {
    return smr_frame_exceeds(frame, out->name, out->size_bytes, body->given_capacity[output]);
  }
  return smr_value_copy(body->common, out, *place);
}

// Read carried value `c` from the body. It is already in its buffer, is the unchanged input, or is
// copied.
static samara_status loop_take_carried(struct smr_frame *frame, struct smr_frame_node *node,
                                       uint32_t c) {
  struct smr_loop_state *loop = node->control;
  struct smr_loop_carry *carry = &loop->carries[c];
  const struct smr_tensor *out = smr_frame_output(node->callee[0], 1 + c);
  memcpy(carry->now.dims, out->dims, sizeof carry->now.dims);
  if (out->data == carry->now.data && out->data != carry->places[carry->next]) return SAMARA_OK;
  carry->now.size_bytes = out->size_bytes;
  SMR_TRY(loop_place(frame, node, 1 + c, &carry->blocks[carry->next], 0, out->size_bytes,
                     &carry->now.data));
  carry->next ^= 1u;
  return SAMARA_OK;
}

static samara_status loop_take_stacked(struct smr_frame *frame, struct smr_frame_node *node,
                                       uint32_t s, int64_t trip) {
  struct smr_loop_state *loop = node->control;
  struct smr_loop_stack *stack = &loop->stacks[s];
  const struct smr_tensor *out = smr_frame_output(node->callee[0], 1 + loop->carried + s);
  struct smr_frame_value *value = &frame->values[node->node->outputs[loop->carried + s]];
  if (trip == 0) {
    stack->slice_bytes = out->size_bytes;
    memcpy(stack->slice_dims, out->dims, sizeof out->dims);
  } else if (memcmp(stack->slice_dims, out->dims, out->rank * sizeof *out->dims) != 0) {
    SMR_FAIL(node->job.error, BAD_SHAPE, "stacked output '%s' changes its dims in iteration %lld",
             value->tensor.name, (long long)trip);
  }
  size_t used = 0, room = 0;
  if (SMR_HAS(late)) {
    // The block doubles when it is full.
    if (!smr_mul_size((size_t)trip, out->size_bytes, &used) ||
        !smr_add_size(used, out->size_bytes, &room))
      room = used = SIZE_MAX;
    const size_t has = value->own.size_bytes;
    if (room > has && room / 2 < has) room = 2 * has;
  }
  void *place;
  return loop_place(frame, node, 1 + loop->carried + s, &value->own, used, room, &place);
}

static samara_status loop_finish(struct smr_frame *frame, struct smr_frame_node *node,
                                 int64_t trips) {
  struct smr_loop_state *loop = node->control;
  for (uint32_t c = 0; c < loop->carried; c++)
    SMR_TRY(smr_control_take(frame, node, c, &loop->carries[c].now));
  for (uint32_t s = 0; s < loop->stacked; s++) {
    const uint32_t output = loop->carried + s;
    const struct smr_tensor *to = node->job.outputs[output];
    int64_t dims[SAMARA_MAX_RANK];
    // Without an iteration the dims of the slice are those of its expressions.
    SMR_TRY(smr_value_known_dims(frame, node->node->outputs[output], node->node->stage));
    memcpy(dims + 1, trips > 0 ? loop->stacks[s].slice_dims : to->dims + 1,
           (SAMARA_MAX_RANK - 1) * sizeof *dims);
    dims[0] = trips;
    SMR_TRY(smr_value_settle(frame, node, output, dims));
  }
  return SAMARA_OK;
}

samara_status smr_loop_run(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_loop_state *loop = node->control;
  struct smr_frame *body = node->callee[0];
  struct smr_tensor *const *inputs = node->job.inputs;
  int64_t most = INT64_MAX, trip = 0;
  bool going = true;
  if (inputs[0] != NULL) SMR_TRY(smr_value_copy(frame->common, inputs[0], &most));
  if (inputs[1] != NULL) SMR_TRY(smr_value_read_bool(frame->common, inputs[1], &going));
  loop_start(frame, node);
  for (; going && trip < most; trip++) {
    SMR_TRY(smr_session_tick(frame->common));
    SMR_TRY(loop_enter(frame, node, trip));
    SMR_TRY(smr_frame_run(body));
    SMR_TRY(smr_value_read_bool(body->common, smr_frame_output(body, 0), &going));
    for (uint32_t c = 0; c < loop->carried; c++) SMR_TRY(loop_take_carried(frame, node, c));
    for (uint32_t s = 0; s < loop->stacked; s++) SMR_TRY(loop_take_stacked(frame, node, s, trip));
  }
  return loop_finish(frame, node, trip);
}
