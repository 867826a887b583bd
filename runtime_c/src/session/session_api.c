// SPDX-License-Identifier: Apache-2.0
// The session's public functions: shapes, inputs, runs, outputs.
#include "base/fp.h"

#include "session/session.h"

#include <inttypes.h>
#include <string.h>

// Errors are written even to const sessions.
static samara_error *api_error(const samara_session *session) {
  return &((samara_session *)(uintptr_t)session)->error;
}

static samara_status api_check_ready(const samara_session *session) {
  if (session->ready) return SAMARA_OK;
  SMR_FAIL(api_error(session), BAD_STATE, "the session has no shapes yet: resize it first");
}

// Position of user input or output `index`.
static samara_status api_position(const samara_session *session, const char *what, size_t index,
                                  const int32_t *positions, uint32_t count, uint32_t *out) {
  if (index >= count)
    SMR_FAIL(api_error(session), BAD_ARGUMENT, "function '%s' has %u %ss; there is no %s %zu",
             session->function->name, (unsigned)count, what, what, index);
  *out = (uint32_t)positions[index];
  return SAMARA_OK;
}

samara_status smr_session_input(samara_session *session, size_t index,
                                struct smr_session_input **input, const struct smr_tensor **out) {
  const struct smr_function *f = session->function;
  uint32_t position = 0;
  SMR_TRY(api_position(session, "input", index, f->user_inputs, f->user_input_count, &position));
  SMR_TRY(api_check_ready(session));
  *input = &session->inputs[position];
  *out = &session->entry->values[f->inputs[position]].tensor;
  return SAMARA_OK;
}

// Use the caller's bytes as user input `index`.
static samara_status api_take_input(samara_session *session, size_t index, const void *data,
                                    size_t size_bytes, bool copies) {
  struct smr_session_input *input;
  const struct smr_tensor *t;
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(smr_session_input(session, index, &input, &t));
  if (size_bytes != t->size_bytes)
    SMR_FAIL(&session->error, BAD_SHAPE, "input '%s' takes %zu bytes of %s, not %zu", t->name,
             t->size_bytes, smr_dtype_name(t->dtype), size_bytes);
  if (data == NULL && size_bytes != 0)
    SMR_FAIL(&session->error, BAD_ARGUMENT, "input '%s': no data", t->name);
  input->data = input->own.data;
  smr_session_unpicture(session, index);
  if (size_bytes == 0) return SAMARA_OK;
  if (copies)
    memmove(input->own.data, data, size_bytes);
  else
    input->data = data;
  return SAMARA_OK;
}

// ---- shapes ----

samara_status smr_session_shape(samara_session *session) {
  const struct smr_frame *frame = session->entry;
  const struct smr_function *f = session->function;
  session->ready = session->ran = false;
  if (SMR_HAS(bind)) smr_bind_clear(session);
  SMR_TRY(smr_session_recover(session, smr_session_plan(session), true));
  if (SMR_HAS(backends)) frame = session->entry;  // the frames may have been replaced
  for (uint32_t i = 0; i < f->input_count; i++) {
    struct smr_session_input *input = &session->inputs[i];
    if (smr_bound(input->variable)) continue;
    const struct smr_tensor *t = &frame->values[f->inputs[i]].tensor;
    const size_t had = input->own.size_bytes;
    SMR_TRY(smr_block_ensure(&session->common, &input->own, t->size_bytes, had, t->name));
    memset((uint8_t *)input->own.data + had, 0, input->own.size_bytes - had);
    input->size_bytes = t->size_bytes;
    input->data = input->own.data;
  }
  session->ready = true;
  return SMR_HAS(backends_auto) ? smr_session_settle(session) : SAMARA_OK;
}

static samara_status api_check_symbols(samara_session *session) {
  const struct smr_function *f = session->function;
  for (uint32_t i = 0; SMR_HAS(symbolic) && i < f->symbol_count; i++) {
    const struct smr_symbol *s = &f->symbols[i];
    const struct smr_expr *e = &f->exprs[s->expr];
    const int64_t dim = session->inputs[e->a].dims[e->b];
    if (dim < s->lower || dim > s->upper)
      SMR_FAIL(&session->error, LIMIT,
               "dim '%s' is %" PRId64 ", outside its bounds %" PRId64 " to %" PRId64,
               s->name != NULL ? s->name : "?", dim, s->lower, s->upper);
  }
  return SAMARA_OK;
}

