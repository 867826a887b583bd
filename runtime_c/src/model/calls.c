// SPDX-License-Identifier: Apache-2.0
// Checks control operators against the functions they call, and the call graph as a whole.
#include "base/fp.h"

#include "model/decode.h"

#include "ops/table/attrs.h"
#include "ops/table/opattrs.h"

enum {
  // Most frames of one entry if every call had its own. The depth of the call graph is not enough
  // as a limit: 32 levels of two calls each are 2^32 frames.
  CALLS_MAX_FRAMES = 1 << 16,
  CALLS_VISITING = INT32_MAX,
};

struct smr_function *smr_decode_callee(const struct smr_decoder *d, const struct smr_node *node,
                                       uint32_t which) {
  const struct smr_attr_desc *descs = &smr_attr_descs[node->op->attr_first];
  for (uint32_t i = 0; i < node->op->attr_count; i++) {
    if (descs[i].type == SMR_ATTR_FUNCTION && which-- == 0) {
      return (struct smr_function *)&d->walk.model->functions[node->attrs[i].literal.i];
    }
  }
  return NULL;
}

// ---- signatures ----

// `more`: number of additional dims of `a`.
static bool calls_same_type(const struct smr_value *a, const struct smr_value *b, int more) {
  return a->dtype == b->dtype && a->rank == b->rank + more;
}

static bool calls_is_scalar(const struct smr_function *f, int32_t id, uint8_t dtype) {
  return id >= 0 && f->values[id].dtype == dtype && f->values[id].rank == 0;
}

// How inputs and outputs of a node map to those of the functions that it calls.
struct calls_form {
  uint32_t first, taken;   // node input `first` + i is function input `taken` + i
  uint32_t made, stacked;  // node output i is function output `made` + i; from node output
                           // `stacked` on with one more dim
};

static samara_status calls_check_callee(const struct smr_decoder *d, const struct smr_function *f,
                                        const struct smr_node *node,
                                        const struct smr_function *body,
                                        const struct calls_form *form) {
  const uint32_t taken = form->taken - form->first, made = form->made;
  if (node->input_count < form->first || body->input_count != node->input_count + taken ||
      body->output_count != node->output_count + made) {
    return smr_decode_bad(d, "its function has %d inputs and %d outputs", (int)body->input_count,
                          (int)body->output_count);
  }
  for (uint32_t i = form->first; i < node->input_count; i++) {
    const int32_t id = node->inputs[i];
    if (id < 0 || !calls_same_type(&f->values[id], &body->values[body->inputs[i + taken]], 0)) {
      return smr_decode_bad(d, "input %d does not fit its function", (int)i, 0);
    }
  }
  for (uint32_t i = 0; i < node->output_count; i++) {
    if (!calls_same_type(&f->values[node->outputs[i]], &body->values[body->outputs[i + made]],
                         i >= form->stacked)) {
      return smr_decode_bad(d, "output %d does not fit its function", (int)i, 0);
    }
  }
  return SAMARA_OK;
}

// Node: (max_trip?, cond?, carried, captures) -> (carried, stacked).
// Body: (index, cond, carried, captures) -> (cond, carried, one slice of each stacked).
static samara_status calls_check_loop(const struct smr_decoder *d, const struct smr_function *f,
                                      const struct smr_node *node) {
  const struct smr_function *body = smr_decode_callee(d, node, 0);
  const int64_t carried = node->attrs[SMR_ATTR_INDEX(loop, carried)].literal.i;
  if (node->input_count < 2 || carried < 0 || carried > (int64_t)node->input_count - 2 ||
      carried > (int64_t)node->output_count) {
    return smr_decode_bad(d, "it cannot carry %d of %d inputs", (int)carried,
                          (int)node->input_count);
  }
  SMR_TRY(calls_check_callee(d, f, node, body, &(struct calls_form){2, 2, 1, (uint32_t)carried}));
  bool scalars = calls_is_scalar(body, (int32_t)body->outputs[0], SAMARA_BOOL);
  for (uint32_t i = 0; i < 2; i++) {
    const uint8_t dtype = i == 0 ? SAMARA_INT64 : SAMARA_BOOL;
    scalars = scalars && calls_is_scalar(body, (int32_t)body->inputs[i], dtype) &&
              (node->inputs[i] < 0 || calls_is_scalar(f, node->inputs[i], dtype));
  }
  if (!scalars) return smr_decode_refuse(d, "trip count or condition is not a scalar of its type");
  for (uint32_t i = 0; i < (uint32_t)carried; i++) {
    if (!calls_same_type(&f->values[node->outputs[i]], &f->values[node->inputs[2 + i]], 0)) {
      return smr_decode_bad(d, "output %d and its carried input differ in type", (int)i, 0);
    }
  }
  return SAMARA_OK;
}

_Static_assert(SMR_ATTR_INDEX(trap, ranks) == SMR_ATTR_INDEX(trap, dtypes) + 1 &&
                   SMR_ATTR_INDEX(custom, ranks) == SMR_ATTR_INDEX(custom, dtypes) + 1,
               "ranks stand behind dtypes");

