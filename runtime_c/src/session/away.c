// SPDX-License-Identifier: Apache-2.0
// Variables that stay on a device between runs. A lost device cannot be read, so the host keeps
// older values and the inputs of later runs, from which it can recompute the newest values.
#include "base/fp.h"

#include "session/session.h"

#include "base/checked.h"

enum {
  AWAY_RUNS = 16,            // most runs that are recomputed
  AWAY_BYTES = 1 << 20,      // most bytes kept for recomputing, unless the values themselves are
                             // larger
  AWAY_COPY_BYTES = 1 << 16  // bytes that the host copies in the time of one small copy from a
                             // device
};

// The session's variable for a resident.
static struct smr_session_variable *away_variable(const samara_session *session,
                                                  const struct smr_resident *resident) {
  return &session->state.variables[session->inputs[resident->input].variable];
}

// Variables that stay on devices; NULL if the frames in use are those of the CPU.
static struct smr_resident *away_residents(const samara_session *session) {
  const struct smr_devices *devices = session->common.devices;
  return SMR_HAS(variables) && devices != NULL && devices->active ? devices->residents : NULL;
}

// ---- plans ----

bool smr_away_follows(const struct smr_session_variable *v) {
  return v->spare != NULL && !v->leaves;
}

// For all variables: which stay on devices, and the bytes of those and of the others that runs
// write.
static void away_divide(samara_session *session, size_t *leaving, size_t *base) {
  const struct smr_frame *entry = session->entry;
  for (uint32_t i = 0; i < session->state.count; i++) session->state.variables[i].leaves = false;
  for (const struct smr_resident *r = away_residents(session); r != NULL; r = r->next)
    away_variable(session, r)->leaves =
        r->output >= 0 && entry->values[entry->function->outputs[r->output]].on_device;
  // Their buffers exist already, so the sum cannot overflow.
  for (uint32_t i = 0; i < session->state.count; i++) {
    const struct smr_session_variable *v = &session->state.variables[i];
    if (v->leaves) *leaving += v->variable->size_bytes;
    if (smr_away_follows(v)) *base += smr_align64(v->variable->size_bytes);
  }
}

// How many runs to keep. 0 if copying the values after each run costs less.
static uint32_t away_capacity(const samara_session *session, size_t leaving, size_t kept) {
  if (session->custom.count != 0) return 0;  // custom operators are not called a second time
  if (kept > leaving && kept - leaving > AWAY_COPY_BYTES) return 0;
  const size_t most = leaving > AWAY_BYTES ? leaving : AWAY_BYTES;
  return kept == 0 || most / kept > AWAY_RUNS ? AWAY_RUNS : (uint32_t)(most / kept);
}

void smr_away_plan(samara_session *session) {
  const struct smr_frame *entry = session->entry;
  const struct smr_function *f = session->function;
  struct smr_away *away = &session->away;
  size_t leaving = 0, base = 0, kept = 0, total;
  if (!SMR_HAS(variables) || session->common.devices == NULL || away->count != 0) return;
  away_divide(session, &leaving, &base);
  away->capacity = 0;
  if (leaving == 0) return;
  for (uint32_t i = 0; i < f->user_input_count; i++) {
    const size_t bytes = entry->values[f->inputs[f->user_inputs[i]]].tensor.size_bytes;
    if (!smr_add_size(kept, smr_align64(bytes), &kept)) return;
  }
  const uint32_t capacity = away_capacity(session, leaving, kept);
  if (capacity == 0 || !smr_add_size(base, capacity * kept, &total)) return;
  if (smr_block_ensure(&session->common, &away->block, total, 0, "inputs of runs") != SAMARA_OK) {
    (void)smr_session_forgive(&session->common);
    return;
  }
  away->capacity = capacity;
  away->base_bytes = base;
  away->run_bytes = kept;
}

// ---- to the device ----

