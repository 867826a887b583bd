// SPDX-License-Identifier: Apache-2.0
// Kept tensors, readable until the next run, and watch functions, called after each node.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

// ---- building ----

samara_status smr_keep_options(struct smr_keep *keep, const samara_session_options *options,
                               samara_error *error) {
  if (options->keep == NULL && options->keep_count != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "keep_count without keep in the session options");
  for (size_t i = 0; i < options->keep_count; i++)
    if (options->keep[i] == NULL) SMR_FAIL(error, BAD_ARGUMENT, "keep[%zu] is NULL", i);
  keep->all = options->keep_all;
  keep->names = options->keep;
  keep->count = options->keep_count;
  return SAMARA_OK;
}

bool smr_keep_wants(const struct smr_keep *keep, const char *name) {
  if (keep->all) return true;
  for (size_t i = 0; i < keep->count; i++)
    if (strcmp(keep->names[i], name) == 0) return true;
  return false;
}

// Fail with NOT_FOUND for a tensor that cannot be kept, naming the node that absorbed it, if any.
static samara_status keep_refuse(samara_session *session, const char *name) {
  for (uint32_t i = 0; i < session->frames.count; i++) {
    const struct smr_function *f = session->frames.order[i]->function;
    for (uint32_t n = 0; n < f->node_count; n++)
      for (uint32_t k = 0; k < f->nodes[n].absorbed_count; k++)
        if (strcmp(f->nodes[n].absorbed[k], name) == 0)
          SMR_FAIL(
              &session->error, NOT_FOUND,
              "tensor '%s' was absorbed by node '%s' (%s); export without optimization to keep it",
              name, f->nodes[n].name, f->nodes[n].op->name);
  }
  SMR_FAIL(&session->error, NOT_FOUND, "there is no tensor '%s' to keep", name);
}

// The frame and the value of a kept tensor of the last run; NULL if there is none.
static struct smr_frame *keep_find(const samara_session *session, const char *name, uint32_t *value,
                                   bool *exists) {
  *exists = false;
  for (uint32_t i = session->frames.count; i-- > 0;) {
    struct smr_frame *frame = session->frames.order[i];
    const struct smr_function *f = frame->function;
    for (uint32_t v = 0; v < f->value_count; v++) {
      if (!frame->values[v].kept || strcmp(f->values[v].name, name) != 0) continue;
      *exists = true;
      *value = v;
      const int32_t producer = f->values[v].producer;
      if (producer < 0 || frame->nodes[producer].run_number == session->common.run.number)
        return frame;
    }
  }
  return NULL;
}

samara_status smr_keep_end(samara_session *session) {
  uint32_t most = 1, value;
  bool exists;
  for (size_t i = 0; i < session->keep.count; i++) {
    (void)keep_find(session, session->keep.names[i], &value, &exists);
    if (!exists) return keep_refuse(session, session->keep.names[i]);
  }
  session->keep.names = NULL;
  session->keep.count = 0;
  for (uint32_t i = 0; i < session->frames.count; i++) {
    const struct smr_function *f = session->frames.order[i]->function;
    for (uint32_t n = 0; n < f->node_count; n++)
      if (f->nodes[n].output_count > most) most = f->nodes[n].output_count;
  }
  SMR_TAKE(&session->common, session->keep.watch_names, most);
  SMR_TAKE(&session->common, session->keep.watch_tensors, most);
  return SAMARA_OK;
}

// ---- running ----

// Copy a value with gaps between pixels to `own`, where the user can read it.
static samara_status keep_gather(struct smr_frame *frame, uint32_t id) {
  struct smr_frame_value *value = &frame->values[id];
  const struct smr_tensor *t = &value->tensor;
  const void *data;
  SMR_TRY(smr_block_ensure(frame->common, &value->own, t->size_bytes, 0, t->name));
  if (t->size_bytes == 0) return SAMARA_OK;
  SMR_TRY(smr_value_read(frame->common, t, &data));
  const size_t element = smr_dtype_bytes(t->dtype);
  const size_t row = (size_t)t->dims[t->rank - 1] * element;
  const size_t pitch = (size_t)t->pixel_stride * element;
  for (size_t i = 0; i < t->size_bytes / row; i++)
    memcpy((uint8_t *)value->own.data + i * row, (const uint8_t *)data + i * pitch, row);
  return SAMARA_OK;
}

// The public tensor of a value; gathered if there are gaps between pixels.
static samara_status keep_public(const struct smr_frame *frame, uint32_t id, samara_tensor *out) {
  const struct smr_frame_value *value = &frame->values[id];
  const void *data = value->own.data;
  if (smr_value_gap(value) == 0) SMR_TRY(smr_value_read(frame->common, &value->tensor, &data));
  smr_public_tensor(&value->tensor, data, out);
  return SAMARA_OK;
}

samara_status smr_keep_node(struct smr_keep *keep, struct smr_frame *frame,
                            const struct smr_frame_node *node) {
  for (uint32_t i = 0; i < node->job.output_count; i++) {
    const uint32_t id = node->node->outputs[i];
    const struct smr_frame_value *value = &frame->values[id];
    // Gather the value before its bytes are reused.
    if ((value->kept || keep->watch != NULL) && smr_value_gap(value) != 0)
      SMR_TRY(keep_gather(frame, id));
    keep->watch_names[i] = value->tensor.name;
    if (keep->watch != NULL) SMR_TRY(keep_public(frame, id, &keep->watch_tensors[i]));
  }
  if (keep->watch == NULL || keep->watch(keep->watch_user, node->job.name, keep->watch_names,
                                         keep->watch_tensors, node->job.output_count) == 0)
    return SAMARA_OK;
  SMR_FAIL(frame->common->error, CANCELLED, "stopped by the watch function");
}

// ---- the public functions ----

samara_status samara_session_watch(samara_session *session, samara_watch_fn watch, void *user) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  session->keep.watch = watch;
  session->keep.watch_user = user;
  return SAMARA_OK;
}

samara_status samara_session_kept(const samara_session *session, const char *name,
                                  samara_tensor *out) {
  if (session == NULL || name == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  samara_session *own = (samara_session *)(uintptr_t)session;  // its error may be written
  bool exists;
  uint32_t value = 0;
  const struct smr_frame *frame = keep_find(session, name, &value, &exists);
  if (!exists) return keep_refuse(own, name);
  if (frame == NULL || session->common.run.number == 0 || !session->ready)
    SMR_FAIL(&own->error, BAD_STATE, "tensor '%s' was not computed in the last run", name);
  if (frame->values[value].tensor.layout != SMR_LAYOUT_PLAIN)
    SMR_FAIL(&own->error, UNSUPPORTED, "tensor '%s' is a constant stored packed", name);
  return keep_public(frame, value, out);
}
