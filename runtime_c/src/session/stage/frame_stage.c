// SPDX-License-Identifier: Apache-2.0
// Enters a frame, evaluates its stages, and points its tensors at memory.
#include "base/fp.h"

#include "session/stage/stage.h"

#include <inttypes.h>
#include <string.h>

// ---- expressions and guards ----

// Read an element of a tensor for an expression: the bits of a float, else the integer. The file
// reader checked the dtype.
static samara_status frame_read(struct smr_frame *frame, const struct smr_expr *expr,
                                int64_t *out) {
  const struct smr_tensor *t = &frame->values[expr->a].tensor;
  if (expr->b >= smr_numel(t) || t->data == NULL)
    SMR_FRAME_FAIL(frame, BAD_SHAPE,
                   "a dim is element %" PRId32 " of '%s', which has %" PRId64 " elements", expr->b,
                   t->name, smr_numel(t));
  const size_t bytes = smr_dtype_bytes(t->dtype);
  const bool is_signed = t->dtype == SAMARA_INT8 || t->dtype == SAMARA_INT32;
  const uint64_t sign = is_signed ? UINT64_C(1) << (8 * bytes - 1) : 0;
  uint64_t bits = 0;
  const void *data;
  SMR_TRY(smr_value_read(frame->common, t, &data));
  memcpy(&bits, (const uint8_t *)data + (size_t)expr->b * bytes, bytes);
  *out = t->dtype == SAMARA_BOOL ? bits != 0 : (int64_t)((bits ^ sign) - sign);
  return SAMARA_OK;
}

// Evaluate an expression. Returns the expression that bounds it if it depends on data, else -1.
static samara_status frame_evaluate(struct smr_frame *frame, uint32_t index, int64_t *out) {
  const struct smr_function *f = frame->function;
  const struct smr_expr *e = &f->exprs[index];
  const char *why = "", *name = NULL;
  int64_t bound = -1;
  if (e->op == SMR_EXPR_CONST) {
    *out = e->k;
  } else if (SMR_HAS(late) && e->op == SMR_EXPR_READ) {
    SMR_TRY(frame_read(frame, e, out));
    bound = e->c;
    name = f->values[e->a].name;
  } else if (SMR_HAS(late) && e->op == SMR_EXPR_BORN) {
    const struct smr_tensor *t = &frame->values[f->nodes[e->a].outputs[e->b]].tensor;
    *out = t->dims[e->c];
    bound = e->k;
    name = t->name;
  } else if (SMR_HAS(symbolic) && e->op == SMR_EXPR_INPUT_DIM) {
    *out = frame->input_dims[e->a][e->b];
  } else if (SMR_HAS(symbolic) && !smr_expr_evaluate(f->exprs, index, frame->exprs, out, &why)) {
    SMR_FRAME_FAIL(frame, BAD_SHAPE, "dim expression %u: %s", (unsigned)index, why);
  }
  if (bound >= 0 && *out > frame->exprs[bound])
    SMR_FRAME_FAIL(frame, LIMIT, "a dim %s '%s' is %" PRId64 ", above its bound %" PRId64,
                   e->op == SMR_EXPR_READ ? "read from" : "of", name, *out, frame->exprs[bound]);
  return SAMARA_OK;
}

samara_status smr_frame_evaluate(struct smr_frame *frame, uint32_t stage) {
  const struct smr_staged *staged = &frame->staged_exprs;
  const uint32_t end = smr_staged_end(staged, stage, frame->function->expr_count);
  for (uint32_t i = smr_staged_begin(staged, stage); i < end; i++) {
    const uint32_t index = smr_staged_at(staged, i);
    int64_t value = 0;
    const samara_status status = frame_evaluate(frame, index, &value);
    if (status != SAMARA_OK || value != frame->exprs[index]) frame->stage_valid[stage] = false;
    SMR_TRY(status);
    frame->exprs[index] = value;
  }
  return SAMARA_OK;
}

static samara_status frame_check_guards(struct smr_frame *frame, uint32_t stage) {
  static const char relations[][3] = {"==", "<=", "<"};
  const struct smr_function *f = frame->function;
  const struct smr_staged *staged = &frame->staged_guards;
  const uint32_t end = smr_staged_end(staged, stage, f->guard_count);
  for (uint32_t i = smr_staged_begin(staged, stage); i < end; i++) {
    const struct smr_guard *g = &f->guards[smr_staged_at(staged, i)];
    const int64_t a = frame->exprs[g->a], b = frame->exprs[g->b];
    if (a < b ? g->relation != SMR_RELATION_EQ : a == b && g->relation != SMR_RELATION_LT) continue;
    const char *text = g->message != NULL && g->message[0] != '\0' ? g->message : "dims disagree";
    const samara_status status =
        smr_fail(frame->common->error, SAMARA_BAD_SHAPE, "%s (needs %" PRId64 " %s %" PRId64 ")",
                 text, a, relations[g->relation], b);
    if (g->node >= 0) return smr_node_fail(frame, &frame->nodes[g->node], status);
    return smr_frame_fail(frame, status);
  }
  return SAMARA_OK;
}

