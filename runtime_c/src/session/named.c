// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs by name: their indices, and a run that copies them.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

#include "base/format.h"

enum { NAMED_LIST_TEXT = 256 };

// Fail with NOT_FOUND and list all names.
static samara_status named_refuse(const samara_session *session, const char *what, const char *name,
                                  uint32_t count,
                                  const char *(*name_of)(const samara_session *, uint32_t)) {
  char list[NAMED_LIST_TEXT] = "none";
  for (uint32_t i = 0, at = 0; i < count && at + 1 < sizeof list; i++)
    at += (uint32_t)smr_format(list + at, sizeof list - at, "%s'%s'", i > 0 ? ", " : "",
                               name_of(session, i));
  SMR_FAIL(&((samara_session *)(uintptr_t)session)->error, NOT_FOUND,
           "function '%s' has no %s '%s'; it has %s", session->function->name, what,
           name != NULL ? name : "(null)", list);
}

static const char *named_input(const samara_session *session, uint32_t index) {
  const struct smr_function *f = session->function;
  return f->values[f->inputs[f->user_inputs[index]]].name;
}

static const char *named_output(const samara_session *session, uint32_t index) {
  const struct smr_function *f = session->function;
  return f->output_names[f->user_outputs[index]];
}

static samara_status named_find(const samara_session *session, const char *what, const char *name,
                                uint32_t count,
                                const char *(*name_of)(const samara_session *, uint32_t),
                                size_t *index) {
  for (uint32_t i = 0; name != NULL && i < count; i++)
    if (strcmp(name_of(session, i), name) == 0) {
      *index = i;
      return SAMARA_OK;
    }
  return named_refuse(session, what, name, count, name_of);
}

samara_status samara_session_input_index(const samara_session *session, const char *name,
                                         size_t *index) {
  if (session == NULL || index == NULL) return SAMARA_BAD_ARGUMENT;
  return named_find(session, "input", name, session->function->user_input_count, named_input,
                    index);
}

samara_status samara_session_output_index(const samara_session *session, const char *name,
                                          size_t *index) {
  if (session == NULL || index == NULL) return SAMARA_BAD_ARGUMENT;
  return named_find(session, "output", name, session->function->user_output_count, named_output,
                    index);
}

// Whether user input `index` has other dims, or none yet.
static bool named_differs(const samara_session *session, size_t index, const int64_t *shape) {
  const struct smr_function *f = session->function;
  const uint32_t position = (uint32_t)f->user_inputs[index];
  const size_t rank = f->values[f->inputs[position]].rank;
  return shape != NULL && (!session->ready || memcmp(session->inputs[position].dims, shape,
                                                     rank * sizeof *shape) != 0);
}

// Resize if a feed has other dims.
static samara_status named_resize(samara_session *session, const samara_feed *inputs,
                                  size_t count) {
  const size_t all = session->function->user_input_count;
  bool differs = false;
  size_t index = 0;
  for (size_t i = 0; i < count; i++) {
    SMR_TRY(samara_session_input_index(session, inputs[i].name, &index));
    differs = named_differs(session, index, inputs[i].shape) || differs;
  }
  if (!differs) return SAMARA_OK;
  const int64_t **shapes =
      smr_allocate_zeroed(&session->common.memory.allocator, all, sizeof *shapes);
  if (shapes == NULL) return smr_no_memory(&session->error, all * sizeof *shapes);
  for (size_t i = 0; i < count; i++) {
    (void)samara_session_input_index(session, inputs[i].name, &index);  // found above
    shapes[index] = inputs[i].shape;
  }
  const samara_status status = samara_session_resize(session, shapes, all);
  smr_release(&session->common.memory.allocator, (void *)shapes);
  return status;
}

static samara_status named_check_output(samara_session *session, const samara_fetch *output,
                                        size_t *index) {
  samara_tensor shape;
  SMR_TRY(samara_session_output_index(session, output->name, index));
  SMR_TRY(samara_session_output_shape(session, *index, &shape));
  for (int32_t axis = 0; axis < shape.rank; axis++)
    if (shape.shape[axis] < 0)
      SMR_FAIL(&session->error, BAD_SHAPE,
               "axis %d of output '%s' depends on data: read it with samara_session_output",
               (int)axis, output->name);
  if (output->size_bytes != shape.size_bytes)
    SMR_FAIL(&session->error, BAD_SHAPE, "output '%s' has %zu bytes of %s, the buffer %zu",
             output->name, shape.size_bytes, smr_dtype_name((uint8_t)shape.dtype),
             output->size_bytes);
  if (output->data == NULL && output->size_bytes != 0)
    SMR_FAIL(&session->error, BAD_ARGUMENT, "output '%s': no buffer", output->name);
  return SAMARA_OK;
}

samara_status samara_session_run_named(samara_session *session, const samara_feed *inputs,
                                       size_t input_count, const samara_fetch *outputs,
                                       size_t output_count) {
  size_t index = 0;
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  if ((inputs == NULL && input_count != 0) || (outputs == NULL && output_count != 0))
    SMR_FAIL(&session->error, BAD_ARGUMENT,
             "the list of inputs or outputs is NULL, but its count is not 0");
  SMR_TRY(named_resize(session, inputs, input_count));
  for (size_t i = 0; i < output_count; i++)
    SMR_TRY(named_check_output(session, &outputs[i], &index));
  for (size_t i = 0; i < input_count; i++) {
    SMR_TRY(samara_session_input_index(session, inputs[i].name, &index));
    SMR_TRY(samara_session_set_input(session, index, inputs[i].data, inputs[i].size_bytes));
  }
  SMR_TRY(samara_session_run(session));
  for (size_t i = 0; i < output_count; i++) {
    samara_tensor made;
    SMR_TRY(samara_session_output_index(session, outputs[i].name, &index));
    SMR_TRY(samara_session_output(session, index, &made));
    if (outputs[i].data != made.data && made.size_bytes != 0)
      memcpy(outputs[i].data, made.data, made.size_bytes);
  }
  return SAMARA_OK;
}
