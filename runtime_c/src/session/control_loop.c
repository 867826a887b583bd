// SPDX-License-Identifier: Apache-2.0
// The operator `loop`: max_trip?, condition?, carried…, captures… -> carried…, stacked….
//
// The body maps (i, condition, carried…, captures…) to (condition, carried…, stacked…). A carried
// value alternates between two places: the loop's own output (A) and scratch (B); the body writes
// straight into the one that its input is not in. Where sizes have no bound both are blocks that
// grow. Stacked values are written straight into their slice.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

#include "base/checked.h"
#include "ops/attrs.h"

enum { LOOP_FIXED_INPUTS = 2 };  // max_trip, condition; of the body: i, condition

struct smr_loop_carry {
  struct smr_tensor now;  // what enters the next iteration
  void *places[2];        // NULL: blocks
  size_t capacity[2];
  struct smr_block blocks[2];
  size_t scratch_offset;  // of B
  size_t scratch_bytes;   // SMR_UNBOUNDED_BYTES: blocks
  uint32_t next;          // place that the running iteration writes
};

struct smr_loop_state {
  struct smr_tensor index, condition;
  int64_t index_value;
  uint8_t condition_value, condition_result;
  uint32_t carried, stacked;
  struct smr_loop_carry *carries;
  size_t *slice_bytes;  // per stacked output
  int64_t (*slice_dims)[SAMARA_MAX_RANK];
  size_t body_offset;
};

static samara_status loop_check_signature(struct smr_frame *frame, struct smr_frame_node *node,
                                          uint32_t carried) {
  const struct smr_function *body = node->callee[0]->function;
  const struct smr_job *job = &node->job;
  const uint32_t stacked = job->output_count - carried;
  samara_error *error = &frame->session->error;
  if (body->input_count < LOOP_FIXED_INPUTS + carried ||
      body->output_count != 1 + job->output_count)
    SMR_FAIL(error, BAD_MODEL,
             "node '%s': body '%s' has %u inputs and %u outputs; the loop carries %u, stacks %u",
             node->node->name, body->name, (unsigned)body->input_count,
             (unsigned)body->output_count, (unsigned)carried, (unsigned)stacked);
  const struct smr_value *i = &body->values[body->inputs[0]];
  const struct smr_value *c = &body->values[body->inputs[1]];
  const struct smr_value *r = &body->values[body->outputs[0]];
  if (i->dtype != SAMARA_INT64 || i->rank != 0 || c->dtype != SAMARA_BOOL || c->rank != 0 ||
      r->dtype != SAMARA_BOOL || r->rank > 1)
    SMR_FAIL(error, BAD_MODEL,
             "node '%s': body '%s' must take (int64, bool, …) scalars and return a bool first",
             node->node->name, body->name);
  if ((job->inputs[0] != NULL && job->inputs[0]->dtype != SAMARA_INT64) ||
      (job->inputs[1] != NULL && job->inputs[1]->dtype != SAMARA_BOOL))
    SMR_FAIL(error, BAD_MODEL, "node '%s': trip count must be int64 and condition bool",
             node->node->name);
  SMR_TRY(
      smr_control_match_inputs(frame, node, node->callee[0], LOOP_FIXED_INPUTS, LOOP_FIXED_INPUTS));
  SMR_TRY(smr_control_match_outputs(frame, node, node->callee[0], 1, carried));
  for (uint32_t s = 0; s < stacked; s++) {
    const struct smr_tensor *mine = job->outputs[carried + s];
    const struct smr_value *slice = &body->values[body->outputs[1 + carried + s]];
    if (smr_dtype_packed(mine->dtype))
      SMR_FAIL(error, BAD_MODEL, "node '%s': %s cannot be stacked: two elements share a byte",
               node->node->name, smr_dtype_name(mine->dtype));
    if (mine->dtype != slice->dtype || mine->rank != slice->rank + 1)
      SMR_FAIL(error, BAD_MODEL, "node '%s': stacked output '%s' does not fit '%s' of body '%s'",
               node->node->name, mine->name, slice->name, body->name);
  }
  return SAMARA_OK;
}