// ---- dims ----

// Fail unless the dims of a value equal its expressions.
static samara_status frame_compare_dims(struct smr_frame *frame, uint32_t id, const int64_t *dims,
                                        uint32_t stage, const char *what) {
  const struct smr_function *f = frame->function;
  const struct smr_value *v = &f->values[id];
  for (uint32_t i = 0; i < v->rank; i++) {
    if (!smr_expr_known(f, v->dims[i], stage) || dims[i] == frame->exprs[v->dims[i]]) continue;
    SMR_FRAME_FAIL(frame, BAD_SHAPE, "axis %u of %s '%s' is %" PRId64 ", expected %" PRId64,
                   (unsigned)i, what, v->name, dims[i], frame->exprs[v->dims[i]]);
  }
  return SAMARA_OK;
}

// Set the dims of values whose expressions are known from `stage` on.
static samara_status frame_set_dims(struct smr_frame *frame, uint32_t stage) {
  const struct smr_function *f = frame->function;
  const struct smr_staged *staged = &frame->staged_values;
  const uint32_t end = smr_staged_end(staged, stage, f->value_count);
  for (uint32_t i = smr_staged_begin(staged, stage); i < end; i++) {
    const uint32_t id = smr_staged_at(staged, i);
    const struct smr_value *v = &f->values[id];
    if (v->constant >= 0 ||
        (SMR_HAS(late) && v->producer >= 0 && f->nodes[v->producer].stage < stage))
      SMR_TRY(frame_compare_dims(frame, id, frame->values[id].tensor.dims, stage, "value"));
    else
      SMR_TRY(smr_value_known_dims(frame, id, stage));
  }
  // Without symbolic dims only a caller can give others.
  const bool compares = stage == 0 && (SMR_HAS(symbolic) || SMR_HAS_CONTROL);
  for (uint32_t i = 0; compares && i < f->input_count; i++)
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

// Address of byte `offset` in the planned memory of a stage; NULL if there is none.
static void *frame_place(const struct smr_frame *frame, uint32_t stage, size_t offset) {
  uint8_t *base =
      SMR_HAS(late) && frame->growing ? (uint8_t *)frame->chunks[stage].data : frame->base;
  return base != NULL ? base + offset : NULL;
}

void *smr_value_target(struct smr_frame *frame, uint32_t id, size_t *capacity_bytes) {
  const uint32_t root = frame->values[id].root;
  const struct smr_frame_value *head = &frame->values[root];
  const struct smr_function *f = frame->function;
  *capacity_bytes = 0;
  const bool bound = SMR_HAS(bind) && head->output >= 0 && frame->given_data[head->output] != NULL;
  if (head->home == SMR_HOME_ARENA && !bound) {
    *capacity_bytes = head->capacity_bytes;
    return frame_place(frame, f->nodes[f->values[root].producer].stage, head->offset);
  }
  if (head->home != SMR_HOME_OUTPUT && !bound) return NULL;
  *capacity_bytes = frame->given_capacity[head->output];
  return frame->given_data[head->output];
}

samara_status smr_value_attach(struct smr_frame *frame, uint32_t id, size_t size_bytes) {
  struct smr_frame_value *value = &frame->values[id];
  struct smr_tensor *t = &value->tensor;
  if (smr_value_is_part(value)) {
    // A part is in its group's bytes, which a later node may produce.
    const struct smr_tensor *whole = &frame->values[value->alias_of].tensor;
    SMR_TRY(smr_value_attach(frame, value->alias_of, whole->size_bytes));
    t->data = whole->data != NULL ? (uint8_t *)whole->data + value->view_bytes : NULL;
    return SAMARA_OK;
  }
  struct smr_frame_value *head = &frame->values[value->root];
  if (head->home == SMR_HOME_CONSTANT || head->home == SMR_HOME_INPUT) {
    t->data = head->tensor.data;
    return SAMARA_OK;
  }
  size_t capacity;
  void *target = smr_value_target(frame, id, &capacity);
  if (target == NULL) {
    SMR_TRY(smr_block_ensure(frame->common, &head->own, size_bytes, 0, t->name));
    target = head->tensor.data = head->own.data;
  } else if (size_bytes > capacity) {
    return smr_frame_exceeds(frame, t->name, size_bytes, capacity);
  }
  t->data = target;
  return SAMARA_OK;
}

samara_status smr_node_attach_scratch(struct smr_frame *frame, struct smr_frame_node *node) {
  const size_t bytes = node->prepared ? smr_node_scratch(frame, node) : 0;
  node->job.scratch = frame_place(frame, node->node->stage, node->scratch_offset);
  if (bytes <= node->scratch_capacity) return SAMARA_OK;
  SMR_TRY(smr_block_ensure(frame->common, &node->overflow, bytes, 0, node->node->name));
  node->job.scratch = node->overflow.data;
  return SAMARA_OK;
}

static samara_status frame_attach_node(struct smr_frame *frame, struct smr_frame_node *node) {
  for (uint32_t i = 0; i < node->node->output_count; i++) {
    const uint32_t id = node->node->outputs[i];
    struct smr_frame_value *value = &frame->values[id];
    size_t capacity;
    if (smr_value_on_device(value)) continue;
    if (!node->late) {
      SMR_TRY(smr_value_attach(frame, id, value->tensor.size_bytes));
      continue;
    }
    value->tensor.data = smr_value_target(frame, id, &capacity);
    if (value->tensor.data == NULL) value->tensor.data = value->own.data;
  }
  return smr_node_attach_scratch(frame, node);
}

samara_status smr_frame_attach(struct smr_frame *frame, uint32_t stage) {
  const struct smr_function *f = frame->function;
  for (; frame->attached <= stage; frame->attached++) {
    if (frame->attached == 0)
      for (uint32_t i = 0; i < f->input_count; i++)
        frame->values[f->inputs[i]].tensor.data = frame->given_inputs[i]->data;
    const uint32_t *begin = &frame->stage_begin[frame->attached];
    for (uint32_t i = begin[0]; i < begin[1]; i++) {
      const samara_status status = frame_attach_node(frame, &frame->nodes[i]);
      if (status != SAMARA_OK) return smr_node_fail(frame, &frame->nodes[i], status);
    }
  }
  return SAMARA_OK;
}

// ---- stages ----

// A growing frame plans each stage when it is reached: known dims give tighter bounds for the rest.
static samara_status frame_grow(struct smr_frame *frame, uint32_t stage) {
  size_t bytes = 0;
  smr_frame_bounds(frame, stage + 1);
  smr_frame_place(frame, stage, stage + 1);
  SMR_TRY(smr_frame_plan(frame, stage, stage + 1, &bytes));
  return smr_block_ensure(frame->common, &frame->chunks[stage], bytes, 0, frame->function->name);
}

static samara_status frame_prepare_stage(struct smr_frame *frame, uint32_t stage) {
  const struct smr_function *f = frame->function;
  frame->attached = 0;
  memset(frame->stage_valid + stage, 0, smr_stage_count(f) - stage);
  if (SMR_HAS(symbolic)) SMR_TRY(frame_check_guards(frame, stage));
  SMR_TRY(frame_set_dims(frame, stage));
  for (uint32_t i = 0; i < f->value_count; i++)
    if (f->values[i].constant < 0) frame->values[i].tensor.data = NULL;
  for (uint32_t i = frame->stage_begin[stage]; i < frame->stage_begin[stage + 1]; i++)
    SMR_TRY(smr_node_prepare(frame, &frame->nodes[i]));
  if (SMR_HAS(backends)) SMR_TRY(smr_devices_stage(frame, stage));
  if (SMR_HAS(late) && frame->planned && frame->growing) SMR_TRY(frame_grow(frame, stage));
  frame->stage_valid[stage] = true;
  return SAMARA_OK;
}

samara_status smr_frame_stage(struct smr_frame *frame, uint32_t stage) {
  if (stage != 0 || !frame->stage_valid[0]) SMR_TRY(smr_frame_evaluate(frame, stage));
  return frame->stage_valid[stage] ? SAMARA_OK : frame_prepare_stage(frame, stage);
}

samara_status smr_frame_enter(struct smr_frame *frame, uint8_t *base) {
  const struct smr_function *f = frame->function;
  const bool was_entered = frame->entered;
  // Pointers stay valid if the entry function runs again on the same buffers.
  if (!frame->is_entry || f->write_count != 0 || frame->base != base) frame->attached = 0;
  frame->base = base;
  for (uint32_t i = 0; i < f->input_count; i++) {
    const struct smr_tensor *input = frame->given_inputs[i];
    if (frame->values[f->inputs[i]].tensor.data != input->data) frame->attached = 0;
    // The dims of the entry function were checked by planning.
    for (uint32_t axis = 0; SMR_HAS_CONTROL && axis < input->rank; axis++) {
      const int64_t dim = input->dims[axis], most = frame->input_hi[i][axis];
      if (was_entered && frame->input_dims[i][axis] == dim) continue;
      if (frame->planned && dim > most) {
        frame->entered = false;
        SMR_FRAME_FAIL(frame, LIMIT,
                       "axis %u of input '%s' is %" PRId64 ", above its bound %" PRId64,
                       (unsigned)axis, input->name, dim, most);
      }
      frame->input_dims[i][axis] = dim;
      frame->entered = false;
    }
  }
  if (!frame->entered) memset(frame->stage_valid, 0, smr_stage_count(f));
  SMR_TRY(smr_frame_stage(frame, 0));
  frame->entered = true;
  return SAMARA_OK;
}
