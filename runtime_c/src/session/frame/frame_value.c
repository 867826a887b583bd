// SPDX-License-Identifier: Apache-2.0
// Values of a frame: their sizes, reading them on the host, and errors that name them.
#include "base/fp.h"

#include "session/frame/frame.h"

#include <inttypes.h>
#include <string.h>

// ---- sizes ----

samara_status smr_tensor_size(const struct smr_frame *frame, struct smr_tensor *tensor) {
  if (!smr_dims_bytes(tensor->dtype, tensor->rank, tensor->dims, &tensor->size_bytes))
    SMR_FRAME_FAIL(frame, BAD_SHAPE, "'%s' cannot have %" PRId64 " elements along axis %zu",
                   tensor->name, tensor->dims[tensor->size_bytes], tensor->size_bytes);
  tensor->pixel_stride = tensor->rank > 0 ? tensor->dims[tensor->rank - 1] : 1;
  return SAMARA_OK;
}

samara_status smr_value_size(struct smr_frame *frame, uint32_t id) {
  struct smr_frame_value *value = &frame->values[id];
  SMR_TRY(smr_tensor_size(frame, &value->tensor));
  if (smr_value_gap(value) != 0) value->tensor.pixel_stride = smr_value_gap(value);
  return SAMARA_OK;
}

samara_status smr_value_known_dims(struct smr_frame *frame, uint32_t id, uint32_t stage) {
  const struct smr_value *v = &frame->function->values[id];
  struct smr_tensor *t = &frame->values[id].tensor;
  for (uint32_t i = 0; i < v->rank; i++)
    t->dims[i] = smr_expr_known(frame->function, v->dims[i], stage) ? frame->exprs[v->dims[i]] : 0;
  return smr_value_size(frame, id);
}

// ---- public tensors ----

void smr_public_tensor(const struct smr_tensor *tensor, const void *data, samara_tensor *out) {
  *out = (samara_tensor){.data = (void *)(uintptr_t)data,
                         .size_bytes = tensor->size_bytes,
                         .rank = tensor->rank,
                         .dtype = (samara_dtype)tensor->dtype};
  memcpy(out->shape, tensor->dims, tensor->rank * sizeof *out->shape);
  if (tensor->quant != NULL && tensor->quant->count == 1) {
    out->scale = tensor->quant->scales[0];
    out->zero_point = tensor->quant->zero_points != NULL ? tensor->quant->zero_points[0] : 0;
  }
}

// ---- errors ----

samara_status smr_frame_fail(const struct smr_frame *frame, samara_status status) {
  return smr_fail_prefix(frame->common->error, status, "function '%s': ", frame->function->name);
}

samara_status smr_frame_exceeds(const struct smr_frame *frame, const char *name, size_t bytes,
                                size_t planned) {
  SMR_FAIL(frame->common->error, LIMIT, "'%s' has %zu bytes, but %zu are planned by its bounds",
           name, bytes, planned);
}

const struct smr_source *smr_node_source(const samara_model *model,
                                         const struct smr_frame_node *node) {
  if (node->node->source < 0) return NULL;
  const struct smr_source *source = &model->sources[node->node->source];
  return source->file != NULL && source->file[0] != '\0' ? source : NULL;
}

samara_status smr_node_fail(const struct smr_frame *frame, const struct smr_frame_node *node,
                            samara_status status) {
  samara_error *error = frame->common->error;
  const struct smr_source *source = smr_node_source(frame->common->model, node);
  (void)smr_fail_prefix(error, status, "): ");
  if (source != NULL)
    (void)smr_fail_prefix(error, status, ", %s:%u", source->file, (unsigned)source->line);
  return smr_fail_prefix(error, status, "function '%s', node '%s' (%s", frame->function->name,
                         node->node->name, node->node->op->name);
}
