// SPDX-License-Identifier: Apache-2.0
// Control operators: what they share, and calls of functions.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

#include "ops/attrs.h"
#include "ops/opattrs.h"

enum smr_control smr_control_kind(const struct smr_op *op) {
  if ((op->flags & SMR_OP_CONTROL) == 0) return SMR_CONTROL_NONE;
  switch (op->code) {
    case SMR_CODE_IF:
      return SMR_CONTROL_IF;
    case SMR_CODE_LOOP:
      return SMR_CONTROL_LOOP;
    case SMR_CODE_CALL:
      return SMR_CONTROL_CALL;
    case SMR_CODE_TRAP:
      return SMR_CONTROL_TRAP;
    default:
      return SMR_CONTROL_CUSTOM;
  }
}

// ---- signatures ----

static samara_status control_match(struct smr_frame *frame, struct smr_frame_node *node,
                                   const struct smr_frame *callee, const struct smr_tensor *mine,
                                   uint32_t value, const char *what) {
  const struct smr_value *theirs = &callee->function->values[value];
  if (mine->dtype == theirs->dtype && mine->rank == theirs->rank) return SAMARA_OK;
  SMR_FAIL(&frame->session->error, BAD_MODEL,
           "node '%s': %s '%s' is %s of rank %u, but '%s' of function '%s' is %s of rank %u",
           node->node->name, what, mine->name, smr_dtype_name(mine->dtype), (unsigned)mine->rank,
           theirs->name, callee->function->name, smr_dtype_name(theirs->dtype),
           (unsigned)theirs->rank);
}

samara_status smr_control_match_inputs(struct smr_frame *frame, struct smr_frame_node *node,
                                       const struct smr_frame *callee, uint32_t first,
                                       uint32_t callee_first) {
  const struct smr_job *job = &node->job;
  if (job->input_count < first ||
      job->input_count - first != callee->function->input_count - callee_first)
    SMR_FAIL(&frame->session->error, BAD_MODEL, "node '%s': function '%s' takes %u inputs, not %u",
             node->node->name, callee->function->name, (unsigned)callee->function->input_count,
             (unsigned)(job->input_count - first + callee_first));
  for (uint32_t i = first; i < job->input_count; i++) {
    if (job->inputs[i] == NULL)
      SMR_FAIL(&frame->session->error, BAD_MODEL, "node '%s': input %u is required",
               node->node->name, (unsigned)i);
    SMR_TRY(control_match(frame, node, callee, job->inputs[i],
                          callee->function->inputs[i - first + callee_first], "input"));
  }
  return SAMARA_OK;
}

samara_status smr_control_match_outputs(struct smr_frame *frame, struct smr_frame_node *node,
                                        const struct smr_frame *callee, uint32_t callee_first,
                                        uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    SMR_TRY(control_match(frame, node, callee, node->job.outputs[i],
                          callee->function->outputs[callee_first + i], "output"));
  return SAMARA_OK;
}

static samara_status control_callee(struct smr_frame *frame, struct smr_frame_node *node,
                                    const char *attr, uint32_t index, uint32_t depth) {
  const int64_t function = smr_op_attr_int(&node->job, attr);
  if (function < 0 || function >= frame->session->model->function_count)
    SMR_FAIL(&frame->session->error, BAD_MODEL, "node '%s': there is no function %lld",
             node->node->name, (long long)function);
  SMR_TRY(smr_frame_build(frame->session, (uint32_t)function, depth + 1, &node->callee[index]));
  if (node->callee[index]->function->read_count != 0 ||
      node->callee[index]->function->write_count != 0)
    SMR_FAIL(&frame->session->error, BAD_MODEL, "node '%s': function '%s' is bound to variables",
             node->node->name, node->callee[index]->function->name);
  return SAMARA_OK;
}

samara_status smr_control_build(struct smr_frame *frame, struct smr_frame_node *node,
                                uint32_t depth) {
  switch ((enum smr_control)node->kind) {
    case SMR_CONTROL_IF:
      SMR_TRY(control_callee(frame, node, "then", 0, depth));
      SMR_TRY(control_callee(frame, node, "orelse", 1, depth));
      return smr_if_build(frame, node);
    case SMR_CONTROL_LOOP:
      SMR_TRY(control_callee(frame, node, "body", 0, depth));
      return smr_loop_build(frame, node);
    case SMR_CONTROL_CALL:
      SMR_TRY(control_callee(frame, node, "body", 0, depth));
      return smr_call_build(frame, node);
    case SMR_CONTROL_CUSTOM:
      return smr_custom_build(frame, node);
    default:
      return SAMARA_OK;
  }
}

