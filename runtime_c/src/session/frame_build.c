// SPDX-License-Identifier: Apache-2.0
// Making frames: everything about a function's values and nodes that does not depend on dims.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

#include "ops/opattrs.h"

// Group the indices [0, count) by stage[i], keeping their order.
static bool build_staged(samara_session *session, const uint32_t *stage, uint32_t count,
                         uint32_t stage_count, struct smr_staged *out) {
  out->order = smr_session_take(session, count, sizeof *out->order);
  out->begin = smr_session_take(session, (size_t)stage_count + 1, sizeof *out->begin);
  if (out->order == NULL || out->begin == NULL) return false;
  uint32_t used = 0;
  for (uint32_t s = 0; s < stage_count; s++) {
    out->begin[s] = used;
    for (uint32_t i = 0; i < count; i++)
      if (stage[i] == s) out->order[used++] = i;
  }
  out->begin[stage_count] = used;
  return true;
}

static bool build_is_kept(const samara_session *session, const char *name) {
  if (session->keep_all) return true;
  for (size_t i = 0; i < session->keep_count; i++)
    if (strcmp(session->keep[i], name) == 0) return true;
  return false;
}

// Bytes of the elements alone; the reader has seen that the constant stores as many, or more.
static size_t build_dense_bytes(const struct smr_constant *constant, size_t element) {
  size_t bytes = element;
  for (uint32_t i = 0; i < constant->rank; i++) bytes *= (size_t)constant->dims[i];
  return smr_packed_bytes(constant->dtype, bytes);
}

// A constant is used where the model has it, which is aligned to its elements.
static samara_status build_constant(struct smr_frame *frame, struct smr_frame_value *value,
                                    int32_t index) {
  samara_session *session = frame->session;
  const struct smr_constant *constant = &session->model->constants[index];
  struct smr_tensor *t = &value->tensor;
  if (constant->dtype != t->dtype || constant->rank != t->rank)
    SMR_FAIL(&session->error, BAD_MODEL, "constant '%s' is %s of rank %u, its value %s of rank %u",
             t->name, smr_dtype_name(constant->dtype), (unsigned)constant->rank,
             smr_dtype_name(t->dtype), (unsigned)t->rank);
  t->constant = index;
  t->layout = constant->layout;
  t->size_bytes = constant->size_bytes;
  memcpy(t->dims, constant->dims, sizeof t->dims);
  t->pixel_stride = t->rank > 0 ? t->dims[t->rank - 1] : 1;
  t->data = (void *)(uintptr_t)constant->data;
  const size_t element = smr_dtype_bytes(t->dtype);
  if (t->layout == SMR_LAYOUT_PLAIN) {
    const size_t block = 16 * element;
    t->size_bytes = build_dense_bytes(constant, element);
    t->padded = constant->size_bytes >= (t->size_bytes + block - 1) / block * block;
  }
  return SAMARA_OK;
}

static samara_status build_values(struct smr_frame *frame) {
  samara_session *session = frame->session;
  const struct smr_function *f = frame->function;
  uint32_t *stage = smr_session_take(session, f->value_count, sizeof *stage);
  frame->values = smr_session_take(session, f->value_count, sizeof *frame->values);
  if (stage == NULL || frame->values == NULL) goto no_memory;
  for (uint32_t i = 0; i < f->value_count; i++) {
    const struct smr_value *v = &f->values[i];
    struct smr_frame_value *value = &frame->values[i];
    value->tensor = (struct smr_tensor){
        .quant = v->quant, .name = v->name, .constant = -1, .dtype = v->dtype, .rank = v->rank};
    value->alias_of = value->root = i;
    value->output = -1;
    for (uint32_t axis = 0; axis < v->rank; axis++) {
      const uint32_t s = f->expr_stage[v->dims[axis]];
      if (s > stage[i]) stage[i] = s;
    }
    value->dims_stage = stage[i];
    // A callee's inputs and constants are the caller's to keep.
    value->kept = build_is_kept(session, v->name) && (frame->is_entry || v->producer >= 0);
    if (v->constant >= 0) SMR_TRY(build_constant(frame, value, v->constant));
  }
  for (uint32_t i = 0; i < f->output_count; i++) frame->values[f->outputs[i]].is_output = true;
  if (!build_staged(session, stage, f->value_count, f->stage_count, &frame->staged_values) ||
      !build_staged(session, f->expr_stage, f->expr_count, f->stage_count, &frame->staged_exprs) ||
      !build_staged(session, f->guard_stage, f->guard_count, f->stage_count, &frame->staged_guards))
    goto no_memory;
  return SAMARA_OK;
no_memory:
  SMR_FAIL(&session->error, OUT_OF_MEMORY, "function '%s': no memory for %u values", f->name,
           (unsigned)f->value_count);
}

