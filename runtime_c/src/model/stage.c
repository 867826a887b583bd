// SPDX-License-Identifier: Apache-2.0
// Divides a function into stages: nodes that run between two points at which dims become known.
//
// Stages never decrease over nodes, so the stage of an expression follows from the latest node
// whose results it reads. During the walk expr_stage holds this dependence as a number; the
// dependence of an operation is the maximum over its operands:
//
//   0      input dims and constants
//   1      an element of a function input
//   2 + n  an element or a dim that node n makes
#include "base/fp.h"

#include "model/decode.h"

enum { STAGE_INPUT_DIMS = 0, STAGE_INPUT_DATA = 1, STAGE_NODE = 2 };

static uint32_t stage_greater(uint32_t a, uint32_t b) { return a > b ? a : b; }

static uint32_t stage_dependence(const struct smr_function *f, const struct smr_expr *e,
                                 const uint32_t *known) {
  uint32_t own = STAGE_INPUT_DIMS;
  switch ((enum smr_expr_op)e->op) {
    case SMR_EXPR_CONST:
    case SMR_EXPR_INPUT_DIM:
      return own;
    case SMR_EXPR_READ: {
      const struct smr_value *value = &f->values[e->a];
      if (value->producer >= 0) {
        own = STAGE_NODE + (uint32_t)value->producer;
      } else if (value->constant < 0) {
        own = STAGE_INPUT_DATA;
      }
      return e->c >= 0 ? stage_greater(own, known[e->c]) : own;
    }
    case SMR_EXPR_BORN:
      own = STAGE_NODE + (uint32_t)e->a;
      return e->k >= 0 ? stage_greater(own, known[e->k]) : own;
    case SMR_EXPR_SELECT:
      own = known[e->c];
      break;
    default:
      break;
  }
  return stage_greater(own, stage_greater(known[e->a], known[e->b]));
}

// The stage from which something with this dependence can be evaluated.
static uint32_t stage_of(const struct smr_function *f, uint32_t dependence) {
  if (dependence < STAGE_NODE) return dependence;
  return f->nodes[dependence - STAGE_NODE].stage + 1;
}

struct stage_walk {
  const struct smr_decoder *d;
  const struct smr_function *f;
  uint32_t index;  // of the node
  uint32_t stage;  // current stage of the walk
};

// Require expression `expr` before the node runs.
static samara_status stage_need(struct stage_walk *walk, uint32_t expr) {
  const uint32_t dependence = walk->f->expr_stage[expr];
  if (dependence >= STAGE_NODE && dependence - STAGE_NODE >= walk->index) {
    return smr_decode_bad(walk->d, "it needs expression %d, which depends on node %d", (int)expr,
                          (int)(dependence - STAGE_NODE));
  }
  walk->stage = stage_greater(walk->stage, stage_of(walk->f, dependence));
  return SAMARA_OK;
}

static samara_status stage_need_dims(struct stage_walk *walk, const struct smr_value *value) {
  for (uint32_t i = 0; i < value->rank; i++) SMR_TRY(stage_need(walk, value->dims[i]));
  return SAMARA_OK;
}

// Require the dims of an output, except those that the node itself measures.
static samara_status stage_need_output(struct stage_walk *walk, uint32_t output) {
  const struct smr_value *value = &walk->f->values[walk->f->nodes[walk->index].outputs[output]];
  for (uint32_t i = 0; i < value->rank; i++) {
    const struct smr_expr *e = &walk->f->exprs[value->dims[i]];
    const bool own = e->op == SMR_EXPR_BORN && e->a == (int32_t)walk->index &&
                     e->b == (int32_t)output && e->c == (int32_t)i;
    if (!own) SMR_TRY(stage_need(walk, value->dims[i]));
  }
  return SAMARA_OK;
}

