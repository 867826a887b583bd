// SPDX-License-Identifier: Apache-2.0
// Variables that grow: whether the next value may be the value, with more rows.
#include "base/fp.h"

#include "ops/table/attrs.h"
#include "ops/table/opattrs.h"
#include "session/plan/plan.h"

// The variable that an input of the function is bound to; -1 for other values.
static int32_t grow_variable_read(const struct smr_function *f, int32_t id) {
  for (uint32_t i = 0; i < f->read_count; i++)
    if ((int32_t)f->inputs[f->reads[i].position] == id) return (int32_t)f->reads[i].variable;
  return -1;
}

static int32_t grow_variable_written(const struct smr_function *f, uint32_t id) {
  int32_t found = -1;
  uint32_t outputs = 0;
  for (uint32_t i = 0; i < f->output_count; i++) outputs += f->outputs[i] == id;
  for (uint32_t i = 0; i < f->write_count; i++)
    if (f->outputs[f->writes[i].position] == id) found = (int32_t)f->writes[i].variable;
  return outputs == 1 ? found : -1;
}

static uint32_t grow_uses(const struct smr_function *f, uint32_t id) {
  uint32_t uses = 0;
  for (uint32_t n = 0; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++)
      uses += f->nodes[n].inputs[i] == (int32_t)id;
  for (uint32_t i = 0; i < f->output_count; i++) uses += f->outputs[i] == id;
  for (uint32_t i = 0; i < f->expr_count; i++)
    uses += f->exprs[i].op == SMR_EXPR_READ && (uint32_t)f->exprs[i].a == id;
  return uses;
}

// The most that a dim can be in a run; INT64_MAX if no bound is known.
static int64_t grow_most(const struct smr_function *f, uint32_t expr) {
  const struct smr_expr *e = &f->exprs[expr];
  if (e->op == SMR_EXPR_CONST) return e->k;
  for (uint32_t i = 0; e->op == SMR_EXPR_INPUT_DIM && i < f->symbol_count; i++) {
    const struct smr_expr *symbol = &f->exprs[f->symbols[i].expr];
    if (symbol->a == e->a && symbol->b == e->b) return f->symbols[i].upper;
  }
  return INT64_MAX;
}

// Whether the rows of a ring that a run writes over lie before every window, so that the same run
// finds all that it sees when it comes again: only attention with windows reads the ring, and the
// run has few enough rows.
static bool grow_ring_keeps(const struct smr_function *f, const struct smr_node *node) {
  const uint32_t y = node->outputs[0];
  int64_t window = 0;
  if (node->attrs[SMR_ATTR_INDEX(write_rows, ring)].literal.i == 0) return true;
  for (uint32_t n = 0; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++) {
      const struct smr_node *reader = &f->nodes[n];
      if (reader->inputs[i] != (int32_t)y) continue;
      if (reader->op->code != SMR_CODE_ATTENTION_CACHED) return false;
      const int64_t own = reader->attrs[SMR_ATTR_INDEX(attention_cached, window)].literal.i;
      if (own <= 0) return false;
      if (own > window) window = own;
    }
  const struct smr_expr *room = &f->exprs[f->values[y].dims[1]];
  const int64_t most = grow_most(f, f->values[node->inputs[1]].dims[1]);
  return room->op == SMR_EXPR_CONST && window <= room->k && most <= room->k - window + 1;
}

bool smr_views_adds_rows(const struct smr_function *f, const struct smr_variable *variables,
                         const struct smr_node *node) {
  if (!SMR_HAS(variables) || node->op->code != SMR_CODE_WRITE_ROWS) return false;
  const int32_t variable = grow_variable_read(f, node->inputs[0]);
  return variable >= 0 && smr_grows(&variables[variable]) &&
         grow_variable_written(f, node->outputs[0]) == variable &&
         grow_variable_read(f, node->inputs[2]) == variables[variable].length &&
         grow_uses(f, (uint32_t)node->inputs[0]) == 1 && grow_ring_keeps(f, node);
}
