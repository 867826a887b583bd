// SPDX-License-Identifier: Apache-2.0
// Builds frames: everything about a function's values and nodes that does not depend on dims. The
// file reader checked the function (model/decode.h); this file does not check it again.
#include "base/fp.h"

#include "session/session.h"

#include <stddef.h>
#include <string.h>

#include "ops/table/opattrs.h"

// ---- arrays ----

// Things of which a frame has one per element.
enum build_per {
  BUILD_PER_EXPR,
  BUILD_PER_BOUND,  // bounds of an expression
  BUILD_PER_VALUE,
  BUILD_PER_NODE,
  BUILD_PER_ITEM,
  BUILD_PER_INPUT,
  BUILD_PER_OUTPUT,
  BUILD_PER_STAGE,
  BUILD_PER_STAGE_AND_END,
  BUILD_PER_COUNT,
};

// An array of a frame: location of its pointer, number and size of elements.
struct build_array {
  uint16_t pointer_at, element_bytes, per;
};

static samara_status build_arrays(struct smr_frame *frame) {
#define BUILD_ARRAY(member, per)                                                                 \
  {                                                                                              \
    offsetof(struct smr_frame, member), sizeof *((struct smr_frame *)0)->member, BUILD_PER_##per \
  }
  static const struct build_array arrays[] = {
      BUILD_ARRAY(exprs, EXPR),
      BUILD_ARRAY(lo, BOUND),
      BUILD_ARRAY(hi, BOUND),
      BUILD_ARRAY(values, VALUE),
      BUILD_ARRAY(nodes, NODE),
      BUILD_ARRAY(items, ITEM),
      BUILD_ARRAY(stage_begin, STAGE_AND_END),
      BUILD_ARRAY(stage_valid, STAGE),
      BUILD_ARRAY(chunks, STAGE),
      BUILD_ARRAY(input_dims, INPUT),
      BUILD_ARRAY(input_lo, INPUT),
      BUILD_ARRAY(input_hi, INPUT),
      BUILD_ARRAY(given_inputs, INPUT),
      BUILD_ARRAY(given_data, OUTPUT),
      BUILD_ARRAY(given_capacity, OUTPUT),
  };
#undef BUILD_ARRAY
  const struct smr_function *f = frame->function;
  const size_t counts[BUILD_PER_COUNT] = {
      [BUILD_PER_EXPR] = f->expr_count,
      [BUILD_PER_BOUND] = SMR_HAS_BOUNDS ? f->expr_count : 0,
      [BUILD_PER_VALUE] = f->value_count,
      [BUILD_PER_NODE] = f->node_count,
      [BUILD_PER_ITEM] = (size_t)f->value_count + f->node_count,
      [BUILD_PER_INPUT] = f->input_count,
      [BUILD_PER_OUTPUT] = f->output_count,
      [BUILD_PER_STAGE] = smr_stage_count(f),
      [BUILD_PER_STAGE_AND_END] = (size_t)smr_stage_count(f) + 1,
  };
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    void *array;
    SMR_TAKE_BYTES(frame->common, array, counts[arrays[i].per], arrays[i].element_bytes);
    memcpy((uint8_t *)frame + arrays[i].pointer_at, &array, sizeof array);
  }
  return SAMARA_OK;
}

// Group the indices [0, count) by the stage found at stage_of[i * stride_bytes], keeping their
// order.
static samara_status build_staged(const struct smr_frame *frame, struct smr_staged *staged,
                                  const void *stage_of, size_t stride_bytes, uint32_t count) {
  const uint32_t stage_count = frame->function->stage_count;
  uint32_t used = 0;
  SMR_TAKE(frame->common, staged->order, count);
  SMR_TAKE(frame->common, staged->begin, (size_t)stage_count + 1);
  for (uint32_t s = 0; s < stage_count; s++) {
    for (uint32_t i = 0; i < count; i++)
      if (*(const uint32_t *)(const void *)((const uint8_t *)stage_of + i * stride_bytes) == s)
        staged->order[used++] = i;
    staged->begin[s + 1] = used;
  }
  return SAMARA_OK;
}

static samara_status build_stages(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  SMR_TRY(
      build_staged(frame, &frame->staged_exprs, f->expr_stage, sizeof(uint32_t), f->expr_count));
  SMR_TRY(
      build_staged(frame, &frame->staged_guards, f->guard_stage, sizeof(uint32_t), f->guard_count));
  return build_staged(frame, &frame->staged_values, &frame->values->dims_stage,
                      sizeof *frame->values, f->value_count);
}

// ---- values ----

