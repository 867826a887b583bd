// SPDX-License-Identifier: Apache-2.0
// Runs nodes, frames and the entry function.
#include "base/fp.h"

#include "session/session.h"

#include "base/os.h"
#include "ops/deadline.h"

// ---- one node ----

static samara_status run_job(samara_session *session, struct smr_job *job) {
  uint8_t *scratch = (uint8_t *)job->scratch + smr_align64(job->scratch_bytes);
  if (job->tiles == 0) return SAMARA_OK;
  job->deadline = session->common.run.deadline;
  if (job->op->flags & SMR_OP_SERIAL_PROLOGUE) SMR_TRY(job->run(job, 0, 0, scratch));
  if (SMR_HAS(threads) && session->common.threads > 1)
    session->team.shares = smr_job_is_worth_sharing(job, session->team.shares);
  if (SMR_HAS(threads) && session->team.shares)
    return smr_session_share(&session->common, &session->team, job, scratch);
  return smr_deadline_run(job, 0, job->tiles, scratch, job->run);
}

// Measure the output dims of a late node and prepare it.
static samara_status run_measure(struct smr_frame *frame, struct smr_frame_node *node) {
  struct smr_job *job = &node->job;
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_value_known_dims(frame, node->node->outputs[i], node->node->stage));
  job->deadline = frame->common->run.deadline;
  SMR_TRY(job->op->funcs->measure(job));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_value_settle(frame, node, i, job->outputs[i]->dims));
  SMR_TRY(smr_node_prepare_run(frame, node));
  return smr_node_attach_scratch(frame, node);
}

samara_status smr_session_note(struct smr_frame *frame, struct smr_frame_node *node, bool timed,
                               uint64_t start) {
  samara_session *session = frame->session;
  if (timed) {
    if (node->run_number != session->common.run.number) {
      node->start_ns = start - session->common.run.deadline.start_ns;
      node->total_ns = node->count = 0;
    }
    node->total_ns += smr_os_now_ns() - start;
    node->count++;
  }
  if (SMR_HAS(profile) || SMR_HAS(keep)) node->run_number = session->common.run.number;
  return SMR_HAS(keep) ? smr_keep_node(&session->keep, frame, node) : SAMARA_OK;
}

static samara_status run_node(struct smr_frame *frame, struct smr_frame_node *node) {
  samara_session *session = frame->session;
  const bool timed = SMR_HAS(profile) && session->profile.on;
  SMR_TRY(smr_session_tick(&session->common));
  const uint64_t start = timed ? smr_os_now_ns() : 0;
  if (smr_node_control(node) != SMR_CONTROL_NONE) {
    SMR_TRY(smr_control_run(frame, node));
  } else if (!smr_node_is_view(node)) {
    if (SMR_HAS(late) && node->late) SMR_TRY(run_measure(frame, node));
    SMR_TRY(run_job(session, &node->job));
  }
  return smr_session_note(frame, node, timed, start);
}

samara_status smr_frame_run(struct smr_frame *frame) {
  for (uint32_t s = 0; s < smr_stage_count(frame->function); s++) {
    if (s > 0) SMR_TRY(smr_frame_stage(frame, s));
    SMR_TRY(smr_frame_attach(frame, s));
    for (uint32_t n = frame->stage_begin[s]; n < frame->stage_begin[s + 1]; n++) {
      if (SMR_HAS(backends) && smr_region_at(frame, n) != NULL) {
        SMR_TRY(smr_session_run_region(smr_region_at(frame, n)));
        n = smr_region_at(frame, n)->end - 1;
        continue;
      }
      const samara_status status = run_node(frame, &frame->nodes[n]);
      if (status != SAMARA_OK) return smr_node_fail(frame, &frame->nodes[n], status);
    }
  }
  return SAMARA_OK;
}

// ---- the session ----

// Outputs stay valid until the next run. Bytes that belong to a caller, a constant or a variable
// are therefore copied, and so are bound outputs that could not be computed in place.
static samara_status run_take_outputs(samara_session *session) {
  const struct smr_frame *frame = session->entry;
  for (uint32_t i = 0; i < frame->function->output_count; i++) {
    struct smr_session_output *output = &session->outputs[i];
    if (smr_bound(output->variable)) continue;
    const struct smr_frame_value *value = &frame->values[frame->function->outputs[i]];
    const struct smr_tensor *t = &value->tensor;
    const uint8_t home = frame->values[value->root].home;
    const void *data = SMR_HAS(bind) ? frame->given_data[i] : NULL;
    if (data != NULL) {
      SMR_TRY(smr_value_copy(frame->common, t, frame->given_data[i]));
    } else if (home == SMR_HOME_ARENA || home == SMR_HOME_OWN) {
      SMR_TRY(smr_value_read(frame->common, t, &data));
    } else {
      SMR_TRY(smr_block_ensure(&session->common, &output->copy, t->size_bytes, 0, t->name));
      data = output->copy.data;
      SMR_TRY(smr_value_copy(frame->common, t, output->copy.data));
    }
    smr_public_tensor(t, data, &output->result);
  }
  return SAMARA_OK;
}

samara_status smr_session_run_once(samara_session *session) {
  struct smr_frame *frame = session->entry;
  const struct smr_function *f = session->function;
  for (uint32_t i = 0; SMR_HAS(variables) && i < f->output_count; i++) {
    if (session->outputs[i].variable < 0) continue;
    const struct smr_session_variable *v = &session->state.variables[session->outputs[i].variable];
    frame->given_data[i] = v->spare;
    frame->given_capacity[i] = v->variable->size_bytes;
  }
  SMR_TRY(smr_frame_enter(frame, frame->growing ? NULL : session->arena.data));
  if (SMR_HAS(backends)) SMR_TRY(smr_away_begin(session));
  SMR_TRY(smr_frame_run(frame));
  SMR_TRY(run_take_outputs(session));
  return SMR_HAS(variables) ? smr_state_commit(session) : SAMARA_OK;
}

samara_status smr_session_run_entry(samara_session *session) {
  session->ran = false;
  if (SMR_HAS(backends_auto)) SMR_TRY(smr_session_settle(session));
  if (SMR_HAS(backends)) {
    // A watch function may read variables during the run.
    if (SMR_HAS(keep) && session->keep.watch != NULL) SMR_TRY(smr_away_fetch(session));
    SMR_TRY(smr_session_go_on(session));
    smr_check_begin(session);
  }
  session->common.run.number++;
  session->common.run.steps = 0;
  session->common.run.deadline.start_ns = smr_os_now_ns();
  if (SMR_HAS(profile)) session->profile.was_on = session->profile.on;
  (void)smr_session_forgive(&session->common);
  smr_atomic_replace(&session->common.run.state, SMR_RUN_IDLE, SMR_RUN_GOING);
  // A run that was cancelled before its thread started it stays cancelled and ends at its first
  // node.
  if (SMR_HAS(async)) smr_atomic_replace(&session->common.run.state, SMR_RUN_BEGUN, SMR_RUN_GOING);
  samara_status status = smr_session_run_once(session);
  if (SMR_HAS(backends)) status = smr_session_run_again(session, status);
  SMR_ATOMIC_STORE(&session->common.run.state, SMR_RUN_IDLE);
  session->ran = status == SAMARA_OK;
  if (SMR_HAS(backends_auto) && session->ran)
    smr_compare_note(session, session->common.run.deadline.start_ns);
  return status;
}
