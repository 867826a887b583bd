// SPDX-License-Identifier: Apache-2.0
// Decodes one function: expressions, values, guards, outputs, bindings, symbols.
#include "base/fp.h"

#include "model/decode.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

_Static_assert(sizeof(struct smr_expr) == 24, "an expression is laid out as in the file");

// ---- quantization parameters ----

struct smr_quant *smr_decode_quant_take(struct smr_decoder *d, uint32_t at) {
  return at != 0 ? smr_bump_take(&d->bump, 1, sizeof(struct smr_quant)) : NULL;
}

samara_status smr_decode_quant_fill(struct smr_decoder *d, uint32_t at, const char *tensor,
                                    uint8_t dtype, uint8_t rank, struct smr_quant *quant) {
  if (at == 0) {
    if (dtype != SAMARA_QINT8) return SAMARA_OK;
    SMR_FAIL(d->error, BAD_MODEL, "'" SMR_NAME "' is quantized, but has no parameters", tensor);
  }
  const struct smr_fb_vec scales = smr_fb_vector(&d->fb, at, SMR_FB_QUANT_scales);
  const struct smr_fb_vec zeros = smr_fb_vector(&d->fb, at, SMR_FB_QUANT_zero_points);
  *quant = (struct smr_quant){.scales = (const float *)scales.data,
                              .zero_points = (const int32_t *)zeros.data,
                              .count = scales.count,
                              .axis = smr_fb_i32(&d->fb, at, SMR_FB_QUANT_axis, -1)};
  if (smr_fb_u32(&d->fb, at, SMR_FB_QUANT_block, 0) != 0) {
    SMR_FAIL(d->error, UNSUPPORTED, "'" SMR_NAME "': blocks of scales", tensor);
  }
  if (scales.count == 0 || scales.count != zeros.count) {
    SMR_FAIL(d->error, BAD_MODEL, "'" SMR_NAME "' has %u scales and %u zero points", tensor,
             scales.count, zeros.count);
  }
  if (quant->axis < -1 || quant->axis >= (int32_t)rank || (quant->axis < 0 && scales.count != 1)) {
    SMR_FAIL(d->error, BAD_MODEL, "'" SMR_NAME "' of rank %u has %u scales along axis %d", tensor,
             (unsigned)rank, scales.count, quant->axis);
  }
  for (uint32_t i = 0; i < scales.count; i++) {
    // Normal, so that products and quotients of scales keep their precision.
    if (!(quant->scales[i] >= FLT_MIN && quant->scales[i] <= FLT_MAX)) {
      SMR_FAIL(d->error, BAD_MODEL, "'" SMR_NAME "': scale %u is %g, not a positive normal float",
               tensor, i, (double)quant->scales[i]);
    }
    if (quant->zero_points[i] < -128 || quant->zero_points[i] > 127) {
      SMR_FAIL(d->error, BAD_MODEL, "'" SMR_NAME "': zero point %u is %d, not an int8", tensor, i,
               quant->zero_points[i]);
    }
  }
  return SAMARA_OK;
}

samara_status smr_decode_quant_dims(struct smr_decoder *d, const char *tensor,
                                    const struct smr_quant *quant, const int64_t *dims) {
  if (quant == NULL || quant->axis < 0) return SAMARA_OK;
  if (dims[quant->axis] == (int64_t)quant->count) return SAMARA_OK;
  SMR_FAIL(d->error, BAD_MODEL, "'" SMR_NAME "': %u scales along axis %d, whose dim is not that",
           tensor, quant->count, quant->axis);
}

// ---- reserve ----

static void function_take_values(struct smr_decoder *d, uint32_t at, struct smr_function *f) {
  const struct smr_fb_vec list = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_values);
  struct smr_value *values = smr_bump_take(&d->bump, list.count, sizeof *values);
  for (uint32_t i = 0; i < list.count; i++) {
    const uint32_t value_at = smr_fb_element(&d->fb, list, i);
    struct smr_quant *quant =
        smr_decode_quant_take(d, smr_fb_child(&d->fb, value_at, SMR_FB_VALUE_quant));
    if (values != NULL) values[i] = (struct smr_value){.quant = quant};
  }
  if (f != NULL) {
    f->values = values;
    f->value_count = list.count;
  }
}

