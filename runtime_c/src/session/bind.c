// SPDX-License-Identifier: Apache-2.0
// Outputs that a run computes into the caller's memory.
//
// The entry frame gets a bound output as a callee gets its outputs from a control node
// (given_data). The planner marked the values that can be computed there; the others are copied
// when the run ends.
#include "base/fp.h"

#include "session/session.h"

static bool bind_meet(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return a != NULL && b != NULL && (x < y ? y - x < a_bytes : x - y < b_bytes);
}

// Another bound output than `but` that overlaps these bytes; -1 if none.
static int64_t bind_find(const samara_session *session, const void *data, size_t size_bytes,
                         int64_t but) {
  const struct smr_frame *entry = session->entry;
  const struct smr_function *f = session->function;
  for (uint32_t i = 0; i < f->user_output_count; i++) {
    const int32_t position = f->user_outputs[i];
    if (i != but &&
        bind_meet(entry->given_data[position], entry->given_capacity[position], data, size_bytes))
      return i;
  }
  return -1;
}

bool smr_bind_overlaps(const samara_session *session, const void *data, size_t size_bytes) {
  return bind_find(session, data, size_bytes, -1) >= 0;
}

void smr_bind_clear(samara_session *session) {
  const struct smr_function *f = session->function;
  for (uint32_t i = 0; i < f->user_output_count; i++)
    session->entry->given_data[f->user_outputs[i]] = NULL;
  session->entry->attached = 0;
}

static samara_status bind_check(samara_session *session, size_t index, const samara_tensor *shape,
                                const void *data, size_t size_bytes) {
  const char *name = session->function->output_names[session->function->user_outputs[index]];
  for (int32_t axis = 0; axis < shape->rank; axis++)
    if (shape->shape[axis] < 0)
      SMR_FAIL(&session->error, BAD_SHAPE,
               "axis %d of output '%s' depends on data, so no buffer can be bound: read it with "
               "samara_session_output",
               (int)axis, name);
  if (size_bytes != shape->size_bytes)
    SMR_FAIL(&session->error, BAD_SHAPE, "output '%s' has %zu bytes of %s, the buffer %zu", name,
             shape->size_bytes, smr_dtype_name((uint8_t)shape->dtype), size_bytes);
  const size_t element = smr_dtype_bytes((uint8_t)shape->dtype);
  if ((uintptr_t)data % element != 0)
    SMR_FAIL(&session->error, BAD_ARGUMENT,
             "the buffer for output '%s' is not aligned to its elements of %zu bytes", name,
             element);
  const int64_t other = bind_find(session, data, size_bytes, (int64_t)index);
  if (other >= 0)
    SMR_FAIL(&session->error, BAD_ARGUMENT,
             "the buffer for output '%s' overlaps the buffer of '%s'", name,
             session->function->output_names[session->function->user_outputs[other]]);
  for (const struct smr_block *block = session->common.memory.blocks; block != NULL;
       block = block->next)
    if (bind_meet(block->data, block->size_bytes, data, size_bytes))
      SMR_FAIL(&session->error, BAD_ARGUMENT,
               "the buffer for output '%s' is memory of the session itself", name);
  return SAMARA_OK;
}

samara_status samara_session_bind_output(samara_session *session, size_t index, void *data,
                                         size_t size_bytes) {
  samara_tensor shape;
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(samara_session_output_shape(session, index, &shape));
  if (data != NULL) SMR_TRY(bind_check(session, index, &shape, data, size_bytes));
  struct smr_frame *entry = session->entry;
  const int32_t position = session->function->user_outputs[index];
  entry->given_data[position] = data;
  entry->given_capacity[position] = size_bytes;
  entry->attached = 0;
  session->ran = false;  // results may be in a buffer that the caller frees now
  return SAMARA_OK;
}