samara_status smr_loop_build(struct smr_frame *frame, struct smr_frame_node *node) {
  samara_session *session = frame->session;
  const int64_t carried = smr_op_attr_int(&node->job, "carried");
  if (node->job.input_count < LOOP_FIXED_INPUTS || carried < 0 ||
      carried > node->job.output_count ||
      carried > (int64_t)node->job.input_count - LOOP_FIXED_INPUTS)
    SMR_FAIL(&session->error, BAD_MODEL, "node '%s': cannot carry %lld of %u inputs, %u outputs",
             node->node->name, (long long)carried, (unsigned)node->job.input_count,
             (unsigned)node->job.output_count);
  SMR_TRY(loop_check_signature(frame, node, (uint32_t)carried));
  struct smr_loop_state *loop = smr_session_take(session, 1, sizeof *loop);
  if (loop == NULL) goto no_memory;
  node->control = loop;
  loop->carried = (uint32_t)carried;
  loop->stacked = node->job.output_count - loop->carried;
  loop->slice_bytes = smr_session_take(session, loop->stacked, sizeof *loop->slice_bytes);
  loop->slice_dims = smr_session_take(session, loop->stacked, sizeof *loop->slice_dims);
  loop->carries = smr_session_take(session, loop->carried, sizeof *loop->carries);
  if (loop->slice_bytes == NULL || loop->slice_dims == NULL || loop->carries == NULL) {
    loop->carried = 0;
    goto no_memory;
  }
  loop->index = (struct smr_tensor){.data = &loop->index_value,
                                    .pixel_stride = 1,
                                    .size_bytes = sizeof(int64_t),
                                    .name = "iteration",
                                    .constant = -1,
                                    .dtype = SAMARA_INT64};
  loop->condition = (struct smr_tensor){.data = &loop->condition_value,
                                        .pixel_stride = 1,
                                        .size_bytes = 1,
                                        .name = "condition",
                                        .constant = -1,
                                        .dtype = SAMARA_BOOL};
  return SAMARA_OK;
no_memory:
  SMR_FAIL(&session->error, OUT_OF_MEMORY, "node '%s': no memory for the loop", node->node->name);
}

void smr_loop_release(samara_session *session, struct smr_frame_node *node) {
  struct smr_loop_state *loop = node->control;
  for (uint32_t c = 0; loop != NULL && c < loop->carried; c++) {
    smr_block_release(session, &loop->carries[c].blocks[0]);
    smr_block_release(session, &loop->carries[c].blocks[1]);
  }
}

void smr_loop_bounds(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_loop_state *loop = node->control;
  struct smr_frame *body = node->callee[0];
  const struct smr_node *n = node->node;
  for (uint32_t i = LOOP_FIXED_INPUTS; i < n->input_count; i++)
    smr_control_widen(frame, (uint32_t)n->inputs[i], body, i);
  body->called = true;
  // From the second iteration on the body sees what it made itself.
  for (uint32_t c = 0; c < loop->carried; c++)
    smr_control_widen(frame, n->outputs[c], body, LOOP_FIXED_INPUTS + c);
}

samara_status smr_loop_plan(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_loop_state *loop = node->control;
  const struct smr_frame *body = node->callee[0];
  size_t total = 0;
  bool fits = true;
  for (uint32_t c = 0; c < loop->carried; c++) {
    struct smr_loop_carry *carry = &loop->carries[c];
    const struct smr_value *v =
        &body->function->values[body->function->inputs[LOOP_FIXED_INPUTS + c]];
    size_t bytes = smr_dtype_bytes(v->dtype);
    bool bounded = true;
    for (uint32_t axis = 0; axis < v->rank; axis++) {
      const int64_t hi = body->input_hi[LOOP_FIXED_INPUTS + c][axis];
      bounded = bounded && hi != SMR_UNBOUNDED_DIM && (uint64_t)hi <= SIZE_MAX &&
                smr_mul_size(bytes, (size_t)hi, &bytes);
    }
    carry->scratch_offset = total;
    bytes = smr_packed_bytes(v->dtype, bytes);
    carry->scratch_bytes = bounded ? bytes : SMR_UNBOUNDED_BYTES;
    if (bounded) fits = fits && smr_add_size(total, smr_align64(bytes), &total);
  }
  loop->body_offset = total;
  fits = fits && smr_add_size(total, body->arena_bytes, &total);
  if (!fits)
    SMR_FAIL(&frame->session->error, OUT_OF_MEMORY, "node '%s': its buffers do not fit memory",
             node->node->name);
  node->scratch_capacity = total;
  return SAMARA_OK;
}

samara_status smr_loop_check(struct smr_frame *frame, struct smr_frame_node *node) {
  for (uint32_t i = 0; i < LOOP_FIXED_INPUTS; i++)
    if (node->job.inputs[i] != NULL && smr_numel(node->job.inputs[i]) != 1)
      SMR_FAIL(&frame->session->error, BAD_SHAPE, "'%s' has %lld elements, expected 1",
               node->job.inputs[i]->name, (long long)smr_numel(node->job.inputs[i]));
  return SAMARA_OK;
}