// Copy the literals; expressions get storage that a frame evaluates into.
static samara_status build_attrs(struct smr_frame *frame, struct smr_frame_node *node) {
  samara_session *session = frame->session;
  const uint32_t count = node->node->op->attr_count;
  node->attrs = smr_session_take(session, count, sizeof *node->attrs);
  node->attr_dims = smr_session_take(session, count, sizeof *node->attr_dims);
  if (node->attrs == NULL || node->attr_dims == NULL) goto no_memory;
  for (uint32_t i = 0; i < count; i++) {
    const struct smr_node_attr *from = &node->node->attrs[i];
    node->attrs[i] = from->literal;
    if (from->exprs == NULL) continue;
    for (uint32_t k = 0; k < from->expr_count; k++)
      if (frame->function->expr_stage[from->exprs[k]] > node->node->stage)
        SMR_FAIL(&session->error, BAD_MODEL,
                 "function '%s', node '%s': runs in stage %u before its attributes are known",
                 frame->function->name, node->node->name, (unsigned)node->node->stage);
    node->attrs[i].present = true;
    if (!from->is_list) continue;
    node->attr_dims[i] = smr_session_take(session, from->expr_count, sizeof(int64_t));
    if (node->attr_dims[i] == NULL) goto no_memory;
    node->attrs[i].ints = node->attr_dims[i];
    node->attrs[i].count = from->expr_count;
  }
  node->job.attrs = node->attrs;
  return SAMARA_OK;
no_memory:
  SMR_FAIL(&session->error, OUT_OF_MEMORY, "node '%s': no memory for attributes", node->node->name);
}

// A node's operands: an alias is a node whose output can share its input's bytes for good.
static samara_status build_operands(struct smr_frame *frame, struct smr_frame_node *node) {
  samara_session *session = frame->session;
  const struct smr_node *n = node->node;
  struct smr_tensor **inputs = smr_session_take(session, n->input_count, sizeof *inputs);
  struct smr_tensor **outputs = smr_session_take(session, n->output_count, sizeof *outputs);
  if (inputs == NULL || outputs == NULL)
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "node '%s': no memory for operands", n->name);
  for (uint32_t i = 0; i < n->input_count; i++) {
    if (n->inputs[i] < 0) continue;
    inputs[i] = &frame->values[n->inputs[i]].tensor;
    if (frame->values[n->inputs[i]].dims_stage > n->stage)
      SMR_FAIL(&session->error, BAD_MODEL,
               "function '%s', node '%s': runs in stage %u before the dims of '%s' are known",
               frame->function->name, n->name, (unsigned)n->stage, inputs[i]->name);
  }
  for (uint32_t i = 0; i < n->output_count; i++) {
    outputs[i] = &frame->values[n->outputs[i]].tensor;
    node->late = node->late || frame->values[n->outputs[i]].dims_stage > n->stage;
  }
  const bool measured = n->op->funcs != NULL && n->op->funcs->measure != NULL;
  if (node->late && !measured && node->kind == SMR_CONTROL_NONE)
    SMR_FAIL(&session->error, BAD_MODEL,
             "function '%s', node '%s' (%s): runs in stage %u before its output's dims are known",
             frame->function->name, n->name, n->op->name, (unsigned)n->stage);
  node->late = node->late || measured || node->kind != SMR_CONTROL_NONE;
  node->job.inputs = inputs;
  node->job.outputs = outputs;
  node->job.input_count = n->input_count;
  node->job.output_count = n->output_count;
  return SAMARA_OK;
}