static samara_status stage_node(struct stage_walk *walk) {
  const struct smr_node *node = &walk->f->nodes[walk->index];
  for (uint32_t i = 0; i < node->input_count; i++) {
    if (node->inputs[i] < 0) continue;
    SMR_TRY(stage_need_dims(walk, &walk->f->values[node->inputs[i]]));
  }
  for (uint32_t i = 0; i < node->op->attr_count; i++) {
    for (uint32_t j = 0; j < node->attrs[i].expr_count; j++) {
      SMR_TRY(stage_need(walk, node->attrs[i].exprs[j]));
    }
  }
  for (uint32_t i = 0; i < node->output_count; i++) SMR_TRY(stage_need_output(walk, i));
  return SAMARA_OK;
}

static samara_status stage_nodes(const struct smr_decoder *d, struct smr_function *f) {
  struct smr_node *nodes = (struct smr_node *)f->nodes;
  struct stage_walk walk = {.d = d, .f = f};
  for (uint32_t i = 0; i < f->node_count; i++) {
    walk.index = i;
    const samara_status status = stage_node(&walk);
    if (status != SAMARA_OK) return smr_fb_where(&d->walk, status, SMR_FB_NODE, nodes[i].name);
    nodes[i].stage = walk.stage;
  }
  f->stage_count = walk.stage + 1;
  return SAMARA_OK;
}

// Whether a dim has no bound even if the input dims are known. Their values do not matter, so all
// get one value: large enough not to cancel against small constants, small enough that products of
// a few do not overflow.
static samara_status stage_grows(const struct smr_decoder *d, struct smr_function *f) {
  enum { STAGE_SOME_DIM = 97 };
  const samara_allocator *allocator = &d->walk.model->allocator;
  int64_t *lo = smr_allocate_zeroed(allocator, f->expr_count, 2 * sizeof *lo);
  if (lo == NULL) return smr_no_memory(d->walk.error, 2 * f->expr_count * sizeof *lo);
  int64_t *hi = lo + f->expr_count;
  for (uint32_t i = 0; i < f->expr_count; i++) {
    if (f->exprs[i].op == SMR_EXPR_INPUT_DIM) {
      lo[i] = hi[i] = STAGE_SOME_DIM;
    } else {
      smr_expr_interval(f->exprs, i, lo, hi, &lo[i], &hi[i]);
    }
  }
  for (uint32_t i = 0; i < f->value_count; i++) {
    for (uint32_t j = 0; j < f->values[i].rank; j++) {
      if (hi[f->values[i].dims[j]] == INT64_MAX) f->growing = true;
    }
  }
  smr_release(allocator, lo);
  return SAMARA_OK;
}

samara_status smr_decode_stages(struct smr_decoder *d, struct smr_function *f) {
  f->stage_count = 1;
  if (!SMR_HAS(late)) return SAMARA_OK;  // no READ or BORN: all stages are 0
  uint32_t *expr_stage = (uint32_t *)f->expr_stage, *guard_stage = (uint32_t *)f->guard_stage;
  for (uint32_t i = 0; i < f->expr_count; i++) {
    expr_stage[i] = stage_dependence(f, &f->exprs[i], expr_stage);
  }
  for (uint32_t i = 0; i < f->input_count; i++) {
    const struct smr_value *value = &f->values[f->inputs[i]];
    for (uint32_t j = 0; j < value->rank; j++) {
      if (expr_stage[value->dims[j]] != STAGE_INPUT_DIMS) {
        return smr_decode_bad(d, "dim %d of input %d depends on data", (int)j, (int)i);
      }
    }
  }
  SMR_TRY(stage_nodes(d, f));
  for (uint32_t i = 0; i < f->expr_count; i++) {
    expr_stage[i] = stage_of(f, expr_stage[i]);
    f->stage_count = stage_greater(f->stage_count, expr_stage[i] + 1);
  }
  for (uint32_t i = 0; i < f->guard_count; i++) {
    guard_stage[i] = stage_greater(expr_stage[f->guards[i].a], expr_stage[f->guards[i].b]);
  }
  return stage_grows(d, f);
}