// ---- one iteration ----

static void loop_start(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_loop_state *loop = node->control;
  for (uint32_t c = 0; c < loop->carried; c++) {
    struct smr_loop_carry *carry = &loop->carries[c];
    const bool bounded = carry->scratch_bytes != SMR_UNBOUNDED_BYTES;
    carry->now = *node->job.inputs[LOOP_FIXED_INPUTS + c];
    carry->places[0] = smr_value_target(frame, node->node->outputs[c], &carry->capacity[0]);
    if (!bounded) carry->places[0] = NULL;
    carry->places[1] = bounded ? (uint8_t *)node->job.scratch + carry->scratch_offset : NULL;
    carry->capacity[1] = bounded ? carry->scratch_bytes : 0;
    carry->next = 0;
  }
}

// Where slice `trip` of stacked output `s` goes; NULL while its size or place is unknown. LIMIT
// when the planned bytes are used up.
static samara_status loop_slice(struct smr_frame *frame, struct smr_frame_node *node, uint32_t s,
                                int64_t trip, void **place, size_t *capacity_bytes) {
  const struct smr_loop_state *loop = node->control;
  const uint32_t id = node->node->outputs[loop->carried + s];
  size_t capacity = 0, used = 0, need = 0;
  uint8_t *base = smr_value_target(frame, id, &capacity);
  *place = base;
  *capacity_bytes = capacity;
  if (base == NULL || trip == 0) return SAMARA_OK;
  if (!smr_mul_size((size_t)trip, loop->slice_bytes[s], &used) ||
      !smr_add_size(used, loop->slice_bytes[s], &need) || need > capacity)
    SMR_FAIL(&frame->session->error, LIMIT,
             "'%s' needs %zu bytes after iteration %lld, but %zu are planned by its bounds",
             frame->values[id].tensor.name, need, (long long)trip, capacity);
  *place = base + used;
  *capacity_bytes = capacity - used;
  return SAMARA_OK;
}

static samara_status loop_enter(struct smr_frame *frame, struct smr_frame_node *node,
                                int64_t trip) {
  struct smr_loop_state *loop = node->control;
  struct smr_frame *body = node->callee[0];
  loop->index_value = trip;
  loop->condition_value = 1;
  body->given_inputs[0] = &loop->index;
  body->given_inputs[1] = &loop->condition;
  body->given_data[0] = &loop->condition_result;
  body->given_capacity[0] = 1;
  for (uint32_t c = 0; c < loop->carried; c++) {
    struct smr_loop_carry *carry = &loop->carries[c];
    body->given_inputs[LOOP_FIXED_INPUTS + c] = &carry->now;
    body->given_data[1 + c] = carry->places[carry->next];
    body->given_capacity[1 + c] = carry->capacity[carry->next];
  }
  for (uint32_t i = LOOP_FIXED_INPUTS + loop->carried; i < node->job.input_count; i++)
    body->given_inputs[i] = node->job.inputs[i];
  for (uint32_t s = 0; s < loop->stacked; s++)
    SMR_TRY(loop_slice(frame, node, s, trip, &body->given_data[1 + loop->carried + s],
                       &body->given_capacity[1 + loop->carried + s]));
  return smr_frame_enter(body, (uint8_t *)node->job.scratch + loop->body_offset);
}

// Take carried value `c` out of the body: it is in its place, is the same input again, or is
// copied.
static samara_status loop_take_carried(struct smr_frame *frame, struct smr_frame_node *node,
                                       uint32_t c) {
  struct smr_loop_state *loop = node->control;
  struct smr_loop_carry *carry = &loop->carries[c];
  const struct smr_tensor *out = smr_frame_output(node->callee[0], 1 + c);
  void *place = carry->places[carry->next];
  if (out->data == carry->now.data && out->data != place) {
    memcpy(carry->now.dims, out->dims, sizeof carry->now.dims);
    return SAMARA_OK;
  }
  if (out->data != place) {
    if (place == NULL) {
      struct smr_block *block = &carry->blocks[carry->next];
      SMR_TRY(smr_block_ensure(frame->session, block, out->size_bytes, 0, out->name));
      place = block->data;
    } else if (out->size_bytes > carry->capacity[carry->next]) {
      SMR_FAIL(&frame->session->error, LIMIT, "'%s' has %zu bytes, but %zu are planned", out->name,
               out->size_bytes, carry->capacity[carry->next]);
    }
    if (out->size_bytes != 0) memcpy(place, out->data, out->size_bytes);
  }
  memcpy(carry->now.dims, out->dims, sizeof carry->now.dims);
  carry->now.size_bytes = out->size_bytes;
  carry->now.data = place;
  carry->next ^= 1u;
  return SAMARA_OK;
}

