// SPDX-License-Identifier: Apache-2.0
// Control operators: shared code, `if`, `call` and `trap`. Callees and their signatures are valid:
// the file reader checked them (model/calls.c).
#include "base/fp.h"

#include "session/control/control.h"

#include "ops/table/attrs.h"

enum smr_control smr_control_kind(const struct smr_op *op) {
  _Static_assert(SMR_CODE_CUSTOM - SMR_CODE_IF == SMR_CONTROL_CUSTOM - SMR_CONTROL_IF &&
                     SMR_CODE_LOOP - SMR_CODE_IF == SMR_CONTROL_LOOP - SMR_CONTROL_IF &&
                     SMR_CODE_CALL - SMR_CODE_IF == SMR_CONTROL_CALL - SMR_CONTROL_IF &&
                     SMR_CODE_TRAP - SMR_CODE_IF == SMR_CONTROL_TRAP - SMR_CONTROL_IF,
                 "kinds are in the order of the codes");
  if ((op->flags & SMR_OP_CONTROL) == 0) return SMR_CONTROL_NONE;
  return (enum smr_control)(op->code - SMR_CODE_IF + SMR_CONTROL_IF);
}

static bool control_is(const struct smr_frame_node *node, enum smr_control kind) {
  return node->kind == kind;
}

// Inputs of the node that precede those passed to callees.
static uint32_t control_own_inputs(const struct smr_frame_node *node) {
  return SMR_HAS(control_if) && control_is(node, SMR_CONTROL_IF) ? 1 : 0;
}

// ---- building ----

static samara_status control_need(const struct smr_frame_node *node) {
  const struct smr_job *job = &node->job;
  switch ((enum smr_control)node->kind) {
    case SMR_CONTROL_IF:
      SMR_NEED(job, control_if);
      break;
    case SMR_CONTROL_LOOP:
      SMR_NEED(job, control_loop);
      break;
    case SMR_CONTROL_CALL:
      SMR_NEED(job, control_call);
      break;
    case SMR_CONTROL_TRAP:
      SMR_NEED(job, control_trap);
      break;
    default:
      SMR_NEED(job, custom);
      break;
  }
  return SAMARA_OK;
}

samara_status smr_control_callees(const struct smr_frame_node *node, uint32_t *count) {
  static const uint8_t callees[] = {[SMR_CONTROL_IF] = 2,
                                    [SMR_CONTROL_LOOP] = 1,
                                    [SMR_CONTROL_CALL] = 1,
                                    [SMR_CONTROL_CUSTOM] = 0};
  _Static_assert(SMR_ATTR_INDEX(if, then) == 0 && SMR_ATTR_INDEX(if, orelse) == 1 &&
                     SMR_ATTR_INDEX(loop, body) == 0 && SMR_ATTR_INDEX(call, body) == 0,
                 "callees come first");
  *count = callees[node->kind];
  return control_need(node);
}

samara_status smr_control_build(struct smr_frame *frame, struct smr_frame_node *node,
                                const struct smr_custom_ops *custom) {
  node->late = true;
  if (SMR_HAS(control_loop) && control_is(node, SMR_CONTROL_LOOP))
    return smr_loop_build(frame, node);
  if (SMR_HAS(custom) && control_is(node, SMR_CONTROL_CUSTOM))
    return smr_custom_build(frame, node, custom);
  return SAMARA_OK;
}

// ---- planning ----

void smr_control_bounds(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_node *n = node->node;
  const bool is_loop = SMR_HAS(control_loop) && control_is(node, SMR_CONTROL_LOOP);
  const uint32_t own = control_own_inputs(node);
  for (uint32_t k = 0; k < 2 && node->callee[k] != NULL; k++) {
    for (uint32_t i = is_loop ? SMR_LOOP_FIXED : own; i < n->input_count; i++)
      smr_frame_widen_input(frame, (uint32_t)n->inputs[i], node->callee[k], i - own);
    node->callee[k]->called = true;
  }
  // From its second iteration on, a loop's body reads its own outputs.
  for (uint32_t i = 0; is_loop && i < node->attrs[SMR_ATTR_INDEX(loop, carried)].i; i++)
    smr_frame_widen_input(frame, n->outputs[i], node->callee[0], SMR_LOOP_FIXED + i);
}

samara_status smr_control_plan(struct smr_frame_node *node) {
  if (SMR_HAS(control_loop) && control_is(node, SMR_CONTROL_LOOP)) return smr_loop_plan(node);
  node->scratch_capacity = 0;
  for (uint32_t k = 0; k < 2 && node->callee[k] != NULL; k++)
    if (node->callee[k]->arena_bytes > node->scratch_capacity)
      node->scratch_capacity = node->callee[k]->arena_bytes;
  return SAMARA_OK;
}

// ---- running ----

samara_status smr_control_take(struct smr_frame *frame, struct smr_frame_node *node,
                               uint32_t output, const struct smr_tensor *from) {
  SMR_TRY(smr_value_settle(frame, node, output, from->dims));
  return smr_value_copy(frame->common, from, node->job.outputs[output]->data);
}

// Run a callee on the node's inputs and outputs.
static samara_status control_call(struct smr_frame *frame, struct smr_frame_node *node,
                                  struct smr_frame *callee) {
  const struct smr_job *job = &node->job;
  const uint32_t own = control_own_inputs(node);
  for (uint32_t i = own; i < job->input_count; i++) callee->given_inputs[i - own] = job->inputs[i];
  for (uint32_t i = 0; i < job->output_count; i++)
    callee->given_data[i] =
        smr_value_target(frame, node->node->outputs[i], &callee->given_capacity[i]);
  SMR_TRY(smr_frame_enter(callee, job->scratch));
  SMR_TRY(smr_frame_run(callee));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_control_take(frame, node, i, smr_frame_output(callee, i)));
  return SAMARA_OK;
}

samara_status smr_control_run(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_job *job = &node->job;
  if (SMR_HAS(control_loop) && control_is(node, SMR_CONTROL_LOOP)) return smr_loop_run(frame, node);
  if (SMR_HAS(custom) && control_is(node, SMR_CONTROL_CUSTOM)) return smr_custom_run(frame, node);
  if (SMR_HAS(control_trap) && control_is(node, SMR_CONTROL_TRAP)) {
    const struct smr_attr *message = &node->attrs[SMR_ATTR_INDEX(trap, message)];
    SMR_FAIL(job->error, TRAP, "%.*s", (int)(message->count < 400 ? message->count : 400),
             message->text != NULL ? message->text : "");
  }
  if (!SMR_HAS(control_if) && !SMR_HAS(control_call)) return SAMARA_OK;
  bool condition = true;
  if (SMR_HAS(control_if) && control_is(node, SMR_CONTROL_IF))
    SMR_TRY(smr_value_read_bool(frame->common, job->inputs[0], &condition));
  return control_call(frame, node, node->callee[condition ? 0 : 1]);
}