// A constant is used in place: the model aligned it to its elements.
static void build_constant(struct smr_tensor *t, const struct smr_constant *constant) {
  t->layout = constant->layout;
  t->size_bytes = constant->size_bytes;
  memcpy(t->dims, constant->dims, sizeof t->dims);
  t->pixel_stride = t->rank > 0 ? t->dims[t->rank - 1] : 1;
  t->data = (void *)(uintptr_t)constant->data;
  if (t->layout != SMR_LAYOUT_PLAIN) return;
  // Bytes of the elements without padding; the file reader checked that at least these are stored.
  const size_t block = 16 * smr_dtype_bytes(t->dtype);
  (void)smr_dims_bytes(t->dtype, t->rank, t->dims, &t->size_bytes);
  t->padded = constant->size_bytes >= (t->size_bytes + block - 1) / block * block;
}

// Whether the user keeps a value. Names are known during creation only; frames that are built later
// keep the same values as the earlier ones.
static bool build_keeps(const struct smr_frame *frame, uint32_t id) {
  const samara_session *session = frame->session;
  const struct smr_function *f = frame->function;
  if (SMR_HAS(backends) && session->former != NULL) {
    const struct smr_frame *former =
        session->former->of_function[f - session->common.model->functions];
    return former != NULL && former->values[id].kept;
  }
  return smr_keep_wants(&session->keep, f->values[id].name) &&
         (frame->is_entry || f->values[id].producer >= 0);
}

static void build_values(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->value_count; i++) {
    const struct smr_value *v = &f->values[i];
    struct smr_frame_value *value = &frame->values[i];
    struct smr_tensor *t = &value->tensor;
    t->quant = v->quant;
    t->name = v->name;
    t->constant = v->constant;
    t->dtype = v->dtype;
    t->rank = v->rank;
    value->alias_of = value->root = i;
    value->output = -1;
    for (uint32_t axis = 0; axis < v->rank; axis++) {
      const uint32_t e = v->dims[axis];
      if (SMR_HAS(late) && f->expr_stage[e] > value->dims_stage)
        value->dims_stage = f->expr_stage[e];
      if (f->exprs[e].op == SMR_EXPR_CONST) continue;
      value->varies = true;
      t->open |= (uint8_t)(1u << axis);
    }
    // A callee's inputs and constants are kept by its caller.
    if (SMR_HAS(keep)) value->kept = build_keeps(frame, i);
    if (v->constant >= 0) build_constant(t, &frame->common->model->constants[v->constant]);
  }
  for (uint32_t i = 0; i < f->output_count; i++) {
    struct smr_frame_value *value = &frame->values[f->outputs[i]];
    value->is_output = true;
    if (frame->is_entry && !smr_bound(frame->session->outputs[i].variable)) value->is_result = true;
  }
}

// ---- nodes ----

// Copy literals, and allocate storage for evaluated expressions.
static samara_status build_attrs(samara_session *session, const struct smr_function *f,
                                 struct smr_frame_node *node) {
  const uint32_t count = node->node->op->attr_count;
  SMR_TAKE(&session->common, node->attrs, count);
  node->job.attrs = node->attrs;
  for (uint32_t i = 0; i < count; i++) {
    const struct smr_node_attr *from = &node->node->attrs[i];
    struct smr_attr *attr = &node->attrs[i];
    *attr = from->literal;
    if (from->exprs == NULL) continue;
    attr->present = true;
    for (uint32_t k = 0; SMR_HAS(symbolic) && k < from->expr_count; k++)
      attr->varies = attr->varies || f->exprs[from->exprs[k]].op != SMR_EXPR_CONST;
    int64_t *values = &attr->i;
    if (from->is_list) {
      SMR_TAKE(&session->common, values, from->expr_count);
      attr->ints = values;
      attr->count = from->expr_count;
    }
    // Evaluate constants now, because devices see them in `supports`, before dims are known.
    for (uint32_t k = 0; SMR_HAS(backends) && k < from->expr_count; k++)
      values[k] = f->exprs[from->exprs[k]].k;
  }
  return SAMARA_OK;
}

static samara_status build_operands(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_node *n = node->node;
  struct smr_tensor **inputs, **outputs;
  SMR_TAKE(frame->common, inputs, (size_t)n->input_count + n->output_count);
  outputs = inputs + n->input_count;
  bool vary = false;
  for (uint32_t i = 0; i < n->op->attr_count; i++) vary = vary || node->attrs[i].varies;
  for (uint32_t i = 0; i < n->input_count; i++) {
    if (n->inputs[i] < 0) continue;  // an absent optional input
    inputs[i] = &frame->values[n->inputs[i]].tensor;
    vary = vary || frame->values[n->inputs[i]].varies;
  }
  for (uint32_t i = 0; i < n->output_count; i++) {
    outputs[i] = &frame->values[n->outputs[i]].tensor;
    vary = vary || frame->values[n->outputs[i]].varies;
    if (SMR_HAS(late) && frame->values[n->outputs[i]].dims_stage > n->stage) node->late = true;
  }
  node->job.dims_vary = SMR_HAS(symbolic) && vary;
  node->job.inputs = inputs;
  node->job.outputs = outputs;
  node->job.input_count = n->input_count;
  node->job.output_count = n->output_count;
  return SAMARA_OK;
}

