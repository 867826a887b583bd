// SPDX-License-Identifier: Apache-2.0
// A frame at work: entering it, evaluating its stages, and pointing its tensors at memory.
#include "base/fp.h"

#include "session/session.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "ops/check.h"

samara_status smr_tensor_size(struct smr_frame *frame, struct smr_tensor *tensor) {
  size_t bytes = smr_dtype_bytes(tensor->dtype);
  bool fits = bytes != 0;
  for (uint32_t i = 0; fits && i < tensor->rank; i++)
    fits = tensor->dims[i] >= 0 && (uint64_t)tensor->dims[i] <= SIZE_MAX &&
           smr_mul_size(bytes, (size_t)tensor->dims[i], &bytes) && bytes <= PTRDIFF_MAX / 2;
  if (!fits) {
    const struct smr_dims_text text = smr_dims_text(tensor->dims, tensor->rank);
    SMR_FAIL(&frame->session->error, BAD_SHAPE, "function '%s': '%s' cannot have dims %s",
             frame->function->name, tensor->name, text.text);
  }
  tensor->size_bytes = smr_packed_bytes(tensor->dtype, bytes);
  tensor->pixel_stride = tensor->rank > 0 ? tensor->dims[tensor->rank - 1] : 1;
  return SAMARA_OK;
}

samara_status smr_value_size(struct smr_frame *frame, uint32_t id) {
  struct smr_frame_value *value = &frame->values[id];
  SMR_TRY(smr_tensor_size(frame, &value->tensor));
  if (value->view_stride != 0) value->tensor.pixel_stride = value->view_stride;
  return SAMARA_OK;
}

// ---- expressions and guards ----

// Element of a tensor in memory, as an expression sees it.
static samara_status frame_read(struct smr_frame *frame, const struct smr_expr *expr,
                                int64_t *out) {
  const struct smr_tensor *t = &frame->values[expr->a].tensor;
  if (expr->b < 0 || expr->b >= smr_numel(t) || t->data == NULL)
    SMR_FAIL(&frame->session->error, BAD_SHAPE,
             "function '%s': a dim is element %" PRId32 " of '%s', which has %" PRId64 " elements",
             frame->function->name, expr->b, t->name, smr_numel(t));
  const uint8_t *at = (const uint8_t *)t->data + (size_t)expr->b * smr_dtype_bytes(t->dtype);
  int32_t narrow;
  switch (t->dtype) {
    case SAMARA_FLOAT32:
    case SAMARA_INT32:
      memcpy(&narrow, at, sizeof narrow);
      *out = narrow;
      if (t->dtype == SAMARA_FLOAT32) *out &= INT64_C(0xffffffff);
      return SAMARA_OK;
    case SAMARA_INT64:
      memcpy(out, at, sizeof *out);
      return SAMARA_OK;
    case SAMARA_INT8:
      *out = *at < 128 ? *at : *at - 256;
      return SAMARA_OK;
    case SAMARA_UINT8:
      *out = *at;
      return SAMARA_OK;
    case SAMARA_BOOL:
      *out = *at != 0;
      return SAMARA_OK;
    default:
      SMR_FAIL(&frame->session->error, BAD_MODEL, "function '%s': a dim is read from '%s' (%s)",
               frame->function->name, t->name, smr_dtype_name(t->dtype));
  }
}

static samara_status frame_check_bound(struct smr_frame *frame, const char *what, const char *name,
                                       int64_t value, int64_t bound_expr) {
  if (bound_expr < 0 || value <= frame->exprs[bound_expr]) return SAMARA_OK;
  SMR_FAIL(&frame->session->error, LIMIT,
           "function '%s': %s '%s' is %" PRId64 ", above its bound %" PRId64, frame->function->name,
           what, name, value, frame->exprs[bound_expr]);
}

static samara_status frame_evaluate(struct smr_frame *frame, uint32_t index, int64_t *out) {
  const struct smr_function *f = frame->function;
  const struct smr_expr *e = &f->exprs[index];
  const char *why = "";
  switch (e->op) {
    case SMR_EXPR_INPUT_DIM:
      *out = frame->input_dims[e->a][e->b];
      return SAMARA_OK;
    case SMR_EXPR_READ:
      SMR_TRY(frame_read(frame, e, out));
      return frame_check_bound(frame, "a dim read from", f->values[e->a].name, *out, e->c);
    case SMR_EXPR_BORN: {
      const uint32_t value = f->nodes[e->a].outputs[e->b];
      *out = frame->values[value].tensor.dims[e->c];
      return frame_check_bound(frame, "a dim of", f->values[value].name, *out, e->k);
    }
    default:
      if (smr_expr_evaluate(f->exprs, index, frame->exprs, out, &why)) return SAMARA_OK;
      SMR_FAIL(&frame->session->error, BAD_SHAPE, "function '%s': dim expression %u: %s", f->name,
               (unsigned)index, why);
  }
}