void smr_decode_function_take(struct smr_decoder *d, uint32_t at, struct smr_function *function) {
  struct smr_function f = {
      .expr_count = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_exprs).count,
      .guard_count = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_guards).count,
      .input_count = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_inputs).count,
      .output_count = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_outputs).count,
      .read_count = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_reads).count,
      .write_count = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_writes).count,
      .symbol_count = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_symbols).count,
  };
  struct smr_bump *bump = &d->bump;
  f.exprs = smr_bump_take(bump, f.expr_count, sizeof *f.exprs);
  f.expr_stage = smr_bump_take(bump, f.expr_count, sizeof *f.expr_stage);
  f.guards = smr_bump_take(bump, f.guard_count, sizeof *f.guards);
  f.guard_stage = smr_bump_take(bump, f.guard_count, sizeof *f.guard_stage);
  f.output_names = smr_bump_take(bump, f.output_count, sizeof *f.output_names);
  f.reads = smr_bump_take(bump, f.read_count, sizeof *f.reads);
  f.writes = smr_bump_take(bump, f.write_count, sizeof *f.writes);
  f.symbols = smr_bump_take(bump, f.symbol_count, sizeof *f.symbols);
  f.user_inputs = smr_bump_take(bump, f.input_count, sizeof *f.user_inputs);
  f.user_outputs = smr_bump_take(bump, f.output_count, sizeof *f.user_outputs);
  if (function != NULL) *function = f;
  function_take_values(d, at, function);
  smr_decode_nodes_take(d, at, function);
}

// ---- expressions ----

static bool function_earlier(int64_t operand, uint32_t index) {
  return operand >= 0 && operand < (int64_t)index;
}

static bool function_earlier_or_none(int64_t operand, uint32_t index) {
  return operand == -1 || function_earlier(operand, index);
}

// Operands that are expressions: earlier ones. What READ and BORN point at comes later.
static samara_status function_fill_exprs(struct smr_decoder *d, uint32_t at,
                                         struct smr_function *f) {
  const struct smr_fb_vec list = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_exprs);
  struct smr_expr *exprs = (struct smr_expr *)f->exprs;
  if (list.count != 0) memcpy(exprs, list.data, list.count * sizeof *exprs);
  for (uint32_t i = 0; i < list.count; i++) {
    struct smr_expr *e = &exprs[i];
    bool good = e->op < SMR_EXPR_COUNT;
    if (e->op == SMR_EXPR_READ) good = function_earlier_or_none(e->c, i);
    if (e->op == SMR_EXPR_BORN) good = function_earlier_or_none(e->k, i);
    if (e->op >= SMR_EXPR_ADD && good) {
      good = function_earlier(e->a, i) && function_earlier(e->b, i) &&
             (e->op != SMR_EXPR_SELECT || function_earlier(e->c, i));
    }
    if (!good) {
      SMR_FAIL(d->error, BAD_MODEL,
               "expression %u (op %u) has operands %d, %d, %d, %" PRId64
               "; they must come before it",
               i, e->op, e->a, e->b, e->c, e->k);
    }
  }
  return SAMARA_OK;
}

// Turn what has constant operands into constants.
static void function_fold_exprs(struct smr_function *f) {
  struct smr_expr *exprs = (struct smr_expr *)f->exprs;
  for (uint32_t i = 0; i < f->expr_count; i++) {
    struct smr_expr *e = &exprs[i];
    if (e->op < SMR_EXPR_ADD) continue;
    const struct smr_expr *a = &exprs[e->a], *b = &exprs[e->b];
    const struct smr_expr *c = e->op == SMR_EXPR_SELECT ? &exprs[e->c] : a;
    if (a->op != SMR_EXPR_CONST || b->op != SMR_EXPR_CONST || c->op != SMR_EXPR_CONST) continue;
    const int64_t operands[3] = {a->k, b->k, c->k};
    const struct smr_expr alone = {.op = e->op, .a = 0, .b = 1, .c = 2};
    int64_t result;
    const char *why;
    if (smr_expr_evaluate(&alone, 0, operands, &result, &why)) {
      *e = (struct smr_expr){.op = SMR_EXPR_CONST, .k = result};
    }
  }
}

