// SPDX-License-Identifier: Apache-2.0
// Recomputes the runs of a lost device on the CPU, to restore the values of variables.
#include "base/fp.h"

#include "session/session.h"

// Both sessions run the same function, so variables have the same indices.
static samara_status replay_set(samara_session *twin, const samara_session *session, uint32_t at,
                                const void *data) {
  const struct smr_tensor t = smr_state_tensor(&twin->state.variables[at]);
  return smr_value_write(&session->common, &t, data);
}

static samara_status replay_runs(const samara_session *session, samara_session *twin) {
  const struct smr_away *away = &session->away;
  const struct smr_function *f = session->function;
  const uint8_t *at = away->block.data;
  for (uint32_t i = 0; i < session->state.count; i++) {
    const struct smr_session_variable *v = &session->state.variables[i];
    const bool kept = smr_away_follows(v);
    SMR_TRY(replay_set(twin, session, i, kept ? at : v->data));
    if (kept) at += smr_align64(v->variable->size_bytes);
  }
  for (uint32_t run = 0; run < away->count; run++) {
    for (uint32_t i = 0; i < f->user_input_count; i++) {
      struct smr_session_input *input = &twin->inputs[f->user_inputs[i]];
      input->data = at;
      at += smr_align64(input->size_bytes);
    }
    SMR_TRY(samara_session_run(twin));
  }
  return SAMARA_OK;
}

static samara_status replay_take(samara_session *session, const samara_session *twin) {
  for (uint32_t i = 0; i < session->state.count; i++) {
    struct smr_session_variable *v = &session->state.variables[i];
    const struct smr_tensor made = smr_state_tensor(&twin->state.variables[i]);
    if (v->spare != NULL) SMR_TRY(smr_value_copy(&session->common, &made, v->data));
    v->leaves = false;
  }
  return SAMARA_OK;
}

samara_status smr_away_replay(samara_session *session) {
  samara_session *twin = NULL;
  samara_error error = {.status = SAMARA_OK};
  samara_status status = smr_session_twin(session, &twin, &error);
  if (status == SAMARA_OK) {
    status = replay_runs(session, twin);
    error = twin->error;
  }
  if (status == SAMARA_OK)
    status = replay_take(session, twin);
  else
    smr_fail(&session->error, status, "recomputing variables of a lost device: %s", error.text);
  samara_session_destroy(twin);
  return status;
}
