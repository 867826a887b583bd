// SPDX-License-Identifier: Apache-2.0
// Checks control operators against the functions they call, and the call graph as a whole.
#include "base/fp.h"

#include "model/decode.h"

#include <string.h>

#include "ops/attrs.h"

enum {
  // Frames that one entry needs when every call has its own: what the call graph's depth alone does
  // not bound, for 32 levels of two calls each are 2^32.
  CALLS_MAX_FRAMES = 1 << 16,
  CALLS_VISITING = INT32_MAX,
};

// The attribute of that name, or NULL.
static const struct smr_attr *calls_attr(const struct smr_node *node, const char *name) {
  const struct smr_attr_desc *descs = &smr_attr_descs[node->op->attr_first];
  for (uint32_t i = 0; i < node->op->attr_count; i++) {
    if (strcmp(descs[i].name, name) == 0) return &node->attrs[i].literal;
  }
  return NULL;
}

// The `which`-th function that a node calls, or NULL.
static struct smr_function *calls_callee(const struct smr_decoder *d, const struct smr_node *node,
                                         uint32_t which) {
  const struct smr_attr_desc *descs = &smr_attr_descs[node->op->attr_first];
  for (uint32_t i = 0; i < node->op->attr_count; i++) {
    if (descs[i].type == SMR_ATTR_FUNCTION && which-- == 0) {
      return &d->functions[node->attrs[i].literal.i];
    }
  }
  return NULL;
}

// ---- signatures ----

static bool calls_same_type(const struct smr_value *a, const struct smr_value *b) {
  return a->dtype == b->dtype && a->rank == b->rank;
}

static bool calls_is_scalar(const struct smr_value *v, uint8_t dtype) {
  return v->dtype == dtype && v->rank == 0;
}

static samara_status calls_misfit(struct smr_decoder *d, const struct smr_function *body,
                                  const char *what, uint32_t index) {
  SMR_FAIL(d->error, BAD_MODEL, "%s %u does not fit the signature of function '" SMR_NAME "'", what,
           index, body->name);
}

// Node inputs [first, first + count) against the inputs of `body` from `offset` on.
static samara_status calls_check_inputs(struct smr_decoder *d, const struct smr_function *f,
                                        const struct smr_node *node, uint32_t first, uint32_t count,
                                        const struct smr_function *body, uint32_t offset) {
  if (body->input_count != offset + count) {
    SMR_FAIL(d->error, BAD_MODEL, "function '" SMR_NAME "' takes %u inputs, the node gives %u",
             body->name, body->input_count, offset + count);
  }
  for (uint32_t i = 0; i < count; i++) {
    const int32_t id = node->inputs[first + i];
    if (id < 0 || !calls_same_type(&f->values[id], &body->values[body->inputs[offset + i]])) {
      return calls_misfit(d, body, "input", first + i);
    }
  }
  return SAMARA_OK;
}

static samara_status calls_check_outputs(struct smr_decoder *d, const struct smr_function *f,
                                         const struct smr_node *node,
                                         const struct smr_function *body) {
  if (body->output_count != node->output_count) {
    SMR_FAIL(d->error, BAD_MODEL, "function '" SMR_NAME "' gives %u outputs, the node has %u",
             body->name, body->output_count, node->output_count);
  }
  for (uint32_t i = 0; i < node->output_count; i++) {
    if (!calls_same_type(&f->values[node->outputs[i]], &body->values[body->outputs[i]])) {
      return calls_misfit(d, body, "output", i);
    }
  }
  return SAMARA_OK;
}

static samara_status calls_check_if(struct smr_decoder *d, const struct smr_function *f,
                                    const struct smr_node *node) {
  if (node->input_count < 1 || node->inputs[0] < 0 ||
      !calls_is_scalar(&f->values[node->inputs[0]], SAMARA_BOOL)) {
    SMR_FAIL(d->error, BAD_MODEL, "the condition is no bool scalar");
  }
  for (uint32_t i = 0; i < 2; i++) {
    const struct smr_function *body = calls_callee(d, node, i);
    SMR_TRY(calls_check_inputs(d, f, node, 1, node->input_count - 1, body, 0));
    SMR_TRY(calls_check_outputs(d, f, node, body));
  }
  return SAMARA_OK;
}