static samara_status frame_evaluate_stage(struct smr_frame *frame, uint32_t stage) {
  const struct smr_staged *staged = &frame->staged_exprs;
  for (uint32_t i = staged->begin[stage]; i < staged->begin[stage + 1]; i++) {
    const uint32_t index = staged->order[i];
    int64_t value = 0;
    const samara_status status = frame_evaluate(frame, index, &value);
    if (status != SAMARA_OK || value != frame->exprs[index]) frame->stage_valid[stage] = false;
    SMR_TRY(status);
    frame->exprs[index] = value;
  }
  return SAMARA_OK;
}

static samara_status frame_check_guards(struct smr_frame *frame, uint32_t stage) {
  const struct smr_function *f = frame->function;
  const struct smr_staged *staged = &frame->staged_guards;
  for (uint32_t i = staged->begin[stage]; i < staged->begin[stage + 1]; i++) {
    const struct smr_guard *g = &f->guards[staged->order[i]];
    const int64_t a = frame->exprs[g->a], b = frame->exprs[g->b];
    const bool holds = g->relation == SMR_RELATION_EQ   ? a == b
                       : g->relation == SMR_RELATION_LE ? a <= b
                                                        : a < b;
    if (holds) continue;
    const char *relation = g->relation == SMR_RELATION_EQ   ? "=="
                           : g->relation == SMR_RELATION_LE ? "<="
                                                            : "<";
    const char *text = g->message != NULL && g->message[0] != '\0' ? g->message : "dims disagree";
    if (g->node >= 0)
      SMR_FAIL(&frame->session->error, BAD_SHAPE,
               "function '%s', node '%s': %s (needs %" PRId64 " %s %" PRId64 ")", f->name,
               f->nodes[g->node].name, text, a, relation, b);
    SMR_FAIL(&frame->session->error, BAD_SHAPE,
             "function '%s': %s (needs %" PRId64 " %s %" PRId64 ")", f->name, text, a, relation, b);
  }
  return SAMARA_OK;
}

// ---- dims ----

samara_status smr_value_known_dims(struct smr_frame *frame, uint32_t id, uint32_t stage) {
  const struct smr_value *v = &frame->function->values[id];
  struct smr_tensor *t = &frame->values[id].tensor;
  for (uint32_t i = 0; i < v->rank; i++)
    t->dims[i] = frame->function->expr_stage[v->dims[i]] <= stage ? frame->exprs[v->dims[i]] : 0;
  return smr_value_size(frame, id);
}

// The dims that a value has must be those that its expressions say.
static samara_status frame_compare_dims(struct smr_frame *frame, uint32_t id, const int64_t *dims,
                                        uint32_t stage, const char *what) {
  const struct smr_function *f = frame->function;
  const struct smr_value *v = &f->values[id];
  for (uint32_t i = 0; i < v->rank; i++) {
    if (f->expr_stage[v->dims[i]] > stage || dims[i] == frame->exprs[v->dims[i]]) continue;
    SMR_FAIL(&frame->session->error, BAD_SHAPE,
             "function '%s': axis %u of %s '%s' is %" PRId64 ", expected %" PRId64, f->name,
             (unsigned)i, what, v->name, dims[i], frame->exprs[v->dims[i]]);
  }
  return SAMARA_OK;
}

// Dims of the values whose expressions became known with `stage`.
static samara_status frame_set_dims(struct smr_frame *frame, uint32_t stage) {
  const struct smr_function *f = frame->function;
  const struct smr_staged *staged = &frame->staged_values;
  for (uint32_t i = staged->begin[stage]; i < staged->begin[stage + 1]; i++) {
    const uint32_t id = staged->order[i];
    const struct smr_value *v = &f->values[id];
    const bool made = v->producer >= 0 && f->nodes[v->producer].stage < stage;
    if (made || v->constant >= 0)
      SMR_TRY(frame_compare_dims(frame, id, frame->values[id].tensor.dims, stage,
                                 made ? "value" : "constant"));
    else
      SMR_TRY(smr_value_known_dims(frame, id, stage));
  }
  if (stage != 0) return SAMARA_OK;
  for (uint32_t i = 0; i < f->input_count; i++)
    SMR_TRY(frame_compare_dims(frame, f->inputs[i], frame->input_dims[i], 0, "input"));
  return SAMARA_OK;
}

