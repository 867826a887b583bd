// SPDX-License-Identifier: Apache-2.0
// The session's public functions: shapes, inputs, runs, outputs.
#include "base/fp.h"

#include "session/session.h"

#include <inttypes.h>
#include <string.h>

#include "ops/check.h"

// Errors are noted in sessions that the caller may only read otherwise.
static samara_error *api_error(const samara_session *session) {
  return &((samara_session *)(uintptr_t)session)->error;
}

static samara_status api_input(samara_session *session, size_t index,
                               struct smr_session_input **out) {
  const struct smr_function *f = session->entry->function;
  if (index >= f->user_input_count)
    SMR_FAIL(&session->error, BAD_ARGUMENT, "function '%s' has %u inputs, there is no input %zu",
             f->name, (unsigned)f->user_input_count, index);
  if (!session->ready)
    SMR_FAIL(&session->error, BAD_STATE, "the session has no shapes yet: resize it first");
  *out = &session->inputs[f->user_inputs[index]];
  return SAMARA_OK;
}

static const char *api_input_name(const samara_session *session, size_t index) {
  const struct smr_function *f = session->entry->function;
  return f->values[f->inputs[f->user_inputs[index]]].name;
}

static samara_status api_check_input_bytes(samara_session *session, size_t index, const void *data,
                                           size_t size_bytes,
                                           const struct smr_session_input *input) {
  if (size_bytes != input->size_bytes) {
    const struct smr_function *f = session->entry->function;
    const struct smr_value *v = &f->values[f->inputs[f->user_inputs[index]]];
    const struct smr_dims_text dims = smr_dims_text(input->dims, v->rank);
    SMR_FAIL(&session->error, BAD_SHAPE, "input '%s' is %s %s, %zu bytes, not %zu", v->name,
             smr_dtype_name(v->dtype), dims.text, input->size_bytes, size_bytes);
  }
  if (data == NULL && size_bytes != 0)
    SMR_FAIL(&session->error, BAD_ARGUMENT, "input '%s': no data", api_input_name(session, index));
  return SAMARA_OK;
}

// ---- shapes ----

samara_status smr_session_shape(samara_session *session) {
  struct smr_frame *frame = session->entry;
  const struct smr_function *f = frame->function;
  session->ready = session->ran = false;
  SMR_TRY(smr_session_plan(session));
  for (uint32_t i = 0; i < f->input_count; i++) {
    struct smr_session_input *input = &session->inputs[i];
    if (input->variable >= 0) continue;
    struct smr_tensor t = {.name = f->values[f->inputs[i]].name,
                           .dtype = f->values[f->inputs[i]].dtype,
                           .rank = f->values[f->inputs[i]].rank};
    memcpy(t.dims, input->dims, sizeof t.dims);
    SMR_TRY(smr_tensor_size(frame, &t));
    const size_t had = input->own.data != NULL ? input->own.size_bytes : 0;
    SMR_TRY(smr_block_ensure(session, &input->own, t.size_bytes, had, t.name));
    if (input->own.size_bytes > had)
      memset((uint8_t *)input->own.data + had, 0, input->own.size_bytes - had);
    input->size_bytes = t.size_bytes;
    input->data = input->own.data;
  }
  session->ready = true;
  return SAMARA_OK;
}

static samara_status api_check_symbols(samara_session *session) {
  const struct smr_function *f = session->entry->function;
  for (uint32_t i = 0; i < f->symbol_count; i++) {
    const struct smr_symbol *s = &f->symbols[i];
    const struct smr_expr *e = &f->exprs[s->expr];
    if (e->op != SMR_EXPR_INPUT_DIM) continue;
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
  const struct smr_function *f = session->entry->function;
  for (uint32_t i = 0; i < f->user_input_count; i++) {
    struct smr_session_input *input = &session->inputs[f->user_inputs[i]];
    const uint32_t rank = f->values[f->inputs[f->user_inputs[i]]].rank;
    if (i >= count || (shapes[i] == NULL && rank != 0)) {
      if (!input->known)
        SMR_FAIL(&session->error, BAD_ARGUMENT, "input '%s' has no shape yet",
                 api_input_name(session, i));
      continue;
    }
    for (uint32_t axis = 0; axis < rank; axis++) {
      if (shapes[i][axis] < 0)
        SMR_FAIL(&session->error, BAD_SHAPE, "axis %u of input '%s' is %" PRId64, (unsigned)axis,
                 api_input_name(session, i), shapes[i][axis]);
      input->dims[axis] = shapes[i][axis];
    }
    input->known = true;
  }
  return api_check_symbols(session);
}

samara_status samara_session_resize(samara_session *session, const int64_t *const *shapes,
                                    size_t count) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_function *f = session->entry->function;
  if (count > f->user_input_count || (shapes == NULL && count != 0))
    SMR_FAIL(&session->error, BAD_ARGUMENT, "%zu shapes for %u inputs", count,
             (unsigned)f->user_input_count);
  const bool was_ready = session->ready;
  for (uint32_t i = 0; i < f->input_count; i++) {
    struct smr_session_input *input = &session->inputs[i];
    memcpy(input->former, input->dims, sizeof input->former);
    input->was_known = input->known;
  }
  samara_status status = api_take_shapes(session, shapes, count);
  if (status == SAMARA_OK) status = smr_session_shape(session);
  if (status == SAMARA_OK) return SAMARA_OK;
  const samara_error why = session->error;
  for (uint32_t i = 0; i < f->input_count; i++) {
    struct smr_session_input *input = &session->inputs[i];
    memcpy(input->dims, input->former, sizeof input->dims);
    input->known = input->was_known;
  }
  // All memory for the former shapes is still there, so this cannot fail.
  if (was_ready) (void)smr_session_shape(session);
  session->error = why;
  return status;
}

