// SPDX-License-Identifier: Apache-2.0
// Variables of a session. Those that the function writes have two buffers, swapped after a run. One
// that grows and whose rows are only added has one: its length is swapped, so rows that a failed
// run has added are not in use.
#include "base/fp.h"

#include "session/plan/plan.h"
#include "session/session.h"

#include <string.h>

#include "base/checked.h"

struct smr_tensor smr_state_tensor(const struct smr_session_variable *v) {
  struct smr_tensor t = {.data = v->data,
                         .size_bytes = v->variable->size_bytes,
                         .quant = v->variable->quant,
                         .name = v->variable->name,
                         .constant = -1,
                         .dtype = v->variable->dtype,
                         .rank = v->variable->rank};
  memcpy(t.dims, v->variable->dims, sizeof t.dims);
  if (v->length == NULL) return t;
  t.dims[1] = smr_state_rows(v->variable, *(const int64_t *)v->length->data);
  (void)smr_dims_bytes(t.dtype, t.rank, t.dims, &t.size_bytes);
  return t;
}

int64_t smr_state_rows(const struct smr_variable *variable, int64_t length) {
  const int64_t most = variable->dims[1];
  return length < 0 ? 0 : length < most ? length : most;
}

static samara_status state_set_initial(const samara_session *session,
                                       const struct smr_session_variable *v) {
  if (smr_grows(v->variable)) return SAMARA_OK;  // no rows: its length is reset, too
  const struct smr_tensor t = smr_state_tensor(v);
  const int32_t initial = v->variable->initial;
  return smr_value_write(&session->common, &t,
                         initial >= 0 ? session->common.model->constants[initial].data : NULL);
}

// Allocate a buffer of a variable. Its size comes from the file, so max_arena_bytes limits it.
static samara_status state_buffer(samara_session *session, const struct smr_variable *variable,
                                  void **out) {
  size_t total;
  if (!smr_add_size(session->state.bytes, variable->size_bytes, &total)) total = SIZE_MAX;
  if (session->common.memory.max_arena_bytes != 0 && total > session->common.memory.max_arena_bytes)
    SMR_FAIL(&session->error, LIMIT,
             "variable '%s' makes %zu bytes of state; max_arena_bytes is %llu", variable->name,
             total, (unsigned long long)session->common.memory.max_arena_bytes);
  session->state.bytes = total;
  if (smr_grows(variable))
    return smr_session_take_lazily(&session->common, variable->size_bytes, out);
  SMR_TAKE_BYTES(&session->common, *out, 1, variable->size_bytes);
  return SAMARA_OK;
}

static bool state_adds_rows(const samara_session *session, const struct smr_binding *write) {
  const struct smr_function *f = session->function;
  const int32_t maker = f->values[f->outputs[write->position]].producer;
  return maker >= 0 && smr_views_adds_rows(f, session->common.model->variables, &f->nodes[maker]);
}

// The session's variable for a variable of the model; created at the first call.
static samara_status state_take(samara_session *session, uint32_t index, bool written,
                                int32_t *out) {
  const struct smr_variable *variable = &session->common.model->variables[index];
  uint32_t at = 0;
  while (at < session->state.count && session->state.variables[at].variable != variable) at++;
  struct smr_session_variable *v = &session->state.variables[at];
  if (at == session->state.count) {
    v->variable = variable;
    SMR_TRY(state_buffer(session, variable, &v->data));
    SMR_TRY(state_set_initial(session, v));
    session->state.count++;
  }
  *out = (int32_t)at;
  return written ? state_buffer(session, variable, &v->spare) : SAMARA_OK;
}

// The file reader checked types, and that nothing is bound twice.
samara_status smr_state_create(samara_session *session) {
  const struct smr_function *f = session->function;
  const samara_model *model = session->common.model;
  SMR_TAKE(&session->common, session->state.variables, (size_t)f->read_count + f->write_count);
  for (uint32_t i = 0; i < f->read_count; i++) {
    struct smr_session_input *input = &session->inputs[f->reads[i].position];
    SMR_TRY(state_take(session, f->reads[i].variable, false, &input->variable));
    const struct smr_variable *v = session->state.variables[input->variable].variable;
    memcpy(input->dims, v->dims, sizeof input->dims);
    input->size_bytes = v->size_bytes;
    input->known = true;
  }
  for (uint32_t i = 0; i < f->write_count; i++)
    SMR_TRY(state_take(session, f->writes[i].variable, !state_adds_rows(session, &f->writes[i]),
                       &session->outputs[f->writes[i].position].variable));
  for (uint32_t i = 0; i < session->state.count; i++) {
    struct smr_session_variable *v = &session->state.variables[i];
    for (uint32_t k = 0; smr_grows(v->variable) && k < session->state.count; k++)
      if (session->state.variables[k].variable == model->variables + v->variable->length)
        v->length = &session->state.variables[k];
  }
  return SAMARA_OK;
}