// Node: (max_trip?, cond?, carried, captures) -> (carried, stacked).
// Body: (index, cond, carried, captures) -> (cond, carried, one slice of each stacked).
static samara_status calls_check_loop(struct smr_decoder *d, const struct smr_function *f,
                                      const struct smr_node *node) {
  const struct smr_function *body = calls_callee(d, node, 0);
  const struct smr_attr *attr = calls_attr(node, "carried");
  const int64_t carried = attr != NULL ? attr->i : -1;
  if (node->input_count < 2 || carried < 0 || carried > (int64_t)node->input_count - 2 ||
      carried > (int64_t)node->output_count) {
    SMR_FAIL(d->error, BAD_MODEL, "loop carries %lld of %u inputs and %u outputs",
             (long long)carried, node->input_count, node->output_count);
  }
  const int32_t trip = node->inputs[0], cond = node->inputs[1];
  if ((trip >= 0 && !calls_is_scalar(&f->values[trip], SAMARA_INT64)) ||
      (cond >= 0 && !calls_is_scalar(&f->values[cond], SAMARA_BOOL))) {
    SMR_FAIL(d->error, BAD_MODEL, "loop wants an int64 scalar and a bool scalar first");
  }
  SMR_TRY(calls_check_inputs(d, f, node, 2, node->input_count - 2, body, 2));
  if (!calls_is_scalar(&body->values[body->inputs[0]], SAMARA_INT64) ||
      !calls_is_scalar(&body->values[body->inputs[1]], SAMARA_BOOL)) {
    return calls_misfit(d, body, "input", 0);
  }
  if (body->output_count != node->output_count + 1 ||
      !calls_is_scalar(&body->values[body->outputs[0]], SAMARA_BOOL)) {
    return calls_misfit(d, body, "output", 0);
  }
  for (uint32_t i = 0; i < node->output_count; i++) {
    const struct smr_value *out = &f->values[node->outputs[i]];
    const struct smr_value *made = &body->values[body->outputs[i + 1]];
    const bool is_carried = i < (uint32_t)carried;
    bool good = out->dtype == made->dtype && out->rank == made->rank + (is_carried ? 0 : 1);
    if (is_carried) good = good && calls_same_type(out, &f->values[node->inputs[2 + i]]);
    if (!good) return calls_misfit(d, body, "output", i);
  }
  return SAMARA_OK;
}

// trap and custom state the types of their outputs.
static samara_status calls_check_stated(struct smr_decoder *d, const struct smr_function *f,
                                        const struct smr_node *node) {
  const struct smr_attr *dtypes = calls_attr(node, "dtypes"), *ranks = calls_attr(node, "ranks");
  if (dtypes == NULL || ranks == NULL) return SAMARA_OK;
  bool good = dtypes->count == node->output_count && ranks->count == node->output_count;
  for (uint32_t i = 0; good && i < node->output_count; i++) {
    const struct smr_value *out = &f->values[node->outputs[i]];
    good = dtypes->ints[i] == out->dtype && ranks->ints[i] == out->rank;
  }
  if (good) return SAMARA_OK;
  SMR_FAIL(d->error, BAD_MODEL, "outputs are not of the dtypes and ranks that the node states");
}

static samara_status calls_check_node(struct smr_decoder *d, const struct smr_function *f,
                                      const struct smr_node *node) {
  for (uint32_t i = 0; i < node->input_count; i++) {
    const int32_t id = node->inputs[i], constant = id >= 0 ? f->values[id].constant : -1;
    if (constant >= 0 && d->constants[constant].layout != SMR_LAYOUT_PLAIN) {
      SMR_FAIL(d->error, BAD_MODEL, "input %u is a constant in a packed layout", i);
    }
  }
  for (uint32_t i = 0; calls_callee(d, node, i) != NULL; i++) {
    const struct smr_function *body = calls_callee(d, node, i);
    if (body->read_count != 0 || body->write_count != 0) {
      SMR_FAIL(d->error, BAD_MODEL, "function '" SMR_NAME "' is called, but bound to variables",
               body->name);
    }
  }
  if (strcmp(node->op->name, "if") == 0) return calls_check_if(d, f, node);
  if (strcmp(node->op->name, "loop") == 0) return calls_check_loop(d, f, node);
  if (calls_callee(d, node, 0) == NULL) return calls_check_stated(d, f, node);
  SMR_TRY(calls_check_inputs(d, f, node, 0, node->input_count, calls_callee(d, node, 0), 0));
  return calls_check_outputs(d, f, node, calls_callee(d, node, 0));
}