// ---- inputs ----

samara_status samara_session_set_input(samara_session *session, size_t index, const void *data,
                                       size_t size_bytes) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  struct smr_session_input *input = NULL;
  SMR_TRY(api_input(session, index, &input));
  SMR_TRY(api_check_input_bytes(session, index, data, size_bytes, input));
  if (size_bytes != 0) memmove(input->own.data, data, size_bytes);
  input->data = input->own.data;
  return SAMARA_OK;
}

samara_status samara_session_bind_input(samara_session *session, size_t index, const void *data,
                                        size_t size_bytes) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  struct smr_session_input *input = NULL;
  SMR_TRY(api_input(session, index, &input));
  SMR_TRY(api_check_input_bytes(session, index, data, size_bytes, input));
  input->data = size_bytes != 0 ? data : input->own.data;
  return SAMARA_OK;
}

samara_status samara_session_input(samara_session *session, size_t index, samara_tensor *out) {
  if (session == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  struct smr_session_input *input = NULL;
  SMR_TRY(api_input(session, index, &input));
  const struct smr_function *f = session->entry->function;
  struct smr_tensor t = session->entry->values[f->inputs[f->user_inputs[index]]].tensor;
  memcpy(t.dims, input->dims, sizeof t.dims);
  t.size_bytes = input->size_bytes;
  t.data = input->own.data;
  input->data = input->own.data;
  *out = smr_public_tensor(&t);
  return SAMARA_OK;
}

// ---- runs ----

static samara_status api_run(samara_session *session, const void *const *inputs) {
  const struct smr_function *f = session->entry->function;
  if (!session->ready)
    SMR_FAIL(&session->error, BAD_STATE, "the session has no shapes yet: resize it first");
  session->error.status = SAMARA_OK;
  session->error.text[0] = '\0';
  for (uint32_t i = 0; i < f->input_count; i++) {
    const struct smr_session_input *input = &session->inputs[i];
    session->input_pointers[i] =
        input->variable >= 0 ? session->variables[input->variable].data : input->data;
  }
  for (uint32_t i = 0; i < f->user_input_count; i++) {
    const uint32_t position = (uint32_t)f->user_inputs[i];
    struct smr_session_input *input = &session->inputs[position];
    if (inputs != NULL && inputs[i] != NULL) session->input_pointers[position] = inputs[i];
    // Kernels may rely on the alignment of an element.
    const size_t element = smr_dtype_bytes(f->values[f->inputs[position]].dtype);
    const void *data = session->input_pointers[position];
    if ((uintptr_t)data % element == 0) continue;
    memcpy(input->own.data, data, input->size_bytes);
    session->input_pointers[position] = input->own.data;
  }
  return smr_session_run_entry(session, session->input_pointers);
}

samara_status samara_session_run(samara_session *session) {
  return session != NULL ? api_run(session, NULL) : SAMARA_BAD_ARGUMENT;
}

samara_status samara_session_run_with(samara_session *session, const void *const *inputs,
                                      void *const *outputs) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_function *f = session->entry->function;
  for (uint32_t i = 0; outputs != NULL && i < f->user_output_count; i++) {
    samara_tensor shape;
    if (outputs[i] == NULL) continue;
    SMR_TRY(samara_session_output_shape(session, i, &shape));
    for (int32_t axis = 0; axis < shape.rank; axis++)
      if (shape.shape[axis] < 0)
        SMR_FAIL(&session->error, BAD_SHAPE,
                 "the size of output %u depends on data: no buffer can be given for it",
                 (unsigned)i);
  }
  SMR_TRY(api_run(session, inputs));
  for (uint32_t i = 0; outputs != NULL && i < f->user_output_count; i++) {
    const samara_tensor *result = &session->outputs[f->user_outputs[i]].result;
    if (outputs[i] != NULL && result->size_bytes != 0)
      memcpy(outputs[i], result->data, result->size_bytes);
  }
  return SAMARA_OK;
}