static samara_status build_node(struct smr_frame *frame, struct smr_frame_node *node) {
  samara_session *session = frame->session;
  const struct smr_op *op = node->node->op;
  struct smr_job *job = &node->job;
  node->kind = (uint8_t)smr_control_kind(op);
  job->op = op;
  job->name = node->node->name;
  job->isa = session->common.isa;
  job->threads = (uint32_t)session->common.threads;
  job->strict = session->common.strict;
  job->bfloat16 = session->common.bfloat16;
  job->exact = session->common.exact;
  job->error = &session->error;
  job->kernel = op->name;
  if (SMR_HAS(choices) && session->choices != NULL)
    job->tuned = smr_choices_find(session->choices, frame->function->name, job->name);
  SMR_TRY(build_attrs(session, frame->function, node));
  SMR_TRY(build_operands(frame, node));
  if (SMR_HAS(survey)) SMR_TAKE(&session->common, job->parts, 1);
  if (smr_node_control(node) != SMR_CONTROL_NONE) {
    uint32_t callees;
    SMR_TRY(smr_control_callees(node, &callees));
    for (uint32_t i = 0; i < callees; i++)
      SMR_TRY(smr_frame_build(session, (uint32_t)node->attrs[i].i, &node->callee[i]));
    return smr_control_build(frame, node, &session->custom);
  }
  if (op->funcs == NULL)
    SMR_FAIL(job->error, UNSUPPORTED, "operator '%s' is not in this build", op->name);
  if (op->funcs->measure != NULL) {
    SMR_NEED(job, late);
    node->late = true;
  }
  SMR_TRY(smr_views_need(job));
  SMR_TAKE_BYTES(&session->common, job->state, 1, op->funcs->state_bytes);
  return SAMARA_OK;
}

// Find views, after all nodes are built and placed.
static samara_status build_views(struct smr_frame *frame) {
  if (SMR_HAS(views_parts)) smr_views_begin(frame);
  for (uint32_t i = 0; SMR_HAS(views) && i < frame->function->node_count; i++)
    smr_views_of_input(frame, &frame->nodes[i]);
  return SMR_HAS(views_parts) ? smr_views_end(frame) : SAMARA_OK;
}

// Build nodes and find their stages; the file reader ordered nodes by stage.
static samara_status build_nodes(struct smr_frame *frame) {
  const struct smr_function *f = frame->function;
  uint32_t stage = 0;
  for (uint32_t i = 0; i < f->node_count; i++) {
    struct smr_frame_node *node = &frame->nodes[i];
    node->node = &f->nodes[i];
    while (SMR_HAS(late) && stage < node->node->stage) frame->stage_begin[++stage] = i;
    const samara_status status = build_node(frame, node);
    if (status != SAMARA_OK) return smr_node_fail(frame, node, status);
  }
  while (stage < smr_stage_count(f)) frame->stage_begin[++stage] = f->node_count;
  return SAMARA_OK;
}

// ---- frames ----

// Parts that the function's dims need.
static samara_status build_needs(samara_session *session, const struct smr_function *f) {
  if (f->guard_count != 0) SMR_NEED_IN(&session->common.parts, &session->error, symbolic);
  for (uint32_t i = 0; i < f->expr_count; i++) {
    const uint32_t op = f->exprs[i].op;
    if (op == SMR_EXPR_READ || op == SMR_EXPR_BORN)
      SMR_NEED_IN(&session->common.parts, &session->error, late);
    if (op != SMR_EXPR_CONST) SMR_NEED_IN(&session->common.parts, &session->error, symbolic);
  }
  return SAMARA_OK;
}

samara_status smr_frame_build(samara_session *session, uint32_t function, struct smr_frame **out) {
  const struct smr_function *f = &session->common.model->functions[function];
  struct smr_frame *frame = session->frames.of_function[function];
  *out = frame;
  if (frame != NULL) return SAMARA_OK;
  SMR_TRY(build_needs(session, f));
  SMR_TAKE(&session->common, frame, 1);
  frame->common = &session->common;
  frame->session = session;
  frame->function = f;
  frame->is_entry = f == session->function;
  SMR_TRY(build_arrays(frame));
  build_values(frame);
  if (SMR_HAS(late)) SMR_TRY(build_stages(frame));
  SMR_TRY(build_nodes(frame));
  if (SMR_HAS(backends)) SMR_TRY(smr_devices_place(frame));
  SMR_TRY(build_views(frame));
  if (SMR_HAS(backends)) SMR_TRY(smr_devices_build(frame));
  // Registered last, callees first.
  session->frames.of_function[function] = *out = frame;
  session->frames.order[session->frames.count++] = frame;
  return SAMARA_OK;
}

samara_status smr_session_frames(samara_session *session) {
  const samara_model *model = session->common.model;
  SMR_TAKE(&session->common, session->frames.of_function, model->function_count);
  SMR_TAKE(&session->common, session->frames.order, model->function_count);
  return smr_frame_build(session, (uint32_t)(session->function - model->functions),
                         &session->entry);
}
