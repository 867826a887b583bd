// SPDX-License-Identifier: Apache-2.0
// Checks one function: expressions, values, nodes, outputs, bindings, symbols.
#include "base/fp.h"

#include "model/decode.h"
#include "model/record.h"

#include <string.h>

// A value's producer before its definition was read.
enum { FUNCTION_NOT_MADE = -2 };

// ---- expressions ----

static bool function_earlier(int64_t operand, uint32_t index) {
  return operand >= 0 && operand < (int64_t)index;
}

// Operands must be earlier expressions. References of READ and BORN are checked at the end.
static bool function_expr_ordered(const struct smr_expr *e, uint32_t index) {
  const int64_t bound = e->op == SMR_EXPR_READ ? e->c : e->k;
  if (e->op == SMR_EXPR_READ || e->op == SMR_EXPR_BORN) {
    return bound == -1 || function_earlier(bound, index);
  }
  if (e->op < SMR_EXPR_ADD) return true;
  return e->op < SMR_EXPR_COUNT && function_earlier(e->a, index) && function_earlier(e->b, index) &&
         (e->op != SMR_EXPR_SELECT || function_earlier(e->c, index));
}

// Fold an expression with constant operands.
static void function_fold(const struct smr_expr *exprs, struct smr_expr *e) {
  if (e->op < SMR_EXPR_ADD) return;
  const struct smr_expr *a = &exprs[e->a], *b = &exprs[e->b];
  const struct smr_expr *c = e->op == SMR_EXPR_SELECT ? &exprs[e->c] : a;
  if (a->op != SMR_EXPR_CONST || b->op != SMR_EXPR_CONST || c->op != SMR_EXPR_CONST) return;
  const char *why;
  if (smr_expr_apply(e->op, a->k, b->k, c->k, &e->k, &why)) e->op = SMR_EXPR_CONST;
}

static bool function_good_read(const struct smr_decoder *d, const struct smr_function *f,
                               const struct smr_expr *e) {
  enum {
    READABLE = 1 << SAMARA_FLOAT32 | 1 << SAMARA_INT8 | 1 << SAMARA_UINT8 | 1 << SAMARA_INT32 |
        1 << SAMARA_INT64 | 1 << SAMARA_BOOL,
  };
  if ((uint32_t)e->a >= f->value_count || e->b < 0) return false;
  const struct smr_value *value = &f->values[e->a];
  if ((READABLE >> value->dtype & 1) == 0) return false;
  if (value->constant < 0) return true;
  const struct smr_constant *c = &d->walk.model->constants[value->constant];
  return c->layout == SMR_LAYOUT_PLAIN &&
         (uint64_t)e->b < c->size_bytes / smr_dtype_bytes(c->dtype);
}

// A BORN expression must be a dim that the operator measures, and must be used as that dim of that
// output.
static bool function_good_born(const struct smr_function *f, const struct smr_expr *e) {
  if ((uint32_t)e->a >= f->node_count) return false;
  const struct smr_node *node = &f->nodes[e->a];
  const bool measured = (node->op->flags & SMR_OP_CONTROL) != 0 ||
                        (node->op->funcs != NULL && node->op->funcs->measure != NULL);
  if (!measured || (uint32_t)e->b >= node->output_count) return false;
  const struct smr_value *value = &f->values[node->outputs[e->b]];
  if ((uint32_t)e->c >= value->rank) return false;
  const struct smr_expr *own = &f->exprs[value->dims[e->c]];
  return own->op == SMR_EXPR_BORN && own->a == e->a && own->b == e->b && own->c == e->c;
}

static bool function_good_leaf(const struct smr_decoder *d, const struct smr_function *f,
                               const struct smr_expr *e) {
  if (SMR_HAS(late) && e->op == SMR_EXPR_READ) return function_good_read(d, f, e);
  if (SMR_HAS(late) && e->op == SMR_EXPR_BORN) return function_good_born(f, e);
  return e->op != SMR_EXPR_INPUT_DIM ||
         ((uint32_t)e->a < f->input_count && (uint32_t)e->b < f->values[f->inputs[e->a]].rank);
}

static samara_status function_check_leaves(const struct smr_decoder *d,
                                           const struct smr_function *f) {
  for (uint32_t i = 0; i < f->expr_count; i++) {
    const struct smr_expr *e = &f->exprs[i];
    if (e->op == SMR_EXPR_READ || e->op == SMR_EXPR_BORN) {
      SMR_NEED_IN(&d->walk.model->parts, d->walk.error, late);
    }
    if (!function_good_leaf(d, f, e)) {
      return smr_decode_bad(d, "expression %d (op %d) refers to nothing", (int)i, (int)e->op);
    }
  }
  return SAMARA_OK;
}

// ---- values ----

// Constant dims; -1 for others, 0 beyond the rank.
static void function_known_dims(const struct smr_function *f, const struct smr_value *v,
                                int64_t *dims) {
  memset(dims, 0, SAMARA_MAX_RANK * sizeof *dims);
  for (uint32_t i = 0; i < v->rank; i++) {
    const struct smr_expr *e = &f->exprs[v->dims[i]];
    dims[i] = e->op == SMR_EXPR_CONST ? e->k : -1;
  }
}