void samara_session_cancel(samara_session *session) {
  if (session == NULL) return;
  int going = SMR_RUN_GOING;
  atomic_compare_exchange_strong(&session->run_state, &going, SMR_RUN_CANCELLED);
}

samara_status samara_session_watch(samara_session *session, samara_watch_fn watch, void *user) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  session->watch = watch;
  session->watch_user = user;
  return SAMARA_OK;
}

// ---- results ----

static samara_status api_output(const samara_session *session, size_t index, uint32_t *position) {
  const struct smr_function *f = session->entry->function;
  if (index >= f->user_output_count)
    SMR_FAIL(api_error(session), BAD_ARGUMENT,
             "function '%s' has %u outputs, there is no output %zu", f->name,
             (unsigned)f->user_output_count, index);
  *position = (uint32_t)f->user_outputs[index];
  return SAMARA_OK;
}

samara_status samara_session_output(const samara_session *session, size_t index,
                                    samara_tensor *out) {
  if (session == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  uint32_t position = 0;
  SMR_TRY(api_output(session, index, &position));
  if (!session->ran)
    SMR_FAIL(api_error(session), BAD_STATE,
             "there are no outputs: the session has not run since "
             "its shapes were set, or its last run failed");
  *out = session->outputs[position].result;
  return SAMARA_OK;
}

samara_status samara_session_output_shape(const samara_session *session, size_t index,
                                          samara_tensor *out) {
  if (session == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  uint32_t position = 0;
  SMR_TRY(api_output(session, index, &position));
  const struct smr_frame *frame = session->entry;
  const struct smr_function *f = frame->function;
  const struct smr_value *v = &f->values[f->outputs[position]];
  struct smr_tensor t = frame->values[f->outputs[position]].tensor;
  if (!session->ready)
    SMR_FAIL(api_error(session), BAD_STATE, "the session has no shapes yet: resize it first");
  bool known = true;
  size_t bytes = smr_dtype_bytes(v->dtype);
  for (uint32_t axis = 0; axis < v->rank; axis++) {
    const uint32_t e = v->dims[axis];
    t.dims[axis] = frame->lo[e] == frame->hi[e] ? frame->hi[e] : -1;
    known = known && t.dims[axis] >= 0;
    if (known) bytes *= (size_t)t.dims[axis];
  }
  t.data = NULL;
  t.size_bytes = known ? smr_packed_bytes(v->dtype, bytes) : 0;
  *out = smr_public_tensor(&t);
  return SAMARA_OK;
}

// The frame and the value of a kept tensor that the last run made; NULL when there is none.
static const struct smr_frame *api_find_kept(const samara_session *session, const char *name,
                                             uint32_t *value, bool *exists) {
  for (uint32_t i = session->frame_count; i-- > 0;) {
    const struct smr_frame *frame = session->order[i];
    const struct smr_function *f = frame->function;
    for (uint32_t v = 0; v < f->value_count; v++) {
      if (!frame->values[v].kept || strcmp(f->values[v].name, name) != 0) continue;
      *exists = true;
      const int32_t producer = f->values[v].producer;
      *value = v;
      if (producer < 0 || frame->nodes[producer].run_number == session->run_number) return frame;
    }
  }
  return NULL;
}

samara_status samara_session_kept(const samara_session *session, const char *name,
                                  samara_tensor *out) {
  if (session == NULL || name == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  samara_error *error = api_error(session);
  bool exists = false;
  uint32_t value = 0;
  const struct smr_frame *frame = api_find_kept(session, name, &value, &exists);
  if (!exists) return smr_session_refuse_kept((samara_session *)(uintptr_t)session, name);
  if (frame == NULL || session->run_number == 0 || !session->ready)
    SMR_FAIL(error, BAD_STATE, "tensor '%s' was not computed in the last run", name);
  if (frame->values[value].tensor.layout != SMR_LAYOUT_PLAIN)
    SMR_FAIL(error, UNSUPPORTED, "tensor '%s' is a constant stored packed", name);
  *out = smr_value_public(frame, value);
  return SAMARA_OK;
}

const char *samara_session_error(const samara_session *session) {
  return session != NULL ? session->error.text : "";
}

size_t samara_session_arena_bytes(const samara_session *session) {
  return session != NULL ? session->arena_bytes : 0;
}

size_t samara_session_total_bytes(const samara_session *session) {
  return session != NULL ? session->total_bytes : 0;
}
