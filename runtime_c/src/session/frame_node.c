// SPDX-License-Identifier: Apache-2.0
// Getting one node ready: attributes, check, prepare, derived layouts, scratch.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

#include "base/checked.h"
#include "ops/check.h"

// Attributes given by expressions, from exact values or from upper bounds.
static void node_evaluate_attrs(struct smr_frame *frame, struct smr_frame_node *node, bool exact) {
  for (uint32_t i = 0; i < node->node->op->attr_count; i++) {
    const struct smr_node_attr *from = &node->node->attrs[i];
    if (from->exprs == NULL) continue;
    for (uint32_t k = 0; k < from->expr_count; k++) {
      const uint32_t e = from->exprs[k];
      int64_t value = frame->exprs[e];
      if (!exact) {
        value = frame->hi[e];
        if (value == SMR_UNBOUNDED_DIM) value = frame->lo[e] > INT64_MIN ? frame->lo[e] : 0;
      }
      if (from->is_list)
        node->attr_dims[i][k] = value;
      else
        node->attrs[i].i = value;
    }
  }
}

const struct smr_source *smr_node_source(const samara_session *session,
                                         const struct smr_frame_node *node) {
  if (node->node->source < 0) return NULL;
  const struct smr_source *source = &session->model->sources[node->node->source];
  return source->file != NULL && source->file[0] != '\0' ? source : NULL;
}

samara_status smr_node_fail(struct smr_frame *frame, const struct smr_frame_node *node,
                            samara_status status) {
  const struct smr_source *source = smr_node_source(frame->session, node);
  if (source != NULL)
    return smr_fail_prefix(&frame->session->error, status,
                           "function '%s', node '%s' (%s, %s:%u): ", frame->function->name,
                           node->node->name, node->node->op->name, source->file,
                           (unsigned)source->line);
  return smr_fail_prefix(&frame->session->error, status,
                         "function '%s', node '%s' (%s): ", frame->function->name, node->node->name,
                         node->node->op->name);
}

static samara_status node_prepare_plain(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_job *job = &node->job;
  job->tiles = 0;
  job->scratch_bytes = 0;
  job->thread_scratch_bytes = 0;
  memset(job->barriers, 0, sizeof job->barriers);
  job->kernel = job->op->name;
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++)
    job->derived[i] = (struct smr_derived){.input = -1};
  SMR_TRY(job->op->funcs->prepare(job));
  for (uint32_t i = 0; i < SMR_MAX_DERIVED && job->derived[i].input >= 0; i++) {
    const struct smr_tensor *t = job->inputs[job->derived[i].input];
    SMR_TRY(smr_model_derived(frame->session->model, t->constant, job, &job->derived[i],
                              &job->derived[i].data, &frame->session->error));
  }
  node->prepared = true;
  return SAMARA_OK;
}

samara_status smr_node_prepare_run(struct smr_frame *frame, struct smr_frame_node *node) {
  const samara_status status = node_prepare_plain(frame, node);
  return status == SAMARA_OK ? status : smr_node_fail(frame, node, status);
}

static samara_status node_check(struct smr_frame *frame, struct smr_frame_node *node) {
  if (node->kind != SMR_CONTROL_NONE) return smr_control_check(frame, node);
  SMR_TRY(smr_op_check(&node->job));
  if (node->alias && node->job.inputs[0]->size_bytes != node->job.outputs[0]->size_bytes)
    SMR_FAIL(&frame->session->error, BAD_SHAPE, "a view cannot change %zu bytes to %zu",
             node->job.inputs[0]->size_bytes, node->job.outputs[0]->size_bytes);
  return SAMARA_OK;
}

samara_status smr_node_prepare(struct smr_frame *frame, struct smr_frame_node *node) {
  node->prepared = false;
  node_evaluate_attrs(frame, node, true);
  if (node->late)
    for (uint32_t i = 0; i < node->node->output_count; i++)
      SMR_TRY(smr_value_known_dims(frame, node->node->outputs[i], node->node->stage));
  const samara_status status = node_check(frame, node);
  if (status != SAMARA_OK) return smr_node_fail(frame, node, status);
  if (node->late || node->alias || node->placed || node->kind != SMR_CONTROL_NONE) return SAMARA_OK;
  return smr_node_prepare_run(frame, node);
}

samara_status smr_node_estimate(struct smr_frame *frame, struct smr_frame_node *node) {
  node->prepared = false;
  if (node->alias || node->placed || node->kind != SMR_CONTROL_NONE) return SAMARA_OK;
  node_evaluate_attrs(frame, node, false);
  samara_status status = node_check(frame, node);
  if (status == SAMARA_OK) status = node_prepare_plain(frame, node);
  if (status == SAMARA_OK) node->scratch_capacity = smr_node_scratch(frame, node);
  node->prepared = false;
  if (status == SAMARA_OUT_OF_MEMORY) return smr_node_fail(frame, node, status);
  frame->session->error.text[0] = '\0';
  frame->session->error.status = SAMARA_OK;
  return SAMARA_OK;
}

size_t smr_node_scratch(const struct smr_frame *frame, const struct smr_frame_node *node) {
  const struct smr_job *job = &node->job;
  size_t threads_bytes, bytes;
  const size_t own = smr_align64(job->scratch_bytes);
  if (!smr_mul_size(smr_align64(job->thread_scratch_bytes), frame->session->threads,
                    &threads_bytes) ||
      !smr_add_size(own, threads_bytes, &bytes))
    return SIZE_MAX;
  return bytes;
}