static bool function_readable(uint8_t dtype) {
  return dtype == SAMARA_FLOAT32 || dtype == SAMARA_INT8 || dtype == SAMARA_UINT8 ||
         dtype == SAMARA_INT32 || dtype == SAMARA_INT64 || dtype == SAMARA_BOOL;
}

static bool function_check_read(const struct smr_decoder *d, const struct smr_function *f,
                                const struct smr_expr *e) {
  if (e->a < 0 || (uint32_t)e->a >= f->value_count || e->b < 0) return false;
  const struct smr_value *value = &f->values[e->a];
  if (!function_readable(value->dtype)) return false;
  if (value->constant < 0) return true;
  const struct smr_constant *c = &d->constants[value->constant];
  return c->layout == SMR_LAYOUT_PLAIN &&
         (uint64_t)e->b < c->size_bytes / smr_dtype_bytes(c->dtype);
}

// A BORN dim is one that its operator measures, and stands as that dim of that output.
static bool function_check_born(const struct smr_function *f, const struct smr_expr *e) {
  if (e->a < 0 || (uint32_t)e->a >= f->node_count || e->b < 0 || e->c < 0) return false;
  const struct smr_node *node = &f->nodes[e->a];
  const bool measured = (node->op->flags & SMR_OP_CONTROL) != 0 ||
                        (node->op->funcs != NULL && node->op->funcs->measure != NULL);
  if (!measured || (uint32_t)e->b >= node->output_count) return false;
  const struct smr_value *value = &f->values[node->outputs[e->b]];
  if ((uint32_t)e->c >= value->rank) return false;
  const struct smr_expr *own = &f->exprs[value->dims[e->c]];
  return own->op == SMR_EXPR_BORN && own->a == e->a && own->b == e->b && own->c == e->c;
}

static samara_status function_check_exprs(struct smr_decoder *d, const struct smr_function *f) {
  for (uint32_t i = 0; i < f->expr_count; i++) {
    const struct smr_expr *e = &f->exprs[i];
    bool good = true;
    if (e->op == SMR_EXPR_INPUT_DIM) {
      good = e->a >= 0 && (uint32_t)e->a < f->input_count && e->b >= 0 &&
             e->b < f->values[f->inputs[e->a]].rank;
    } else if (e->op == SMR_EXPR_READ) {
      good = function_check_read(d, f, e);
    } else if (e->op == SMR_EXPR_BORN) {
      good = function_check_born(f, e);
    }
    if (!good) {
      static const char *const kinds[] = {"", "INPUT_DIM", "READ", "BORN"};
      SMR_FAIL(d->error, BAD_MODEL, "expression %u, %s %d, %d, %d, refers to nothing of that kind",
               i, kinds[e->op], e->a, e->b, e->c);
    }
  }
  return SAMARA_OK;
}

samara_status smr_decode_check_expr(struct smr_decoder *d, const struct smr_function *f,
                                    uint32_t index, const char *what) {
  if (index < f->expr_count) return SAMARA_OK;
  SMR_FAIL(d->error, BAD_MODEL, "%s is expression %u of %u", what, index, f->expr_count);
}

// ---- values ----

static samara_status function_check_constant(struct smr_decoder *d, const struct smr_function *f,
                                             const struct smr_value *v) {
  if ((uint32_t)v->constant >= d->model->constant_count) {
    SMR_FAIL(d->error, BAD_MODEL, "value '" SMR_NAME "' is constant %d of %u", v->name, v->constant,
             d->model->constant_count);
  }
  const struct smr_constant *c = &d->constants[v->constant];
  bool same = c->dtype == v->dtype && c->rank == v->rank;
  for (uint32_t i = 0; same && i < v->rank; i++) {
    const struct smr_expr *e = &f->exprs[v->dims[i]];
    same = e->op == SMR_EXPR_CONST && e->k == c->dims[i];
  }
  if (same) return SAMARA_OK;
  SMR_FAIL(d->error, BAD_MODEL,
           "value '" SMR_NAME "' and its constant '" SMR_NAME "' differ in type", v->name, c->name);
}