static samara_status function_check_value(const struct smr_decoder *d, const struct smr_function *f,
                                          struct smr_value *v) {
  int64_t dims[SAMARA_MAX_RANK];
  function_known_dims(f, v, dims);
  for (uint32_t i = 0; i < v->rank; i++) {
    if (dims[i] < 0 && f->exprs[v->dims[i]].op == SMR_EXPR_CONST) {
      return smr_decode_bad(d, "dim %d is %d", (int)i, (int)dims[i]);
    }
  }
  v->producer = v->constant < 0 ? FUNCTION_NOT_MADE : -1;
  if (v->constant >= 0 &&
      !smr_decode_same_type(&d->walk.model->constants[v->constant], v->dtype, v->rank, dims)) {
    return smr_decode_bad(d, "constant %d differs in type", v->constant, 0);
  }
  return smr_decode_quant(d, v->quant, v->dtype, v->rank, dims);
}

// Set the producer of value `id`, which must not have one.
static samara_status function_make(const struct smr_decoder *d, const struct smr_function *f,
                                   uint32_t id, int32_t producer) {
  struct smr_value *value = (struct smr_value *)&f->values[id];
  if (value->producer != FUNCTION_NOT_MADE) {
    return smr_decode_bad(d, "value %d is made twice", (int)id, 0);
  }
  value->producer = producer;
  return SAMARA_OK;
}

// ---- nodes ----

static bool function_in_range(uint32_t count, uint32_t least, uint32_t most) {
  return count >= least && (most == UINT8_MAX || count <= most);
}

static samara_status function_check_node(const struct smr_decoder *d, const struct smr_function *f,
                                         uint32_t index) {
  const struct smr_node *node = &f->nodes[index];
  const struct smr_op *op = node->op;
  if (!function_in_range(node->input_count, op->min_inputs, op->max_inputs) ||
      !function_in_range(node->output_count, op->min_outputs, op->max_outputs)) {
    return smr_decode_bad(d, "it does not take %d inputs and %d outputs", (int)node->input_count,
                          (int)node->output_count);
  }
  for (uint32_t i = 0; i < node->input_count; i++) {
    const int32_t id = node->inputs[i];
    if (id < 0 ? i < op->min_inputs : f->values[id].producer == FUNCTION_NOT_MADE) {
      return smr_decode_bad(d, "input %d is value %d, which no earlier node produces", (int)i, id);
    }
  }
  for (uint32_t i = 0; i < node->output_count; i++) {
    SMR_TRY(function_make(d, f, node->outputs[i], (int32_t)index));
  }
  return SAMARA_OK;
}

// ---- outputs, bindings, symbols ----

static samara_status function_check_outputs(const struct smr_decoder *d,
                                            const struct smr_function *f, const char **names) {
  for (uint32_t i = 0; i < f->output_count; i++) {
    const struct smr_value *value = &f->values[f->outputs[i]];
    if (value->constant >= 0 &&
        d->walk.model->constants[value->constant].layout != SMR_LAYOUT_PLAIN) {
      return smr_decode_bad(d, "value %d is packed", (int)f->outputs[i], 0);
    }
    if (names != NULL) names[i] = value->name;
  }
  return SAMARA_OK;
}

static bool function_binds(const struct smr_function *f, const struct smr_value *value,
                           const struct smr_variable *variable) {
  int64_t dims[SAMARA_MAX_RANK];
  function_known_dims(f, value, dims);
  bool same = value->dtype == variable->dtype && value->rank == variable->rank;
  for (uint32_t i = 0; i < value->rank; i++) {
    same = same && (dims[i] == -1 || dims[i] == variable->dims[i]);
  }
  return same;
}

// Check bindings of inputs or outputs, whose values are `ids`. *free receives the positions that
// are not bound.
static samara_status function_check_bindings(const struct smr_decoder *d,
                                             const struct smr_function *f,
                                             const struct smr_binding *bindings, uint32_t n,
                                             const uint32_t *ids, uint32_t count, int32_t *free,
                                             uint32_t *free_count) {
  if (n != 0) SMR_NEED_IN(&d->walk.model->parts, d->walk.error, variables);
  for (uint32_t i = 0; SMR_HAS(variables) && i < n; i++) {
    const struct smr_binding *b = &bindings[i];
    struct smr_variable *variable = (struct smr_variable *)&d->walk.model->variables[b->variable];
    const bool twice = bindings == f->writes && variable->written_by == d->function_index + 1;
    if (b->position >= count || free[b->position] != 0 || twice ||
        !function_binds(f, &f->values[ids[b->position]], variable)) {
      return smr_decode_bad(
          d, "position %d, variable %d: bound twice, out of range or of another type",
          (int)b->position, (int)b->variable);
    }
    free[b->position] = 1;
    if (bindings == f->writes) variable->written_by = d->function_index + 1;
  }
  *free_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (free[i] == 0) free[(*free_count)++] = (int32_t)i;
  }
  return SAMARA_OK;
}

