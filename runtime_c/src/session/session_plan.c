// SPDX-License-Identifier: Apache-2.0
// Plans a session for the dims of its inputs: bounds from callers to callees, then memory from
// callees to callers.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

// Evaluate and prepare stage 0 if its dims are known. A callee that fails cannot run with these
// dims; the failure is reported when it is called.
static samara_status plan_enter(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  const size_t dims_bytes = f->input_count * sizeof *frame->input_dims;
  frame->planned = frame->entered = frame->growing = false;
  memset(frame->stage_valid, 0, smr_stage_count(f));
  // Beyond a value's rank all dims are 0.
  if (SMR_HAS_BOUNDS && memcmp(frame->input_lo, frame->input_hi, dims_bytes) != 0) return SAMARA_OK;
  memcpy(frame->input_dims, frame->input_lo, dims_bytes);
  const samara_status status = smr_frame_stage(frame, 0);
  frame->entered = status == SAMARA_OK;
  if (!SMR_HAS_CONTROL || frame->is_entry || status == SAMARA_OUT_OF_MEMORY) return status;
  // A failed device must be left at once, also in a callee.
  if (SMR_HAS(backends) && frame->common->devices != NULL && frame->common->devices->failed)
    return status;
  return smr_session_forgive(frame->common);
}

// Also checks inputs: a callee may get a value without bound from its caller.
static bool plan_is_bounded(const struct smr_frame *frame) {
  for (uint32_t i = 0; i < frame->function->value_count; i++)
    if (frame->function->values[i].constant < 0 &&
        smr_value_bytes_bound(frame, i) == SMR_UNBOUNDED_BYTES)
      return false;
  return true;
}

// Plan scratch of nodes: exact if they are prepared, else for upper-bound dims.
static samara_status plan_scratch(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; SMR_HAS_BOUNDS && i < f->value_count; i++) {
    struct smr_frame_value *value = &frame->values[i];
    if (f->values[i].constant >= 0 ||
        (frame->entered && (!SMR_HAS(late) || value->dims_stage == 0)))
      continue;
    for (uint32_t axis = 0; axis < f->values[i].rank; axis++)
      value->tensor.dims[axis] = smr_value_dim_bound(frame, i, axis);
    SMR_TRY(smr_value_size(frame, i));
  }
  for (uint32_t n = 0; n < f->node_count; n++) {
    struct smr_frame_node *node = &frame->nodes[n];
    const enum smr_control control = smr_node_control(node);
    if (control != SMR_CONTROL_NONE && control != SMR_CONTROL_CUSTOM) continue;
    node->scratch_capacity = 0;
    if (node->prepared &&
        (!SMR_HAS_BOUNDS || (frame->entered && node->node->stage == 0 && !node->late)))
      node->scratch_capacity = smr_node_scratch(frame, node);
    else if (SMR_HAS_BOUNDS)
      SMR_TRY(smr_node_estimate(frame, node));
  }
  return SAMARA_OK;
}

// Allocate blocks whose size is known, so that a run need not.
static samara_status plan_blocks(struct smr_frame *frame) {
  for (uint32_t i = 0; i < frame->function->value_count; i++) {
    struct smr_frame_value *value = &frame->values[i];
    size_t bytes = SMR_UNBOUNDED_BYTES;
    if (value->root == i && value->home == SMR_HOME_OWN) bytes = value->capacity_bytes;
    if (smr_value_kept(value) && smr_value_gap(value) != 0) bytes = smr_value_bytes_bound(frame, i);
    if (bytes != SMR_UNBOUNDED_BYTES)
      SMR_TRY(smr_block_ensure(frame->common, &value->own, bytes, 0, value->tensor.name));
  }
  return SAMARA_OK;
}