static bool build_group_has_output(const struct smr_frame *frame, uint32_t group) {
  for (uint32_t i = 0; i < frame->function->value_count; i++)
    if (frame->values[i].alias_of == group && frame->values[i].is_output) return true;
  return false;
}

static void build_alias(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_node *n = node->node;
  const bool view = n->op->code == SMR_CODE_IDENTITY || n->op->code == SMR_CODE_RESHAPE;
  if (!view || n->input_count == 0 || n->inputs[0] < 0 || n->output_count != 1) return;
  const struct smr_frame_value *in = &frame->values[n->inputs[0]];
  const uint32_t group = in->alias_of;
  struct smr_frame_value *out = &frame->values[n->outputs[0]];
  const struct smr_frame_value *head = &frame->values[group];
  if (head->tensor.dtype != out->tensor.dtype || head->tensor.layout != SMR_LAYOUT_PLAIN) return;
  const bool owned = frame->function->values[group].producer >= 0;
  // An output has to be written where the caller wants it, and what is kept must outlive the call.
  if (out->is_output && (!owned || in->part || build_group_has_output(frame, group))) return;
  if (out->kept && !frame->is_entry && !owned) return;
  out->alias_of = group;
  out->view_bytes = in->view_bytes;
  out->part = in->part;
  node->alias = true;
}

static samara_status build_node(struct smr_frame *frame, uint32_t index, uint32_t depth) {
  samara_session *session = frame->session;
  struct smr_frame_node *node = &frame->nodes[index];
  const struct smr_node *n = &frame->function->nodes[index];
  node->node = n;
  node->kind = (uint8_t)smr_control_kind(n->op);
  node->job = (struct smr_job){.op = n->op,
                               .name = n->name,
                               .isa = session->isa,
                               .strict = session->strict,
                               .error = &session->error,
                               .kernel = n->op->name};
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) node->job.derived[i].input = -1;
  SMR_TRY(build_operands(frame, node));
  SMR_TRY(build_attrs(frame, node));
  if (node->kind != SMR_CONTROL_NONE) return smr_control_build(frame, node, depth);
  if (n->op->funcs == NULL)
    SMR_FAIL(&session->error, UNSUPPORTED, "node '%s': operator '%s' is not in this build", n->name,
             n->op->name);
  build_alias(frame, node);
  smr_views_of_input(frame, node);
  node->job.state = smr_session_take(session, n->op->funcs->state_bytes, 1);
  if (node->job.state == NULL)
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "node '%s': no memory for its state", n->name);
  return SAMARA_OK;
}