// A function that binds a variable that grows also reads how far it has grown.
static samara_status function_check_lengths(const struct smr_decoder *d,
                                            const struct smr_function *f) {
  const struct smr_variable *variables = d->walk.model->variables;
  for (uint32_t i = 0; SMR_HAS(variables) && i < f->read_count + f->write_count; i++) {
    const struct smr_binding *b = i < f->read_count ? &f->reads[i] : &f->writes[i - f->read_count];
    const int32_t length = variables[b->variable].length;
    bool known = length < 0;
    for (uint32_t k = 0; k < f->read_count; k++)
      known = known || (int32_t)f->reads[k].variable == length;
    if (!known)
      return smr_decode_bad(d, "variable %d is bound without its length, variable %d",
                            (int)b->variable, (int)length);
  }
  return SAMARA_OK;
}

static samara_status function_check_symbols(const struct smr_decoder *d,
                                            const struct smr_function *f) {
  for (uint32_t i = 0; i < f->symbol_count; i++) {
    struct smr_symbol *s = (struct smr_symbol *)&f->symbols[i];
    if (s->upper < 0) s->upper = INT64_MAX;
    if (f->exprs[s->expr].op != SMR_EXPR_INPUT_DIM || s->lower < 0 || s->lower > s->upper) {
      return smr_decode_bad(d, "symbol %d is not an input dim, or has no value", (int)i, 0);
    }
  }
  return SAMARA_OK;
}

// ---- everything ----

static samara_status function_check(const struct smr_decoder *d, const struct smr_function *f) {
  for (uint32_t i = 0; i < f->expr_count; i++) {
    struct smr_expr *e = (struct smr_expr *)&f->exprs[i];
    if (!function_expr_ordered(e, i)) {
      return smr_decode_bad(d, "expression %d (op %d) needs a later one", (int)i, (int)e->op);
    }
    function_fold(f->exprs, e);
  }
  for (uint32_t i = 0; i < f->value_count; i++) {
    struct smr_value *v = (struct smr_value *)&f->values[i];
    const samara_status status = function_check_value(d, f, v);
    if (status != SAMARA_OK) return smr_fb_where(&d->walk, status, SMR_FB_VALUE, v->name);
  }
  for (uint32_t i = 0; i < f->input_count; i++) SMR_TRY(function_make(d, f, f->inputs[i], -1));
  for (uint32_t i = 0; i < f->node_count; i++) {
    const samara_status status = function_check_node(d, f, i);
    if (status != SAMARA_OK) {
      return smr_fb_where(&d->walk, status, SMR_FB_NODE, f->nodes[i].name);
    }
  }
  for (uint32_t i = 0; i < f->value_count; i++) {
    if (f->values[i].producer == FUNCTION_NOT_MADE) {
      return smr_decode_bad(d, "value %d has no producer", (int)i, 0);
    }
  }
  SMR_TRY(function_check_leaves(d, f));
  return function_check_symbols(d, f);
}

samara_status smr_decode_function(struct smr_decoder *d, struct smr_function *f) {
  // user_output_count temporarily holds the number of names.
  const bool unnamed = f->user_output_count == 0;
  const char **names =
      unnamed ? smr_fb_take(&d->walk, f->output_count, sizeof *names) : (const char **)NULL;
  // Each count is at most a quarter of the program part's bytes, so the sum cannot overflow.
  uint32_t *words = smr_fb_take(
      &d->walk, (size_t)f->expr_count + f->guard_count + f->input_count + f->output_count,
      sizeof *words);
  if (d->walk.bump.base == NULL) return SAMARA_OK;
  if (!unnamed && f->user_output_count != f->output_count) {
    return smr_decode_bad(d, "%d outputs with %d names", (int)f->output_count,
                          (int)f->user_output_count);
  }
  if (unnamed) f->output_names = names;
  SMR_TRY(function_check(d, f));
  SMR_TRY(function_check_outputs(d, f, names));
  static uint32_t none;  // target of empty arrays
  if (words == NULL) words = &none;
  f->expr_stage = words;
  f->guard_stage = f->expr_stage + f->expr_count;
  int32_t *inputs = (int32_t *)f->guard_stage + f->guard_count;
  f->user_inputs = inputs;
  f->user_outputs = inputs + f->input_count;
  SMR_TRY(function_check_bindings(d, f, f->reads, f->read_count, f->inputs, f->input_count, inputs,
                                  &f->user_input_count));
  SMR_TRY(function_check_bindings(d, f, f->writes, f->write_count, f->outputs, f->output_count,
                                  inputs + f->input_count, &f->user_output_count));
  SMR_TRY(function_check_lengths(d, f));
  if (SMR_HAS(image) || SMR_HAS(audio) || SMR_HAS(answer))
    SMR_TRY(smr_records_check(f, &d->walk.model->parts, d->walk.error));
  if (d->walk.model->exact) SMR_NEED_IN(&d->walk.model->parts, d->walk.error, exact);
  d->function_index++;
  return SAMARA_OK;
}