// Allocate copies for results whose bytes the frame does not keep.
static samara_status plan_copies(samara_session *session) {
  const struct smr_frame *frame = session->entry;
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->output_count; i++) {
    const uint8_t home = frame->values[frame->values[f->outputs[i]].root].home;
    const size_t bytes = smr_value_bytes_bound(frame, f->outputs[i]);
    if (smr_bound(session->outputs[i].variable) ||
        (SMR_HAS(late) && bytes == SMR_UNBOUNDED_BYTES) || home == SMR_HOME_ARENA ||
        home == SMR_HOME_OWN)
      continue;
    SMR_TRY(smr_block_ensure(&session->common, &session->outputs[i].copy, bytes, 0,
                             f->output_names[i]));
  }
  return SAMARA_OK;
}

// A growing frame is planned stage by stage during its run.
static samara_status plan_grow(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  samara_session *session = frame->session;
  SMR_NEED_IN(&session->common.parts, &session->error, late);
  for (uint32_t n = 0; n < f->node_count; n++)
    if (frame->nodes[n].callee[0] == NULL) frame->nodes[n].scratch_capacity = 0;
  for (uint32_t i = 0; i < f->value_count; i++) frame->values[i].home = SMR_HOME_NONE;
  memset(frame->stage_valid, 0, smr_stage_count(f));
  frame->growing = true;
  if (session->warned_growing) return SAMARA_OK;
  session->warned_growing = true;
  smr_session_log(&session->common, SAMARA_LOG_WARNING,
                  "function '%s' has a tensor without upper bound: runs may allocate", f->name);
  return SAMARA_OK;
}

static samara_status plan_frame(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  frame->arena_bytes = 0;
  for (uint32_t n = 0; n < f->node_count; n++)
    if (SMR_HAS_CONTROL && frame->nodes[n].callee[0] != NULL)
      SMR_TRY(smr_control_plan(&frame->nodes[n]));
  if (!SMR_HAS_BOUNDS || plan_is_bounded(frame)) {
    SMR_TRY(plan_scratch(frame));
    smr_frame_place(frame, 0, smr_stage_count(f));
    SMR_TRY(smr_frame_plan(frame, 0, smr_stage_count(f), &frame->arena_bytes));
    SMR_TRY(plan_blocks(frame));
  } else {
    SMR_TRY(plan_grow(frame));
  }
  frame->planned = true;
  return SAMARA_OK;
}

samara_status smr_session_plan(samara_session *session) {
  if (SMR_HAS(backends)) SMR_TRY(smr_session_leave(session));
  struct smr_frame *entry = session->entry;
  for (uint32_t i = 0; i < session->frames.count; i++) session->frames.order[i]->called = false;
  for (uint32_t i = 0; i < session->function->input_count; i++) {
    memcpy(entry->input_lo[i], session->inputs[i].dims, sizeof entry->input_lo[i]);
    memcpy(entry->input_hi[i], session->inputs[i].dims, sizeof entry->input_hi[i]);
  }
  for (uint32_t i = session->frames.count; i-- > 0;) {
    struct smr_frame *frame = session->frames.order[i];
    SMR_TRY(plan_enter(frame));
    smr_frame_bounds(frame, frame->entered ? 1 : 0);
    for (uint32_t n = 0; n < frame->function->node_count; n++)
      if (SMR_HAS_CONTROL && frame->nodes[n].callee[0] != NULL)
        smr_control_bounds(frame, &frame->nodes[n]);
  }
  for (uint32_t i = 0; i < session->frames.count; i++)
    SMR_TRY(plan_frame(session->frames.order[i]));
  if (!entry->growing)
    SMR_TRY(
        smr_block_ensure(&session->common, &session->arena, entry->arena_bytes, 0, "the arena"));
  SMR_TRY(plan_copies(session));
  entry->base = session->arena.data;
  const samara_status status = entry->growing ? smr_frame_stage(entry, 0) : SAMARA_OK;
  if (SMR_HAS(backends) && status == SAMARA_OK) smr_away_plan(session);
  return status;
}