static samara_status function_fill_value(struct smr_decoder *d, uint32_t at,
                                         const struct smr_function *f, struct smr_value *v) {
  v->name = smr_fb_text(&d->fb, at, SMR_FB_VALUE_name);
  v->dtype = smr_fb_u8(&d->fb, at, SMR_FB_VALUE_dtype, 0);
  v->constant = smr_fb_i32(&d->fb, at, SMR_FB_VALUE_constant, -1);
  v->producer = SMR_VALUE_NOT_MADE;
  const struct smr_fb_vec dims = smr_fb_vector(&d->fb, at, SMR_FB_VALUE_dims);
  if (smr_dtype_bytes(v->dtype) == 0) {
    SMR_FAIL(d->error, UNSUPPORTED, "value '" SMR_NAME "' has dtype %u, unknown to this version",
             v->name, (unsigned)v->dtype);
  }
  if (dims.count > SAMARA_MAX_RANK) {
    SMR_FAIL(d->error, BAD_MODEL, "value '" SMR_NAME "' has rank %u, at most %d", v->name,
             dims.count, SAMARA_MAX_RANK);
  }
  v->dims = (const uint32_t *)dims.data;
  v->rank = (uint8_t)dims.count;
  int64_t known[SAMARA_MAX_RANK] = {0};
  for (uint32_t i = 0; i < dims.count; i++) {
    SMR_TRY(smr_decode_check_expr(d, f, v->dims[i], "a dim"));
    const struct smr_expr *e = &f->exprs[v->dims[i]];
    known[i] = e->op == SMR_EXPR_CONST ? e->k : -1;
    if (e->op == SMR_EXPR_CONST && e->k < 0) {
      SMR_FAIL(d->error, BAD_MODEL, "value '" SMR_NAME "': dim %u is %" PRId64, v->name, i, e->k);
    }
  }
  const uint32_t quant_at = smr_fb_child(&d->fb, at, SMR_FB_VALUE_quant);
  SMR_TRY(
      smr_decode_quant_fill(d, quant_at, v->name, v->dtype, v->rank, (struct smr_quant *)v->quant));
  SMR_TRY(smr_decode_quant_dims(d, v->name, v->quant, known));
  if (v->constant == -1) return SAMARA_OK;
  v->producer = -1;
  return function_check_constant(d, f, v);
}

static samara_status function_fill_values(struct smr_decoder *d, uint32_t at,
                                          struct smr_function *f) {
  const struct smr_fb_vec list = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_values);
  struct smr_value *values = (struct smr_value *)f->values;
  for (uint32_t i = 0; i < list.count; i++) {
    SMR_TRY(function_fill_value(d, smr_fb_element(&d->fb, list, i), f, &values[i]));
  }
  const struct smr_fb_vec inputs = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_inputs);
  f->inputs = (const uint32_t *)inputs.data;
  for (uint32_t i = 0; i < inputs.count; i++) {
    const uint32_t id = f->inputs[i];
    if (id >= f->value_count || values[id].producer != SMR_VALUE_NOT_MADE) {
      SMR_FAIL(d->error, BAD_MODEL, "input %u is value %u, which is none or defined twice", i, id);
    }
    values[id].producer = -1;
  }
  return SAMARA_OK;
}

// ---- guards, outputs, bindings, symbols ----

