// SPDX-License-Identifier: Apache-2.0
// The operator `if`: condition, captures -> outputs of the function chosen.
#include "base/fp.h"

#include "session/session.h"

samara_status smr_if_build(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_job *job = &node->job;
  if (job->input_count == 0 || job->inputs[0] == NULL || job->inputs[0]->dtype != SAMARA_BOOL)
    SMR_FAIL(&frame->session->error, BAD_MODEL, "node '%s': its condition is not a bool",
             node->node->name);
  for (uint32_t k = 0; k < 2; k++) {
    const struct smr_frame *callee = node->callee[k];
    if (callee->function->output_count != node->node->output_count)
      SMR_FAIL(&frame->session->error, BAD_MODEL, "node '%s': function '%s' has %u outputs, not %u",
               node->node->name, callee->function->name, (unsigned)callee->function->output_count,
               (unsigned)node->node->output_count);
    SMR_TRY(smr_control_match_inputs(frame, node, callee, 1, 0));
    SMR_TRY(smr_control_match_outputs(frame, node, callee, 0, node->node->output_count));
  }
  return SAMARA_OK;
}

samara_status smr_if_check(struct smr_frame *frame, struct smr_frame_node *node) {
  const int64_t count = smr_numel(node->job.inputs[0]);
  if (count == 1) return SAMARA_OK;
  SMR_FAIL(&frame->session->error, BAD_SHAPE, "the condition has %lld elements, expected 1",
           (long long)count);
}

samara_status smr_if_run(struct smr_frame *frame, struct smr_frame_node *node) {
  const bool condition = *(const uint8_t *)node->job.inputs[0]->data != 0;
  return smr_control_call(frame, node, node->callee[condition ? 0 : 1], 1);
}