static samara_status api_take_shapes(samara_session *session, const int64_t *const *shapes,
                                     size_t count) {
  const struct smr_function *f = session->function;
  for (uint32_t i = 0; i < f->user_input_count; i++) {
    struct smr_session_input *input = &session->inputs[f->user_inputs[i]];
    const struct smr_value *v = &f->values[f->inputs[f->user_inputs[i]]];
    const int64_t *shape = i < count ? shapes[i] : NULL;
    if (shape == NULL && v->rank == 0) input->known = true;
    if (shape == NULL && !input->known)
      SMR_FAIL(&session->error, BAD_ARGUMENT, "input '%s' has no shape yet", v->name);
    for (uint32_t axis = 0; shape != NULL && axis < v->rank; axis++) {
      if (shape[axis] < 0)
        SMR_FAIL(&session->error, BAD_SHAPE, "axis %u of input '%s' is %" PRId64, (unsigned)axis,
                 v->name, shape[axis]);
      input->dims[axis] = shape[axis];
    }
    if (shape != NULL) input->known = true;
  }
  SMR_TRY(api_check_symbols(session));
  return smr_session_shape(session);
}

// A resize where no dim is symbolic: the shapes are those that creation planned for, or it fails.
static samara_status api_keep_shapes(samara_session *session, const int64_t *const *shapes,
                                     size_t count) {
  const struct smr_function *f = session->function;
  for (size_t i = 0; i < count; i++) {
    const struct smr_session_input *input = &session->inputs[f->user_inputs[i]];
    const struct smr_value *v = &f->values[f->inputs[f->user_inputs[i]]];
    for (uint32_t axis = 0; shapes[i] != NULL && axis < v->rank; axis++)
      if (shapes[i][axis] != input->dims[axis])
        SMR_FRAME_FAIL(session->entry, BAD_SHAPE,
                       "axis %u of %s '%s' is %" PRId64 ", expected %" PRId64, (unsigned)axis,
                       "input", v->name, shapes[i][axis], input->dims[axis]);
  }
  session->ran = false;
  if (SMR_HAS(bind)) smr_bind_clear(session);
  for (uint32_t i = 0; i < f->user_input_count; i++) {
    struct smr_session_input *input = &session->inputs[f->user_inputs[i]];
    input->data = input->own.data;
  }
  return SAMARA_OK;
}

samara_status samara_session_resize(samara_session *session, const int64_t *const *shapes,
                                    size_t count) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_function *f = session->function;
  if (count > f->user_input_count || (shapes == NULL && count != 0))
    SMR_FAIL(&session->error, BAD_ARGUMENT, "%zu shapes for %u inputs", count,
             (unsigned)f->user_input_count);
  if (SMR_HAS(backends)) SMR_TRY(smr_away_fetch(session));
  if (SMR_HAS(backends)) SMR_TRY(smr_session_go_on(session));
  if (!SMR_HAS(symbolic) && !SMR_HAS(backends)) return api_keep_shapes(session, shapes, count);
  const bool was_ready = session->ready;
  for (uint32_t i = 0; i < f->input_count; i++) {
    struct smr_session_input *input = &session->inputs[i];
    memcpy(input->former, input->dims, sizeof input->former);
    input->was_known = input->known;
  }
  const samara_status status = api_take_shapes(session, shapes, count);
  if (status == SAMARA_OK) return status;
  const samara_error why = session->error;
  for (uint32_t i = 0; i < f->input_count; i++) {
    struct smr_session_input *input = &session->inputs[i];
    memcpy(input->dims, input->former, sizeof input->dims);
    input->known = input->was_known;
  }
  // All memory for the previous shapes still exists, so this cannot fail.
  if (was_ready) (void)smr_session_shape(session);
  session->error = why;
  return status;
}

// ---- inputs ----

samara_status samara_session_set_input(samara_session *session, size_t index, const void *data,
                                       size_t size_bytes) {
  return api_take_input(session, index, data, size_bytes, true);
}

samara_status samara_session_bind_input(samara_session *session, size_t index, const void *data,
                                        size_t size_bytes) {
  return api_take_input(session, index, data, size_bytes, false);
}

