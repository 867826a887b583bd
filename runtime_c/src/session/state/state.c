// SPDX-License-Identifier: Apache-2.0
// Variables of a session. Those that the function writes have two buffers, swapped after a run.
#include "base/fp.h"

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
  return t;
}

static samara_status state_set_initial(const samara_session *session,
                                       const struct smr_session_variable *v) {
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
  SMR_TAKE_BYTES(&session->common, *out, 1, variable->size_bytes);
  return SAMARA_OK;
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
    SMR_TRY(state_take(session, f->writes[i].variable, true,
                       &session->outputs[f->writes[i].position].variable));
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
    if (!smr_leaves(v)) SMR_TRY(smr_value_copy(frame->common, t, v->spare));
  }
  if (SMR_HAS(backends)) SMR_TRY(smr_away_commit(session));
  for (uint32_t i = 0; i < f->write_count; i++) {
    struct smr_session_variable *v =
        &session->state.variables[session->outputs[f->writes[i].position].variable];
    if (!smr_leaves(v)) smr_state_swap(v);
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
  if (size_bytes != v->variable->size_bytes)
    SMR_FAIL(error, BAD_SHAPE, "variable '%s' has %zu bytes, the buffer %zu", v->variable->name,
             v->variable->size_bytes, size_bytes);
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