static samara_status loop_take_stacked(struct smr_frame *frame, struct smr_frame_node *node,
                                       uint32_t s, int64_t trip) {
  struct smr_loop_state *loop = node->control;
  samara_session *session = frame->session;
  const struct smr_tensor *out = smr_frame_output(node->callee[0], 1 + loop->carried + s);
  const uint32_t id = node->node->outputs[loop->carried + s];
  if (trip == 0) {
    loop->slice_bytes[s] = out->size_bytes;
    memcpy(loop->slice_dims[s], out->dims, sizeof out->dims);
  } else if (memcmp(loop->slice_dims[s], out->dims, out->rank * sizeof *out->dims) != 0) {
    SMR_FAIL(&session->error, BAD_SHAPE, "stacked output '%s' changes its dims in iteration %lld",
             node->job.outputs[loop->carried + s]->name, (long long)trip);
  }
  void *place = NULL;
  size_t capacity = 0, used, need;
  SMR_TRY(loop_slice(frame, node, s, trip, &place, &capacity));
  if (place != NULL && out->size_bytes > capacity)
    SMR_FAIL(&session->error, LIMIT, "'%s' has %zu bytes, but %zu are planned by its bounds",
             out->name, out->size_bytes, capacity);
  if (place == NULL) {
    struct smr_block *own = &frame->values[id].own;
    if (!smr_mul_size((size_t)trip, out->size_bytes, &used) ||
        !smr_add_size(used, out->size_bytes, &need))
      SMR_FAIL(&session->error, OUT_OF_MEMORY, "'%s' is too large", out->name);
    const size_t twice = own->size_bytes <= SIZE_MAX / 4 ? 2 * own->size_bytes : need;
    const size_t ask = need > own->size_bytes && need < twice ? twice : need;
    SMR_TRY(smr_block_ensure(session, own, ask, used, out->name));
    place = (uint8_t *)own->data + used;
  }
  if (out->data != place && out->size_bytes != 0) memcpy(place, out->data, out->size_bytes);
  return SAMARA_OK;
}

static samara_status loop_finish(struct smr_frame *frame, struct smr_frame_node *node,
                                 int64_t trips) {
  struct smr_loop_state *loop = node->control;
  for (uint32_t c = 0; c < loop->carried; c++)
    SMR_TRY(smr_control_take(frame, node, c, &loop->carries[c].now));
  for (uint32_t s = 0; s < loop->stacked; s++) {
    struct smr_tensor *to = node->job.outputs[loop->carried + s];
    int64_t dims[SAMARA_MAX_RANK] = {0};
    // Without an iteration nobody knows the slice; what expressions say of it holds.
    SMR_TRY(smr_value_known_dims(frame, node->node->outputs[loop->carried + s], node->node->stage));
    memcpy(dims, to->dims, sizeof dims);
    dims[0] = trips;
    if (trips > 0) memcpy(dims + 1, loop->slice_dims[s], (to->rank - 1u) * sizeof *dims);
    SMR_TRY(smr_value_settle(frame, node, loop->carried + s, dims));
  }
  return SAMARA_OK;
}

samara_status smr_loop_run(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_loop_state *loop = node->control;
  const struct smr_job *job = &node->job;
  int64_t most = INT64_MAX, trip = 0;
  if (job->inputs[0] != NULL) memcpy(&most, job->inputs[0]->data, sizeof most);
  bool going = job->inputs[1] == NULL || *(const uint8_t *)job->inputs[1]->data != 0;
  loop_start(frame, node);
  for (; going && trip < most; trip++) {
    SMR_TRY(smr_session_tick(frame->session));
    SMR_TRY(loop_enter(frame, node, trip));
    SMR_TRY(smr_frame_run(node->callee[0]));
    const struct smr_tensor *result = smr_frame_output(node->callee[0], 0);
    if (smr_numel(result) != 1)
      SMR_FAIL(&frame->session->error, BAD_SHAPE, "the body's condition has %lld elements",
               (long long)smr_numel(result));
    going = *(const uint8_t *)result->data != 0;
    for (uint32_t c = 0; c < loop->carried; c++) SMR_TRY(loop_take_carried(frame, node, c));
    for (uint32_t s = 0; s < loop->stacked; s++) SMR_TRY(loop_take_stacked(frame, node, s, trip));
  }
  return loop_finish(frame, node, trip);
}