samara_status smr_away_begin(samara_session *session) {
  samara_status status = SAMARA_OK;
  struct smr_frame *entry = session->entry;
  for (struct smr_resident *r = away_residents(session); r != NULL && status == SAMARA_OK;
       r = r->next) {
    uint64_t ticket = 0;
    if (r->fresh) continue;
    status = smr_resident_copy(entry, r, false, away_variable(session, r)->data, true, &ticket);
    if (status == SAMARA_OK)
      status =
          smr_device_wait(&session->common, entry->devices->spaces[r->space - 1].backend, ticket);
    r->fresh = status == SAMARA_OK;
  }
  return status;
}

void smr_away_overwrite(samara_session *session, const struct smr_session_variable *v) {
  struct smr_resident *r =
      session->common.devices != NULL ? session->common.devices->residents : NULL;
  for (; r != NULL; r = r->next)
    if (v == NULL || v == away_variable(session, r)) r->fresh = false;
  if (v == NULL) session->away.count = 0;
}

// ---- to the host ----

// Copy the current or next values of these variables to the host, all or none, and wait for earlier
// copies.
static samara_status away_take(samara_session *session, bool next) {
  samara_status status = SAMARA_OK;
  const struct smr_frame *entry = session->entry;
  struct smr_resident *all = away_residents(session);
  uint64_t tickets[SMR_MAX_DEVICES] = {0};
  for (struct smr_resident *r = all; r != NULL && status == SAMARA_OK; r = r->next) {
    const struct smr_session_variable *v = away_variable(session, r);
    if (v->leaves)
      status = smr_resident_copy(entry, r, next, v->spare, false, &tickets[r->space - 1]);
  }
  for (uint32_t i = 0; i < session->common.devices->count; i++) {
    const samara_status waited =
        smr_device_wait(&session->common, entry->devices->spaces[i].backend, tickets[i]);
    if (status == SAMARA_OK) status = waited;
  }
  for (struct smr_resident *r = all; r != NULL && status == SAMARA_OK; r = r->next)
    if (away_variable(session, r)->leaves) smr_state_swap(away_variable(session, r));
  return status;
}

static samara_status away_keep(samara_session *session) {
  struct smr_away *away = &session->away;
  const struct smr_function *f = session->function;
  uint8_t *to = away->block.data;
  for (uint32_t i = 0; i < session->state.count && away->count == 0; i++) {
    const struct smr_tensor t = smr_state_tensor(&session->state.variables[i]);
    if (!smr_away_follows(&session->state.variables[i])) continue;
    SMR_TRY(smr_value_copy(&session->common, &t, to));
    to += smr_align64(t.size_bytes);
  }
  to = (uint8_t *)away->block.data + away->base_bytes + away->count * away->run_bytes;
  for (uint32_t i = 0; i < f->user_input_count; i++) {
    const struct smr_tensor *t = session->entry->given_inputs[f->user_inputs[i]];
    SMR_TRY(smr_value_copy(&session->common, t, to));
    to += smr_align64(t->size_bytes);
  }
  away->count++;
  return SAMARA_OK;
}

samara_status smr_away_commit(samara_session *session) {
  struct smr_away *away = &session->away;
  if (away_residents(session) == NULL) return SAMARA_OK;
  SMR_TRY(smr_residents_wait(session->entry));
  if (away->count < away->capacity) {
    SMR_TRY(away_keep(session));
  } else {
    SMR_TRY(away_take(session, true));
    away->count = 0;
  }
  smr_residents_turn(session->entry);
  return SAMARA_OK;
}

samara_status smr_away_fetch(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  struct smr_away *away = &session->away;
  if (!SMR_HAS(variables) || away->count == 0) return SAMARA_OK;
  bool taken = devices->active && !devices->failed && !devices->left;
  if (taken) {
    taken = away_take(session, false) == SAMARA_OK;
    if (!taken) devices->failure = session->error;
  }
  if (!taken) {
    SMR_TRY(smr_away_replay(session));
    (void)smr_session_forgive(&session->common);
  }
  away->count = 0;
  // An input may still point at the previous buffers of the values.
  for (uint32_t i = 0; i < session->function->input_count; i++)
    if (smr_bound(session->inputs[i].variable))
      session->entry_inputs[i].data = session->state.variables[session->inputs[i].variable].data;
  return SAMARA_OK;
}