// Which nodes run in which stage. The model says stages never decrease.
static samara_status build_stages(struct smr_frame *frame) {
  samara_session *session = frame->session;
  const struct smr_function *f = frame->function;
  frame->stage_begin = smr_session_take(session, (size_t)f->stage_count + 1, sizeof(uint32_t));
  frame->stage_valid = smr_session_take(session, f->stage_count, sizeof(bool));
  frame->stage_attached = smr_session_take(session, f->stage_count, sizeof(bool));
  frame->chunks = smr_session_take(session, f->stage_count, sizeof *frame->chunks);
  frame->exprs = smr_session_take(session, f->expr_count, sizeof(int64_t));
  frame->lo = smr_session_take(session, f->expr_count, sizeof(int64_t));
  frame->hi = smr_session_take(session, f->expr_count, sizeof(int64_t));
  frame->input_dims = smr_session_take(session, f->input_count, sizeof *frame->input_dims);
  frame->input_lo = smr_session_take(session, f->input_count, sizeof *frame->input_lo);
  frame->input_hi = smr_session_take(session, f->input_count, sizeof *frame->input_hi);
  frame->input_data = smr_session_take(session, f->input_count, sizeof(void *));
  frame->output_data = smr_session_take(session, f->output_count, sizeof(void *));
  frame->output_capacity = smr_session_take(session, f->output_count, sizeof(size_t));
  frame->given_inputs = smr_session_take(session, f->input_count, sizeof(void *));
  frame->given_data = smr_session_take(session, f->output_count, sizeof(void *));
  frame->given_capacity = smr_session_take(session, f->output_count, sizeof(size_t));
  frame->items =
      smr_session_take(session, (size_t)f->value_count + f->node_count, sizeof *frame->items);
  if (frame->stage_begin == NULL || frame->stage_valid == NULL || frame->stage_attached == NULL ||
      frame->chunks == NULL || frame->exprs == NULL || frame->lo == NULL || frame->hi == NULL ||
      frame->input_dims == NULL || frame->input_lo == NULL || frame->input_hi == NULL ||
      frame->input_data == NULL || frame->output_data == NULL || frame->output_capacity == NULL ||
      frame->given_inputs == NULL || frame->given_data == NULL || frame->given_capacity == NULL ||
      frame->items == NULL)
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "function '%s': no memory for its frame", f->name);
  uint32_t node = 0;
  for (uint32_t s = 0; s < f->stage_count; s++) {
    frame->stage_begin[s] = node;
    while (node < f->node_count && f->nodes[node].stage == s) node++;
  }
  frame->stage_begin[f->stage_count] = node;
  if (node != f->node_count)
    SMR_FAIL(&session->error, BAD_MODEL, "function '%s': node '%s' runs in stage %u out of order",
             f->name, f->nodes[node].name, (unsigned)f->nodes[node].stage);
  return SAMARA_OK;
}

samara_status smr_frame_build(samara_session *session, uint32_t function, uint32_t depth,
                              struct smr_frame **out) {
  const samara_model *model = session->model;
  if (function >= model->function_count)
    SMR_FAIL(&session->error, BAD_MODEL, "a node calls function %u of %u", (unsigned)function,
             (unsigned)model->function_count);
  if (depth > SMR_MAX_CALL_DEPTH)
    SMR_FAIL(&session->error, BAD_MODEL, "calls nest deeper than %d", (int)SMR_MAX_CALL_DEPTH);
  if (session->frames[function] != NULL) {
    *out = session->frames[function];
    return SAMARA_OK;
  }
  const struct smr_function *f = &model->functions[function];
  struct smr_frame *frame = smr_session_take(session, 1, sizeof *frame);
  if (frame == NULL) SMR_FAIL(&session->error, OUT_OF_MEMORY, "no memory for '%s'", f->name);
  frame->session = session;
  frame->function = f;
  frame->is_entry = depth == 0;
  SMR_TRY(build_stages(frame));
  SMR_TRY(build_values(frame));
  frame->nodes = smr_session_take(session, f->node_count, sizeof *frame->nodes);
  if (frame->nodes == NULL)
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "function '%s': no memory for %u nodes", f->name,
             (unsigned)f->node_count);
  smr_views_begin(frame);
  for (uint32_t i = 0; i < f->node_count; i++) SMR_TRY(build_node(frame, i, depth));
  SMR_TRY(smr_views_end(frame));
  // Registered last, callees first: a call of itself ends at the depth limit.
  session->frames[function] = frame;
  session->order[session->frame_count++] = frame;
  *out = frame;
  return SAMARA_OK;
}

void smr_frame_release(struct smr_frame *frame) {
  samara_session *session = frame->session;
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->value_count; i++) smr_block_release(session, &frame->values[i].own);
  for (uint32_t s = 0; s < f->stage_count; s++) smr_block_release(session, &frame->chunks[s]);
  for (uint32_t i = 0; i < f->node_count; i++) {
    smr_block_release(session, &frame->nodes[i].overflow);
    if (frame->nodes[i].kind == SMR_CONTROL_LOOP) smr_loop_release(session, &frame->nodes[i]);
  }
}