static samara_status function_fill_guards(struct smr_decoder *d, uint32_t at,
                                          struct smr_function *f) {
  const struct smr_fb_vec list = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_guards);
  struct smr_guard *guards = (struct smr_guard *)f->guards;
  for (uint32_t i = 0; i < list.count; i++) {
    const uint32_t guard_at = smr_fb_element(&d->fb, list, i);
    guards[i] = (struct smr_guard){
        .relation = smr_fb_u8(&d->fb, guard_at, SMR_FB_GUARD_relation, 0),
        .a = smr_fb_u32(&d->fb, guard_at, SMR_FB_GUARD_a, 0),
        .b = smr_fb_u32(&d->fb, guard_at, SMR_FB_GUARD_b, 0),
        .node = smr_fb_i32(&d->fb, guard_at, SMR_FB_GUARD_node, -1),
        .message = smr_fb_text(&d->fb, guard_at, SMR_FB_GUARD_message),
    };
    SMR_TRY(smr_decode_check_expr(d, f, guards[i].a, "a guard's left side"));
    SMR_TRY(smr_decode_check_expr(d, f, guards[i].b, "a guard's right side"));
    if (guards[i].relation > SMR_RELATION_LT || guards[i].node < -1 ||
        guards[i].node >= (int64_t)f->node_count) {
      SMR_FAIL(d->error, BAD_MODEL, "guard %u has relation %u and node %d", i,
               (unsigned)guards[i].relation, guards[i].node);
    }
  }
  return SAMARA_OK;
}

static samara_status function_fill_outputs(struct smr_decoder *d, uint32_t at,
                                           struct smr_function *f) {
  const struct smr_fb_vec outputs = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_outputs);
  const struct smr_fb_vec names = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_output_names);
  const char **output_names = (const char **)f->output_names;
  f->outputs = (const uint32_t *)outputs.data;
  if (names.count != 0 && names.count != outputs.count) {
    SMR_FAIL(d->error, BAD_MODEL, "%u outputs with %u names", outputs.count, names.count);
  }
  for (uint32_t i = 0; i < outputs.count; i++) {
    if (f->outputs[i] >= f->value_count) {
      SMR_FAIL(d->error, BAD_MODEL, "output %u is value %u of %u", i, f->outputs[i],
               f->value_count);
    }
    const struct smr_value *value = &f->values[f->outputs[i]];
    if (value->constant >= 0 && d->constants[value->constant].layout != SMR_LAYOUT_PLAIN) {
      SMR_FAIL(d->error, BAD_MODEL, "output %u is a constant in a packed layout", i);
    }
    output_names[i] = names.count != 0 ? smr_fb_element_text(&d->fb, names, i) : value->name;
  }
  return SAMARA_OK;
}

static bool function_binds_type(const struct smr_function *f, const struct smr_value *value,
                                const struct smr_variable *variable) {
  if (value->dtype != variable->dtype || value->rank != variable->rank) return false;
  for (uint32_t i = 0; i < value->rank; i++) {
    const struct smr_expr *e = &f->exprs[value->dims[i]];
    if (e->op == SMR_EXPR_CONST && e->k != variable->dims[i]) return false;
  }
  return true;
}

// Bindings of inputs (`marks` is f->user_inputs, zeroed) or outputs; a bound position is marked.
static samara_status function_fill_bindings(struct smr_decoder *d, struct smr_fb_vec list,
                                            const struct smr_function *f, const uint32_t *ids,
                                            uint32_t count, bool writes, int32_t *marks,
                                            struct smr_binding *bindings) {
  for (uint32_t i = 0; i < list.count; i++) {
    const uint32_t at = smr_fb_element(&d->fb, list, i);
    const struct smr_binding binding = {
        .position = smr_fb_u32(&d->fb, at, SMR_FB_BINDING_position, 0),
        .variable = smr_fb_u32(&d->fb, at, SMR_FB_BINDING_variable, 0),
    };
    const char *what = writes ? "output" : "input";
    if (binding.position >= count || binding.variable >= d->model->variable_count) {
      SMR_FAIL(d->error, BAD_MODEL, "binding of %s %u of %u to variable %u of %u", what,
               binding.position, count, binding.variable, d->model->variable_count);
    }
    const struct smr_variable *variable = &d->variables[binding.variable];
    uint32_t *mark = &d->variable_mark[binding.variable];
    if (marks[binding.position] != 0 || (writes && *mark == d->function_index + 1)) {
      SMR_FAIL(d->error, BAD_MODEL, "%s %u and variable '" SMR_NAME "' are bound twice", what,
               binding.position, variable->name);
    }
    if (!function_binds_type(f, &f->values[ids[binding.position]], variable)) {
      SMR_FAIL(d->error, BAD_MODEL, "%s %u and variable '" SMR_NAME "' differ in type", what,
               binding.position, variable->name);
    }
    marks[binding.position] = 1;
    if (writes) *mark = d->function_index + 1;
    bindings[i] = binding;
  }
  return SAMARA_OK;
}