static samara_status calls_check_function(struct smr_decoder *d, const struct smr_function *f) {
  for (uint32_t i = 0; i < f->node_count; i++) {
    const struct smr_node *node = &f->nodes[i];
    if ((node->op->flags & SMR_OP_CONTROL) == 0) continue;
    const samara_status status = calls_check_node(d, f, node);
    if (status != SAMARA_OK) {
      return smr_fail_prefix(d->error, status,
                             "function '" SMR_NAME "', node '" SMR_NAME "': %s: ", f->name,
                             node->name, node->op->name);
    }
  }
  return SAMARA_OK;
}

// ---- the graph ----

struct calls_walk {
  struct smr_decoder *d;
  uint32_t *order;
  uint32_t ordered;
};

// Depth first. A function's `depth` is 0 before, CALLS_VISITING during and its height after the
// visit; the recursion is no deeper than SMR_MAX_CALL_DEPTH.
static samara_status calls_visit(struct calls_walk *walk, struct smr_function *f, uint32_t level) {
  struct smr_decoder *d = walk->d;
  if (f->depth == CALLS_VISITING) {
    SMR_FAIL(d->error, BAD_MODEL, "function '" SMR_NAME "' calls itself", f->name);
  }
  if (level > SMR_MAX_CALL_DEPTH) {
    SMR_FAIL(d->error, BAD_MODEL, "calls nest more than %d deep", (int)SMR_MAX_CALL_DEPTH);
  }
  if (f->depth != 0) return SAMARA_OK;
  f->depth = CALLS_VISITING;
  uint32_t height = 1, frames = 1;
  for (uint32_t i = 0; i < f->node_count; i++) {
    if ((f->nodes[i].op->flags & SMR_OP_CONTROL) == 0) continue;
    struct smr_function *callee;
    for (uint32_t j = 0; (callee = calls_callee(d, &f->nodes[i], j)) != NULL; j++) {
      SMR_TRY(calls_visit(walk, callee, level + 1));
      if (callee->depth + 1 > height) height = callee->depth + 1;
      frames += callee->frames;
      if (frames > CALLS_MAX_FRAMES) {
        SMR_FAIL(d->error, BAD_MODEL, "function '" SMR_NAME "' makes more than %d nested calls",
                 f->name, (int)CALLS_MAX_FRAMES);
      }
    }
  }
  if (height > SMR_MAX_CALL_DEPTH) {
    SMR_FAIL(d->error, BAD_MODEL, "calls nest more than %d deep", (int)SMR_MAX_CALL_DEPTH);
  }
  f->depth = height;
  f->frames = frames;
  walk->order[walk->ordered++] = (uint32_t)(f - d->functions);
  return SAMARA_OK;
}

samara_status smr_decode_calls(struct smr_decoder *d, uint32_t *order) {
  for (uint32_t i = 0; i < d->model->function_count; i++) {
    SMR_TRY(calls_check_function(d, &d->functions[i]));
  }
  struct calls_walk walk = {.d = d, .order = order};
  for (uint32_t i = 0; i < d->model->function_count; i++) {
    SMR_TRY(calls_visit(&walk, &d->functions[i], 1));
  }
  return SAMARA_OK;
}

bool smr_decode_calls_growing(const struct smr_decoder *d, const struct smr_function *f) {
  for (uint32_t i = 0; i < f->node_count; i++) {
    if ((f->nodes[i].op->flags & SMR_OP_CONTROL) == 0) continue;
    const struct smr_function *callee;
    for (uint32_t j = 0; (callee = calls_callee(d, &f->nodes[i], j)) != NULL; j++) {
      if (callee->growing) return true;
    }
  }
  return false;
}