// ---- planning ----

void smr_control_widen(const struct smr_frame *frame, uint32_t value, struct smr_frame *callee,
                       uint32_t input) {
  for (uint32_t axis = 0; axis < frame->function->values[value].rank; axis++) {
    const int64_t lo = frame->lo[frame->function->values[value].dims[axis]];
    smr_frame_widen_input(callee, input, axis, lo > 0 ? lo : 0,
                          smr_value_dim_bound(frame, value, axis));
  }
}

void smr_control_bounds(struct smr_frame *frame, struct smr_frame_node *node) {
  if (node->kind == SMR_CONTROL_LOOP) {
    smr_loop_bounds(frame, node);
    return;
  }
  const uint32_t first = node->kind == SMR_CONTROL_IF ? 1 : 0;
  for (uint32_t k = 0; k < 2 && node->callee[k] != NULL; k++) {
    for (uint32_t i = first; i < node->node->input_count; i++)
      smr_control_widen(frame, (uint32_t)node->node->inputs[i], node->callee[k], i - first);
    node->callee[k]->called = true;
  }
}

samara_status smr_control_plan(struct smr_frame *frame, struct smr_frame_node *node) {
  if (node->kind == SMR_CONTROL_LOOP) return smr_loop_plan(frame, node);
  node->scratch_capacity = 0;
  for (uint32_t k = 0; k < 2 && node->callee[k] != NULL; k++)
    if (node->callee[k]->arena_bytes > node->scratch_capacity)
      node->scratch_capacity = node->callee[k]->arena_bytes;
  return SAMARA_OK;
}

// ---- running ----

samara_status smr_control_check(struct smr_frame *frame, struct smr_frame_node *node) {
  switch ((enum smr_control)node->kind) {
    case SMR_CONTROL_IF:
      return smr_if_check(frame, node);
    case SMR_CONTROL_LOOP:
      return smr_loop_check(frame, node);
    case SMR_CONTROL_CUSTOM:
      return smr_custom_check(frame, node);
    default:
      return SAMARA_OK;
  }
}

samara_status smr_control_run(struct smr_frame *frame, struct smr_frame_node *node) {
  switch ((enum smr_control)node->kind) {
    case SMR_CONTROL_IF:
      return smr_if_run(frame, node);
    case SMR_CONTROL_LOOP:
      return smr_loop_run(frame, node);
    case SMR_CONTROL_CALL:
      return smr_control_call(frame, node, node->callee[0], 0);
    case SMR_CONTROL_TRAP:
      return smr_trap_run(frame, node);
    default:
      return smr_custom_run(frame, node);
  }
}

const struct smr_tensor *smr_frame_output(const struct smr_frame *frame, uint32_t output) {
  return &frame->values[frame->function->outputs[output]].tensor;
}

samara_status smr_control_take(struct smr_frame *frame, struct smr_frame_node *node,
                               uint32_t output, const struct smr_tensor *from) {
  const struct smr_tensor *to = node->job.outputs[output];
  SMR_TRY(smr_value_settle(frame, node, output, from->dims));
  if (to->data != from->data && to->size_bytes != 0) memcpy(to->data, from->data, to->size_bytes);
  return SAMARA_OK;
}

samara_status smr_control_call(struct smr_frame *frame, struct smr_frame_node *node,
                               struct smr_frame *callee, uint32_t first) {
  const struct smr_job *job = &node->job;
  for (uint32_t i = first; i < job->input_count; i++)
    callee->given_inputs[i - first] = job->inputs[i];
  for (uint32_t i = 0; i < job->output_count; i++)
    callee->given_data[i] =
        smr_value_target(frame, node->node->outputs[i], &callee->given_capacity[i]);
  SMR_TRY(smr_frame_enter(callee, job->scratch));
  SMR_TRY(smr_frame_run(callee));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_control_take(frame, node, i, smr_frame_output(callee, i)));
  return SAMARA_OK;
}

samara_status smr_call_build(struct smr_frame *frame, struct smr_frame_node *node) {
  if (node->callee[0]->function->output_count != node->node->output_count)
    SMR_FAIL(&frame->session->error, BAD_MODEL, "node '%s': function '%s' has %u outputs, not %u",
             node->node->name, node->callee[0]->function->name,
             (unsigned)node->callee[0]->function->output_count, (unsigned)node->node->output_count);
  SMR_TRY(smr_control_match_inputs(frame, node, node->callee[0], 0, 0));
  return smr_control_match_outputs(frame, node, node->callee[0], 0, node->node->output_count);
}
