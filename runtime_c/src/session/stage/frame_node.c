// SPDX-License-Identifier: Apache-2.0
// Prepares one node: attributes, check, prepare, derived layouts, scratch.
#include "base/fp.h"

#include "session/stage/stage.h"

#include <string.h>

#include "base/checked.h"
#include "ops/check/check.h"

// Attributes given by expressions, from exact values or from upper bounds.
static void node_evaluate_attrs(struct smr_frame *frame, struct smr_frame_node *node, bool exact) {
  for (uint32_t i = 0; i < node->node->op->attr_count; i++) {
    const struct smr_node_attr *from = &node->node->attrs[i];
    struct smr_attr *attr = &node->attrs[i];
    if (from->exprs == NULL) continue;
    int64_t *out = from->is_list ? (int64_t *)(uintptr_t)attr->ints : &attr->i;
    for (uint32_t k = 0; k < from->expr_count; k++) {
      const uint32_t e = from->exprs[k];
      out[k] = exact ? frame->exprs[e] : frame->hi[e];
      if (!exact && out[k] == SMR_UNBOUNDED_DIM)
        out[k] = frame->lo[e] > INT64_MIN ? frame->lo[e] : 0;
    }
  }
}

samara_status smr_node_prepare_run(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_job *job = &node->job;
  job->tiles = 0;
  job->scratch_bytes = 0;
  job->thread_scratch_bytes = 0;
  memset(job->barriers, 0, sizeof job->barriers);
  memset(job->derived, 0, sizeof job->derived);
  job->kernel = job->op->name;
  job->choice.count = 0;
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  SMR_TRY(smr_op_prepare(job));
  for (uint32_t i = 0; i < SMR_MAX_DERIVED && job->derived[i].input >= 0; i++) {
    struct smr_derived *derived = &job->derived[i];
    SMR_TRY(smr_model_derived(frame->common->model, job->inputs[derived->input]->constant, job,
                              derived, &derived->data, job->error));
  }
  node->prepared = true;
  return SAMARA_OK;
}

// Check, and prepare if there is something to run.
static samara_status node_check(struct smr_frame *frame, struct smr_frame_node *node,
                                bool prepares) {
  const struct smr_job *job = &node->job;
  if (SMR_HAS(custom) && node->kind == SMR_CONTROL_CUSTOM) return smr_custom_check(frame, node);
  if (smr_node_control(node) != SMR_CONTROL_NONE) return SAMARA_OK;
  SMR_TRY(smr_op_check(job));
  if (SMR_HAS(views) && node->alias && job->inputs[0]->size_bytes != job->outputs[0]->size_bytes)
    SMR_FAIL(job->error, BAD_SHAPE, "a view cannot change %zu bytes to %zu",
             job->inputs[0]->size_bytes, job->outputs[0]->size_bytes);
  if (!prepares || smr_node_is_view(node) || smr_node_space(node) != 0) return SAMARA_OK;
  return smr_node_prepare_run(frame, node);
}

samara_status smr_node_prepare(struct smr_frame *frame, struct smr_frame_node *node) {
  node->prepared = false;
  node_evaluate_attrs(frame, node, true);
  for (uint32_t i = 0; node->late && i < node->node->output_count; i++)
    SMR_TRY(smr_value_known_dims(frame, node->node->outputs[i], node->node->stage));
  const samara_status status = node_check(frame, node, !node->late);
  return status == SAMARA_OK ? status : smr_node_fail(frame, node, status);
}

samara_status smr_node_estimate(struct smr_frame *frame, struct smr_frame_node *node) {
  node->prepared = false;
  if (smr_node_is_view(node) || smr_node_control(node) != SMR_CONTROL_NONE ||
      smr_node_space(node) != 0)
    return SAMARA_OK;
  node_evaluate_attrs(frame, node, false);
  const samara_status status = node_check(frame, node, true);
  if (status == SAMARA_OK) node->scratch_capacity = smr_node_scratch(frame, node);
  node->prepared = false;
  if (status == SAMARA_OUT_OF_MEMORY) return smr_node_fail(frame, node, status);
  return smr_session_forgive(frame->common);
}

size_t smr_node_scratch(const struct smr_frame *frame, const struct smr_frame_node *node) {
  const struct smr_job *job = &node->job;
  const size_t threads = SMR_HAS(threads) ? frame->common->threads : 1;
  size_t bytes;
  if (!smr_mul_size(smr_align64(job->thread_scratch_bytes), threads, &bytes) ||
      !smr_add_size(smr_align64(job->scratch_bytes), bytes, &bytes))
    return SIZE_MAX;
  return bytes;
}