// trap and custom declare the types of their outputs.
static samara_status calls_check_stated(const struct smr_decoder *d, const struct smr_function *f,
                                        const struct smr_node *node) {
  const bool is_trap = node->op->code == SMR_CODE_TRAP;
  const struct smr_node_attr *attrs =
      &node->attrs[is_trap ? SMR_ATTR_INDEX(trap, dtypes) : SMR_ATTR_INDEX(custom, dtypes)];
  const struct smr_attr *dtypes = &attrs[0].literal, *ranks = &attrs[1].literal;
  bool good = dtypes->count == node->output_count && ranks->count == node->output_count;
  for (uint32_t i = 0; good && i < node->output_count; i++) {
    const struct smr_value *out = &f->values[node->outputs[i]];
    good = dtypes->ints[i] == out->dtype && ranks->ints[i] == out->rank;
  }
  if (good) return SAMARA_OK;
  return smr_decode_refuse(d, "outputs do not have the declared dtypes and ranks");
}

static samara_status calls_check_node(const struct smr_decoder *d, const struct smr_function *f,
                                      const struct smr_node *node) {
  for (uint32_t i = 0; i < node->input_count; i++) {
    const int32_t id = node->inputs[i], constant = id >= 0 ? f->values[id].constant : -1;
    if (constant >= 0 && d->walk.model->constants[constant].layout != SMR_LAYOUT_PLAIN) {
      return smr_decode_bad(d, "value %d is packed", id, 0);
    }
  }
  const struct smr_function *body;
  for (uint32_t i = 0; (body = smr_decode_callee(d, node, i)) != NULL; i++) {
    if (body->read_count != 0 || body->write_count != 0) {
      return smr_decode_bad(d, "its function %d is bound to variables",
                            (int)(body - d->walk.model->functions), 0);
    }
  }
  struct smr_parts *parts = &d->walk.model->parts;
  bool is_if = false;
  switch (node->op->code) {
    case SMR_CODE_LOOP:
      SMR_NEED_IN(parts, d->walk.error, control_loop);
      return calls_check_loop(d, f, node);
    case SMR_CODE_IF:
      SMR_NEED_IN(parts, d->walk.error, control_if);
      is_if = true;
      break;
    case SMR_CODE_CALL:
      SMR_NEED_IN(parts, d->walk.error, control_call);
      break;
    case SMR_CODE_TRAP:
      SMR_NEED_IN(parts, d->walk.error, control_trap);
      return calls_check_stated(d, f, node);
    default:
      SMR_NEED_IN(parts, d->walk.error, custom);
      return calls_check_stated(d, f, node);
  }
  if (is_if && !calls_is_scalar(f, node->inputs[0], SAMARA_BOOL)) {
    return smr_decode_refuse(d, "the condition is not a bool scalar");
  }
  for (uint32_t i = 0; (body = smr_decode_callee(d, node, i)) != NULL; i++) {
    SMR_TRY(calls_check_callee(d, f, node, body, &(struct calls_form){is_if, 0, 0, UINT32_MAX}));
  }
  return SAMARA_OK;
}

// ---- the graph ----

// Depth-first search. A function's `depth` is 0 before, CALLS_VISITING during and its height after
// the visit. The recursion is at most SMR_MAX_CALL_DEPTH deep.
static samara_status calls_visit(struct smr_decoder *d, struct smr_function *f, uint32_t level) {
  if (f->depth == CALLS_VISITING) return smr_decode_refuse(d, "a function calls itself");
  if (level <= SMR_MAX_CALL_DEPTH && f->depth != 0) return SAMARA_OK;
  f->depth = CALLS_VISITING;
  uint32_t height = level <= SMR_MAX_CALL_DEPTH ? 1 : SMR_MAX_CALL_DEPTH + 1, frames = 1;
  samara_status status = SAMARA_OK;
  for (uint32_t i = 0; i < f->node_count && height <= SMR_MAX_CALL_DEPTH; i++) {
    const struct smr_node *node = &f->nodes[i];
    if (!SMR_HAS_CONTROL || (node->op->flags & SMR_OP_CONTROL) == 0) continue;
    status = calls_check_node(d, f, node);
    if (status != SAMARA_OK) {
      status = smr_fb_where(&d->walk, status, SMR_FB_NODE, node->name);
      return smr_fb_where(&d->walk, status, SMR_FB_FUNCTION, f->name);
    }
    struct smr_function *callee;
    for (uint32_t j = 0; (callee = smr_decode_callee(d, node, j)) != NULL; j++) {
      SMR_TRY(calls_visit(d, callee, level + 1));
      if (callee->depth + 1 > height) height = callee->depth + 1;
      if (callee->growing) f->growing = true;
      frames += callee->frames;
      if (frames > CALLS_MAX_FRAMES) {
        return smr_decode_bad(d, "more than %d nested calls", CALLS_MAX_FRAMES, 0);
      }
    }
  }
  if (height > SMR_MAX_CALL_DEPTH) {
    return smr_decode_bad(d, "calls nest more than %d deep", SMR_MAX_CALL_DEPTH, 0);
  }
  f->depth = height;
  f->frames = frames;
  status = smr_decode_stages(d, f);
  return status == SAMARA_OK ? status : smr_fb_where(&d->walk, status, SMR_FB_FUNCTION, f->name);
}

samara_status smr_decode_calls(struct smr_decoder *d) {
  for (uint32_t i = 0; i < d->walk.model->function_count; i++) {
    SMR_TRY(calls_visit(d, (struct smr_function *)&d->walk.model->functions[i], 1));
  }
  return SAMARA_OK;
}