// From marks to the list of positions that are not marked, in place.
static uint32_t function_unmarked(int32_t *marks, uint32_t count) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (marks[i] == 0) marks[found++] = (int32_t)i;
  }
  return found;
}

static samara_status function_bind(struct smr_decoder *d, uint32_t at, struct smr_function *f) {
  int32_t *inputs = (int32_t *)f->user_inputs, *outputs = (int32_t *)f->user_outputs;
  for (uint32_t i = 0; i < f->input_count; i++) inputs[i] = 0;
  for (uint32_t i = 0; i < f->output_count; i++) outputs[i] = 0;
  SMR_TRY(function_fill_bindings(d, smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_reads), f, f->inputs,
                                 f->input_count, false, inputs, (struct smr_binding *)f->reads));
  SMR_TRY(function_fill_bindings(d, smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_writes), f,
                                 f->outputs, f->output_count, true, outputs,
                                 (struct smr_binding *)f->writes));
  f->user_input_count = function_unmarked(inputs, f->input_count);
  f->user_output_count = function_unmarked(outputs, f->output_count);
  return SAMARA_OK;
}

static samara_status function_fill_symbols(struct smr_decoder *d, uint32_t at,
                                           struct smr_function *f) {
  const struct smr_fb_vec list = smr_fb_vector(&d->fb, at, SMR_FB_FUNCTION_symbols);
  struct smr_symbol *symbols = (struct smr_symbol *)f->symbols;
  for (uint32_t i = 0; i < list.count; i++) {
    const uint32_t symbol_at = smr_fb_element(&d->fb, list, i);
    struct smr_symbol *s = &symbols[i];
    s->name = smr_fb_text(&d->fb, symbol_at, SMR_FB_SYMBOL_name);
    s->expr = smr_fb_u32(&d->fb, symbol_at, SMR_FB_SYMBOL_expr, 0);
    s->lower = smr_fb_i64(&d->fb, symbol_at, SMR_FB_SYMBOL_lower, 0);
    s->upper = smr_fb_i64(&d->fb, symbol_at, SMR_FB_SYMBOL_upper, -1);
    if (s->upper < 0) s->upper = INT64_MAX;
    SMR_TRY(smr_decode_check_expr(d, f, s->expr, "a symbol"));
    if (f->exprs[s->expr].op != SMR_EXPR_INPUT_DIM || s->lower < 0 || s->lower > s->upper) {
      SMR_FAIL(d->error, BAD_MODEL, "symbol '" SMR_NAME "' is no dim of an input, or has no value",
               s->name);
    }
  }
  return SAMARA_OK;
}

samara_status smr_decode_function_fill(struct smr_decoder *d, uint32_t at, struct smr_function *f) {
  f->name = smr_fb_text(&d->fb, at, SMR_FB_FUNCTION_name);
  SMR_TRY(function_fill_exprs(d, at, f));
  function_fold_exprs(f);
  SMR_TRY(function_fill_values(d, at, f));
  SMR_TRY(smr_decode_nodes_fill(d, at, f));
  SMR_TRY(function_check_exprs(d, f));
  SMR_TRY(function_fill_outputs(d, at, f));
  SMR_TRY(function_fill_guards(d, at, f));
  SMR_TRY(function_bind(d, at, f));
  return function_fill_symbols(d, at, f);
}