samara_status smr_value_settle(struct smr_frame *frame, struct smr_frame_node *node,
                               uint32_t output, const int64_t *dims) {
  const uint32_t id = node->node->outputs[output];
  struct smr_tensor *t = &frame->values[id].tensor;
  SMR_TRY(frame_compare_dims(frame, id, dims, node->node->stage, "output"));
  if (t->dims != dims) memcpy(t->dims, dims, t->rank * sizeof *dims);
  SMR_TRY(smr_tensor_size(frame, t));
  return smr_value_attach(frame, id, t->size_bytes);
}

// ---- memory ----

static uint8_t *frame_base(const struct smr_frame *frame, uint32_t stage) {
  return frame->growing ? (uint8_t *)frame->chunks[stage].data : frame->base;
}

static uint8_t *frame_root_base(const struct smr_frame *frame, uint32_t root) {
  return frame_base(frame, frame->function->nodes[frame->function->values[root].producer].stage);
}

void *smr_value_target(struct smr_frame *frame, uint32_t id, size_t *capacity_bytes) {
  const uint32_t root = frame->values[id].root;
  const struct smr_frame_value *head = &frame->values[root];
  *capacity_bytes = head->capacity_bytes;
  if (head->home == SMR_HOME_ARENA) return frame_root_base(frame, root) + head->offset;
  if (head->home == SMR_HOME_OUTPUT && frame->output_data[head->output] != NULL) {
    *capacity_bytes = frame->output_capacity[head->output];
    return frame->output_data[head->output];
  }
  *capacity_bytes = 0;
  return NULL;
}

// A part lies in its group's bytes, which may be made by a later node.
static samara_status frame_attach_part(struct smr_frame *frame, struct smr_frame_value *part) {
  const struct smr_tensor *whole = &frame->values[part->alias_of].tensor;
  SMR_TRY(smr_value_attach(frame, part->alias_of, whole->size_bytes));
  part->tensor.data = whole->data != NULL ? (uint8_t *)whole->data + part->view_bytes : NULL;
  return SAMARA_OK;
}

samara_status smr_value_attach(struct smr_frame *frame, uint32_t id, size_t size_bytes) {
  if (frame->values[id].part) return frame_attach_part(frame, &frame->values[id]);
  const uint32_t root = frame->values[id].root;
  struct smr_frame_value *head = &frame->values[root];
  struct smr_tensor *t = &frame->values[id].tensor;
  if (head->home == SMR_HOME_CONSTANT || head->home == SMR_HOME_INPUT) {
    t->data = head->tensor.data;
    return SAMARA_OK;
  }
  size_t capacity = 0;
  void *target = smr_value_target(frame, id, &capacity);
  if (target == NULL) {
    SMR_TRY(smr_block_ensure(frame->session, &head->own, size_bytes, 0, t->name));
    t->data = head->tensor.data = head->own.data;
    return SAMARA_OK;
  }
  if (size_bytes > capacity) {
    const struct smr_dims_text text = smr_dims_text(t->dims, t->rank);
    SMR_FAIL(&frame->session->error, LIMIT,
             "function '%s': '%s' has dims %s, %zu bytes, but %zu are planned by its bounds",
             frame->function->name, t->name, text.text, size_bytes, capacity);
  }
  t->data = target;
  return SAMARA_OK;
}

samara_status smr_frame_attach(struct smr_frame *frame, uint32_t stage) {
  const struct smr_function *f = frame->function;
  if (stage == 0)
    for (uint32_t i = 0; i < f->input_count; i++)
      frame->values[f->inputs[i]].tensor.data = frame->input_data[i];
  for (uint32_t i = frame->stage_begin[stage]; i < frame->stage_begin[stage + 1]; i++) {
    struct smr_frame_node *node = &frame->nodes[i];
    for (uint32_t k = 0; k < node->node->output_count; k++) {
      const uint32_t id = node->node->outputs[k];
      struct smr_frame_value *value = &frame->values[id];
      if (!node->late) {
        SMR_TRY(smr_value_attach(frame, id, value->tensor.size_bytes));
        continue;
      }
      size_t capacity = 0;
      value->tensor.data = smr_value_target(frame, id, &capacity);
      if (value->tensor.data == NULL) value->tensor.data = value->own.data;
    }
    if (node->kind == SMR_CONTROL_NONE || node->kind == SMR_CONTROL_CUSTOM)
      SMR_TRY(smr_node_attach_scratch(frame, node));
    else
      node->job.scratch =
          frame_base(frame, stage) == NULL ? NULL : frame_base(frame, stage) + node->scratch_offset;
  }
  frame->stage_attached[stage] = true;
  return SAMARA_OK;
}