samara_status smr_state_commit(samara_session *session) {
  const struct smr_frame *frame = session->entry;
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->write_count; i++) {
    const uint32_t position = f->writes[i].position;
    const struct smr_session_variable *v =
        &session->state.variables[session->outputs[position].variable];
    const struct smr_tensor *t = smr_frame_output(frame, position);
    if (memcmp(t->dims, v->variable->dims, t->rank * sizeof *t->dims) != 0)
      SMR_FAIL(&session->error, BAD_SHAPE, "variable '%s' cannot change its dims",
               v->variable->name);
    // Rows that were added in place are there; those that a device has added are not.
    if (!smr_leaves(v))
      SMR_TRY(smr_value_copy(frame->common, t, v->spare != NULL ? v->spare : v->data));
  }
  if (SMR_HAS(backends)) SMR_TRY(smr_away_commit(session));
  for (uint32_t i = 0; i < f->write_count; i++) {
    struct smr_session_variable *v =
        &session->state.variables[session->outputs[f->writes[i].position].variable];
    if (v->spare != NULL && !smr_leaves(v)) smr_state_swap(v);
  }
  return SAMARA_OK;
}

// ---- the public functions ----

static struct smr_session_variable *state_find(const samara_session *session, const char *name) {
  for (uint32_t i = 0; name != NULL && i < session->state.count; i++)
    if (strcmp(session->state.variables[i].variable->name, name) == 0)
      return &session->state.variables[i];
  return NULL;
}

static samara_status state_refuse(const samara_session *session, const char *name) {
  samara_error *error = &((samara_session *)(uintptr_t)session)->error;
  SMR_FAIL(error, NOT_FOUND, "function '%s' has no variable '%s'", session->entry->function->name,
           name != NULL ? name : "(null)");
}

static samara_status state_check_size(const samara_session *session,
                                      const struct smr_session_variable *v, const void *data,
                                      size_t size_bytes) {
  samara_error *error = &((samara_session *)(uintptr_t)session)->error;
  if (data == NULL && size_bytes != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "variable '%s': no buffer", v->variable->name);
  const size_t bytes = smr_state_tensor(v).size_bytes;
  if (size_bytes != bytes)
    SMR_FAIL(error, BAD_SHAPE, "variable '%s' has %zu bytes, the buffer %zu", v->variable->name,
             bytes, size_bytes);
  return SAMARA_OK;
}

size_t samara_session_state_count(const samara_session *session) {
  return session != NULL ? session->state.count : 0;
}

const char *samara_session_state_name(const samara_session *session, size_t index) {
  if (session == NULL || index >= session->state.count) return NULL;
  return session->state.variables[index].variable->name;
}

samara_status samara_session_state_info(const samara_session *session, const char *name,
                                        samara_tensor *out) {
  if (session == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_session_variable *v = state_find(session, name);
  if (v == NULL) return state_refuse(session, name);
  SMR_TRY(smr_state_fetch(session));
  const struct smr_tensor t = smr_state_tensor(v);
  const void *data;
  SMR_TRY(smr_value_read(&session->common, &t, &data));
  smr_public_tensor(&t, data, out);
  return SAMARA_OK;
}

// A length can only be made less: there are no other rows. Of a ring that has gone round, the rows
// before are gone.
static samara_status state_check_length(samara_session *session,
                                        const struct smr_session_variable *v, const void *data) {
  int64_t given = 0, now = 0;
  if (!v->variable->counts) return SAMARA_OK;
  memcpy(&given, data, sizeof given);
  memcpy(&now, v->data, sizeof now);
  for (uint32_t i = 0; i < session->state.count; i++) {
    const struct smr_session_variable *grown = &session->state.variables[i];
    if (grown->length != v || given == 0 || given == now) continue;
    if (given < 0 || given > now || now > grown->variable->dims[1])
      SMR_FAIL(&session->error, LIMIT,
               "variable '%s' is %lld and cannot become %lld: '%s' has no such rows",
               v->variable->name, (long long)now, (long long)given, grown->variable->name);
  }
  return SAMARA_OK;
}

samara_status samara_session_state_read(const samara_session *session, const char *name,
                                        void *buffer, size_t size_bytes) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_session_variable *v = state_find(session, name);
  if (v == NULL) return state_refuse(session, name);
  SMR_TRY(state_check_size(session, v, buffer, size_bytes));
  SMR_TRY(smr_state_fetch(session));
  const struct smr_tensor t = smr_state_tensor(v);
  return smr_value_copy(&session->common, &t, buffer);
}

samara_status samara_session_state_write(samara_session *session, const char *name,
                                         const void *data, size_t size_bytes) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_session_variable *v = state_find(session, name);
  if (v == NULL) return state_refuse(session, name);
  SMR_TRY(state_check_size(session, v, data, size_bytes));
  SMR_TRY(smr_state_fetch(session));
  SMR_TRY(state_check_length(session, v, data));
  if (SMR_HAS(backends)) smr_away_overwrite(session, v);
  const struct smr_tensor t = smr_state_tensor(v);
  return smr_value_write(&session->common, &t, data);
}

samara_status samara_session_reset(samara_session *session) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  if (SMR_HAS(backends)) smr_away_overwrite(session, NULL);
  for (uint32_t i = 0; i < session->state.count; i++)
    SMR_TRY(state_set_initial(session, &session->state.variables[i]));
  return SAMARA_OK;
}