samara_status samara_session_input(samara_session *session, size_t index, samara_tensor *out) {
  struct smr_session_input *input;
  const struct smr_tensor *t;
  if (session == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(smr_session_input(session, index, &input, &t));
  input->data = input->own.data;
  smr_public_tensor(t, input->data, out);
  return SAMARA_OK;
}

// ---- runs ----

samara_status samara_session_run_with(samara_session *session, const void *const *inputs,
                                      void *const *outputs) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_function *f = session->function;
  SMR_TRY(api_check_ready(session));
  for (uint32_t i = 0; SMR_HAS(late) && outputs != NULL && i < f->user_output_count; i++) {
    samara_tensor shape;
    if (outputs[i] == NULL) continue;
    SMR_TRY(samara_session_output_shape(session, i, &shape));
    for (int32_t axis = 0; axis < shape.rank; axis++)
      if (shape.shape[axis] < 0)
        SMR_FAIL(&session->error, BAD_SHAPE,
                 "the size of output %u depends on data: no buffer can be given for it",
                 (unsigned)i);
  }
  for (uint32_t i = 0, user = 0; i < f->input_count; i++) {
    const struct smr_session_input *input = &session->inputs[i];
    const void *data = input->data;
    if (smr_bound(input->variable)) {
      data = session->state.variables[input->variable].data;
    } else {
      if (inputs != NULL && inputs[user] != NULL) {
        data = inputs[user];
        smr_session_unpicture(session, user);
      }
      user++;
    }
    // Copy the input if it is misaligned, because kernels rely on the alignment of elements, or if
    // it overlaps a bound output, which may be written before the input is read.
    struct smr_tensor *t = &session->entry_inputs[i];
    *t = session->entry->values[f->inputs[i]].tensor;
    if ((uintptr_t)data % smr_dtype_bytes(t->dtype) != 0 ||
        (SMR_HAS(bind) && smr_bind_overlaps(session, data, t->size_bytes)))
      data = memcpy(input->own.data, data, t->size_bytes);
    t->data = (void *)(uintptr_t)data;
    session->entry->given_inputs[i] = t;
  }
  SMR_TRY(smr_session_run_entry(session));
  for (uint32_t i = 0; outputs != NULL && i < f->user_output_count; i++) {
    const samara_tensor *result = &session->outputs[f->user_outputs[i]].result;
    if (outputs[i] != NULL && !(SMR_HAS(bind) && outputs[i] == result->data) &&
        result->size_bytes != 0)
      memcpy(outputs[i], result->data, result->size_bytes);
  }
  return SAMARA_OK;
}

samara_status samara_session_run(samara_session *session) {
  return samara_session_run_with(session, NULL, NULL);
}

void samara_session_cancel(samara_session *session) {
  if (session == NULL) return;
  // In the order of a run's states, so that a change between the two tests is not missed.
  if (SMR_HAS(async))
    smr_atomic_replace(&session->common.run.state, SMR_RUN_BEGUN, SMR_RUN_CANCELLED);
  smr_atomic_replace(&session->common.run.state, SMR_RUN_GOING, SMR_RUN_CANCELLED);
}

// ---- results ----

static samara_status api_output(const samara_session *session, size_t index, uint32_t *position) {
  const struct smr_function *f = session->function;
  return api_position(session, "output", index, f->user_outputs, f->user_output_count, position);
}

samara_status samara_session_output(const samara_session *session, size_t index,
                                    samara_tensor *out) {
  uint32_t position = 0;
  if (session == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(api_output(session, index, &position));
  if (!session->ran)
    SMR_FAIL(api_error(session), BAD_STATE,
             "no outputs: the session has not run since resize or bind_output, or its run failed");
  *out = session->outputs[position].result;
  return SAMARA_OK;
}

samara_status samara_session_output_shape(const samara_session *session, size_t index,
                                          samara_tensor *out) {
  uint32_t position = 0;
  if (session == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(api_output(session, index, &position));
  SMR_TRY(api_check_ready(session));
  const struct smr_frame *frame = session->entry;
  const uint32_t id = session->function->outputs[position];
  const struct smr_value *v = &session->function->values[id];
  smr_public_tensor(&frame->values[id].tensor, NULL, out);
  out->size_bytes = smr_value_bytes_bound(frame, id);
  for (uint32_t axis = 0; axis < v->rank; axis++) {
    const uint32_t e = v->dims[axis];
    out->shape[axis] = smr_expr_fixed(frame, e) ? smr_expr_hi(frame, e) : -1;
    if (out->shape[axis] < 0) out->size_bytes = 0;
  }
  return SAMARA_OK;
}

const char *samara_session_error(const samara_session *session) {
  return session != NULL ? session->error.text : "";
}

size_t samara_session_arena_bytes(const samara_session *session) {
  return session != NULL ? session->common.memory.arena_bytes : 0;
}

size_t samara_session_total_bytes(const samara_session *session) {
  return session != NULL ? session->common.memory.total_bytes : 0;
}