samara_status smr_node_attach_scratch(struct smr_frame *frame, struct smr_frame_node *node) {
  const size_t bytes = node->prepared ? smr_node_scratch(frame, node) : 0;
  if (bytes <= node->scratch_capacity) {
    uint8_t *base = frame_base(frame, node->node->stage);
    node->job.scratch = base != NULL ? base + node->scratch_offset : NULL;
    return SAMARA_OK;
  }
  SMR_TRY(smr_block_ensure(frame->session, &node->overflow, bytes, 0, node->node->name));
  node->job.scratch = node->overflow.data;
  return SAMARA_OK;
}

// ---- stages ----

// A growing frame lays out each stage when it is reached: dims known by now bound the rest better.
static samara_status frame_grow(struct smr_frame *frame, uint32_t stage) {
  size_t bytes = 0;
  smr_frame_bounds(frame, stage + 1);
  smr_frame_place(frame, stage, stage + 1);
  SMR_TRY(smr_frame_plan(frame, stage, stage + 1, &bytes));
  return smr_block_ensure(frame->session, &frame->chunks[stage], bytes, 0, frame->function->name);
}

static samara_status frame_prepare_stage(struct smr_frame *frame, uint32_t stage) {
  const struct smr_function *f = frame->function;
  for (uint32_t s = 0; s < f->stage_count; s++) {
    frame->stage_attached[s] = false;
    if (s >= stage) frame->stage_valid[s] = false;
  }
  SMR_TRY(frame_check_guards(frame, stage));
  SMR_TRY(frame_set_dims(frame, stage));
  for (uint32_t i = 0; i < f->value_count; i++)
    if (f->values[i].constant < 0) frame->values[i].tensor.data = NULL;
  for (uint32_t i = frame->stage_begin[stage]; i < frame->stage_begin[stage + 1]; i++)
    SMR_TRY(smr_node_prepare(frame, &frame->nodes[i]));
  if (frame->planned && frame->growing) SMR_TRY(frame_grow(frame, stage));
  frame->stage_valid[stage] = true;
  return SAMARA_OK;
}

samara_status smr_frame_stage(struct smr_frame *frame, uint32_t stage) {
  if (stage != 0 || !frame->stage_valid[0]) SMR_TRY(frame_evaluate_stage(frame, stage));
  if (!frame->stage_valid[stage]) SMR_TRY(frame_prepare_stage(frame, stage));
  if (!frame->planned) return SAMARA_OK;
  for (uint32_t s = 0; s <= stage; s++)
    if (!frame->stage_attached[s]) SMR_TRY(smr_frame_attach(frame, s));
  return SAMARA_OK;
}

// True when the inputs have the dims of the last evaluation; else takes them over.
static samara_status frame_take_dims(struct smr_frame *frame, bool *same) {
  const struct smr_function *f = frame->function;
  const struct smr_tensor *const *inputs = frame->given_inputs;
  *same = frame->entered;
  for (uint32_t i = 0; *same && i < f->input_count; i++)
    *same = memcmp(frame->input_dims[i], inputs[i]->dims, inputs[i]->rank * sizeof(int64_t)) == 0;
  if (*same) return SAMARA_OK;
  frame->entered = false;
  for (uint32_t s = 0; s < f->stage_count; s++)
    frame->stage_valid[s] = frame->stage_attached[s] = false;
  for (uint32_t i = 0; i < f->input_count; i++) {
    for (uint32_t axis = 0; axis < inputs[i]->rank; axis++) {
      const int64_t dim = inputs[i]->dims[axis];
      if (frame->planned && dim > frame->input_hi[i][axis])
        SMR_FAIL(&frame->session->error, LIMIT,
                 "function '%s': axis %u of input '%s' is %" PRId64 ", above its bound %" PRId64,
                 f->name, (unsigned)axis, inputs[i]->name, dim, frame->input_hi[i][axis]);
      frame->input_dims[i][axis] = dim;
    }
  }
  return SAMARA_OK;
}

samara_status smr_frame_enter(struct smr_frame *frame, uint8_t *base) {
  const struct smr_function *f = frame->function;
  bool moved = base != frame->base;
  frame->base = base;
  for (uint32_t i = 0; i < f->input_count; i++) {
    moved = moved || frame->input_data[i] != frame->given_inputs[i]->data;
    frame->input_data[i] = frame->given_inputs[i]->data;
  }
  for (uint32_t i = 0; i < f->output_count; i++) {
    moved = moved || frame->output_data[i] != frame->given_data[i] ||
            frame->output_capacity[i] != frame->given_capacity[i];
    frame->output_data[i] = frame->given_data[i];
    frame->output_capacity[i] = frame->given_capacity[i];
  }
  if (moved)
    for (uint32_t s = 0; s < f->stage_count; s++) frame->stage_attached[s] = false;
  bool same = false;
  SMR_TRY(frame_take_dims(frame, &same));
  SMR_TRY(smr_frame_stage(frame, 0));
  frame->entered = true;
  return SAMARA_OK;
}
