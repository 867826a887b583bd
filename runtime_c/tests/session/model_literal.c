// SPDX-License-Identifier: Apache-2.0
// Models made in memory, as the decoder would make them, for tests of the session.
#include "base/fp.h"

#include "session/model_literal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/decode.h"
#include "ops/attr_index.h"
#include "ops/table/attrs.h"
#include "session/session.h"

static void literal_need(bool condition) {
  if (!condition) abort();
}

struct literal *literal_new(void) {
  struct literal *literal = calloc(1, sizeof *literal);
  literal_need(literal != NULL);
  literal->model.allocator = smr_allocator(NULL);
  literal->model.functions = literal->functions;
  literal->model.entries = literal->entries;
  literal->model.variables = literal->variables;
  literal->model.constants = literal->constants;
  return literal;
}

void literal_free(struct literal *literal) {
  for (uint32_t i = 0; i < literal->model.function_count; i++) free(literal->parts[i]);
  free(literal);
}

struct literal_function *literal_add(struct literal *literal, const char *name, bool is_entry) {
  const uint32_t index = literal->model.function_count++;
  literal_need(index < LITERAL_FUNCTIONS);
  struct literal_function *f = calloc(1, sizeof *f);
  literal_need(f != NULL);
  f->f = (struct smr_function){.name = name,
                               .exprs = f->exprs,
                               .expr_stage = f->expr_stage,
                               .guards = f->guards,
                               .guard_stage = f->guard_stage,
                               .values = f->values,
                               .inputs = f->inputs,
                               .outputs = f->outputs,
                               .output_names = f->output_names,
                               .nodes = f->nodes,
                               .reads = f->reads,
                               .writes = f->writes,
                               .symbols = f->symbols,
                               .user_inputs = f->user_inputs,
                               .user_outputs = f->user_outputs,
                               .is_entry = is_entry};
  literal->parts[index] = f;
  if (is_entry) literal->entries[literal->model.entry_count++] = index;
  return f;
}

static bool literal_is_bound(const struct smr_binding *list, uint32_t count, uint32_t position) {
  for (uint32_t i = 0; i < count; i++)
    if (list[i].position == position) return true;
  return false;
}

const samara_model *literal_finish(struct literal *literal) {
  samara_error error;
  struct smr_decoder decoder = {.walk = {.model = &literal->model, .error = &error}};
  for (uint32_t i = 0; i < literal->model.function_count; i++) {
    struct literal_function *part = literal->parts[i];
    struct smr_function *f = &part->f;
    for (uint32_t k = 0; k < f->input_count; k++)
      if (!literal_is_bound(f->reads, f->read_count, k))
        part->user_inputs[f->user_input_count++] = (int32_t)k;
    for (uint32_t k = 0; k < f->output_count; k++)
      if (!literal_is_bound(f->writes, f->write_count, k))
        part->user_outputs[f->user_output_count++] = (int32_t)k;
    const struct smr_function *callee;
    for (uint32_t k = 0; k < f->node_count; k++)
      for (uint32_t j = 0; (callee = smr_decode_callee(&decoder, &f->nodes[k], j)) != NULL; j++)
        f->growing = f->growing || callee->growing;
    literal->functions[i] = *f;
    literal_need(smr_decode_stages(&decoder, &literal->functions[i]) == SAMARA_OK);
  }
  return &literal->model;
}

uint32_t literal_expr(struct literal_function *f, enum smr_expr_op op, int32_t a, int32_t b,
                      int32_t c, int64_t k) {
  literal_need(f->f.expr_count < LITERAL_EXPRS);
  f->exprs[f->f.expr_count] = (struct smr_expr){.op = (uint32_t)op, .a = a, .b = b, .c = c, .k = k};
  return f->f.expr_count++;
}

uint32_t literal_int(struct literal_function *f, int64_t k) {
  return literal_expr(f, SMR_EXPR_CONST, 0, 0, 0, k);
}

uint32_t literal_symbol(struct literal_function *f, const char *name, int32_t input, int32_t axis,
                        int64_t upper) {
  const uint32_t e = literal_expr(f, SMR_EXPR_INPUT_DIM, input, axis, 0, 0);
  literal_need(f->f.symbol_count < LITERAL_PORTS);
  f->symbols[f->f.symbol_count++] = (struct smr_symbol){.name = name, .expr = e, .upper = upper};
  return e;
}

uint32_t literal_value(struct literal_function *f, const char *name, uint8_t dtype, uint32_t rank,
                       ...) {
  const uint32_t id = f->f.value_count++;
  literal_need(id < LITERAL_VALUES && rank <= SAMARA_MAX_RANK);
  va_list args;
  va_start(args, rank);
  for (uint32_t i = 0; i < rank; i++) f->dims[id][i] = va_arg(args, uint32_t);
  va_end(args);
  f->values[id] = (struct smr_value){.name = name,
                                     .dims = f->dims[id],
                                     .constant = -1,
                                     .producer = -1,
                                     .dtype = dtype,
                                     .rank = (uint8_t)rank};
  return id;
}

uint32_t literal_vector(struct literal_function *f, const char *name, uint32_t dim) {
  return literal_value(f, name, SAMARA_FLOAT32, 1, dim);
}

static int32_t literal_add_constant(struct literal *literal, const char *name, uint8_t dtype,
                                    const void *data, uint32_t rank, const int64_t *dims) {
  const uint32_t index = literal->model.constant_count++;
  literal_need(index < LITERAL_PORTS);
  struct smr_constant *c = &literal->constants[index];
  *c = (struct smr_constant){.name = name,
                             .data = data,
                             .size_bytes = smr_dtype_bytes(dtype),
                             .groups = 1,
                             .dtype = dtype,
                             .rank = (uint8_t)rank};
  for (uint32_t i = 0; i < rank; i++) {
    c->dims[i] = dims[i];
    c->size_bytes *= (size_t)dims[i];
  }
  return (int32_t)index;
}

uint32_t literal_constant(struct literal *literal, struct literal_function *f, const char *name,
                          uint8_t dtype, const void *data, uint32_t rank, ...) {
  int64_t dims[SAMARA_MAX_RANK] = {0};
  va_list args;
  va_start(args, rank);
  for (uint32_t i = 0; i < rank; i++) dims[i] = va_arg(args, int);
  va_end(args);
  const uint32_t id = literal_value(f, name, dtype, 0);
  for (uint32_t i = 0; i < rank; i++) f->dims[id][i] = literal_int(f, dims[i]);
  f->values[id].rank = (uint8_t)rank;
  f->values[id].constant = literal_add_constant(literal, name, dtype, data, rank, dims);
  return id;
}

uint32_t literal_input(struct literal_function *f, uint32_t value) {
  literal_need(f->f.input_count < LITERAL_PORTS);
  f->inputs[f->f.input_count++] = value;
  return value;
}

uint32_t literal_output(struct literal_function *f, uint32_t value, const char *name) {
  literal_need(f->f.output_count < LITERAL_PORTS);
  f->outputs[f->f.output_count] = value;
  f->output_names[f->f.output_count] = name;
  return f->f.output_count++;
}

uint32_t literal_node(struct literal_function *f, const struct smr_op *op, const char *name,
                      const int64_t *inputs, const int64_t *outputs) {
  const uint32_t index = f->f.node_count++;
  literal_need(index < LITERAL_NODES && op != NULL && op->attr_count <= LITERAL_PORTS);
  struct smr_node *node = &f->nodes[index];
  *node = (struct smr_node){.op = op,
                            .name = name,
                            .inputs = f->node_inputs[index],
                            .outputs = f->node_outputs[index],
                            .attrs = f->attrs[index],
                            .source = -1};
  for (; inputs[node->input_count] != LITERAL_END; node->input_count++) {
    literal_need(node->input_count < LITERAL_PORTS);
    f->node_inputs[index][node->input_count] = (int32_t)inputs[node->input_count];
  }
  for (; outputs[node->output_count] != LITERAL_END; node->output_count++) {
    const int64_t id = outputs[node->output_count];
    literal_need(node->output_count < LITERAL_PORTS);
    f->node_outputs[index][node->output_count] = (uint32_t)id;
    f->values[id].producer = (int32_t)index;
  }
  for (uint32_t i = 0; i < op->attr_count; i++) {
    const struct smr_attr_desc *desc = &smr_attr_descs[op->attr_first + i];
    f->attrs[index][i].literal =
        (struct smr_attr){.i = desc->default_int, .f = desc->default_f32, .text = ""};
  }
  return index;
}

uint32_t literal_map(struct literal_function *f, const struct smr_op *op, const char *name,
                     const int64_t *inputs, const char *output, uint32_t dim) {
  const uint32_t y = literal_vector(f, output, dim);
  literal_node(f, op, name, inputs, LITERAL_LIST(y));
  return y;
}

static struct smr_node_attr *literal_find_attr(struct literal_function *f, uint32_t node,
                                               const char *name, uint32_t *index) {
  const int found = attr_index(f->nodes[node].op, name);
  literal_need(found >= 0);
  *index = (uint32_t)found;
  return &f->attrs[node][found];
}

void literal_attr(struct literal_function *f, uint32_t node, const char *name,
                  struct smr_attr value) {
  uint32_t index;
  value.present = true;
  literal_find_attr(f, node, name, &index)->literal = value;
}

void literal_attr_dims(struct literal_function *f, uint32_t node, const char *name, uint32_t count,
                       ...) {
  uint32_t index;
  struct smr_node_attr *attr = literal_find_attr(f, node, name, &index);
  const struct smr_op *op = f->nodes[node].op;
  literal_need(count <= SAMARA_MAX_RANK);
  va_list args;
  va_start(args, count);
  for (uint32_t i = 0; i < count; i++) f->attr_exprs[node][index][i] = va_arg(args, uint32_t);
  va_end(args);
  attr->exprs = f->attr_exprs[node][index];
  attr->expr_count = count;
  attr->is_list = smr_attr_descs[op->attr_first + index].type == SMR_ATTR_DIMS;
}

uint32_t literal_variable(struct literal *literal, const char *name, uint8_t dtype,
                          const void *initial, uint32_t rank, const int64_t *dims) {
  const uint32_t index = literal->model.variable_count++;
  literal_need(index < LITERAL_PORTS);
  struct smr_variable *v = &literal->variables[index];
  *v = (struct smr_variable){.name = name,
                             .size_bytes = smr_dtype_bytes(dtype),
                             .initial = -1,
                             .length = -1,
                             .dtype = dtype,
                             .rank = (uint8_t)rank};
  for (uint32_t i = 0; i < rank; i++) {
    v->dims[i] = dims[i];
    v->size_bytes *= (size_t)dims[i];
  }
  if (initial != NULL) v->initial = literal_add_constant(literal, name, dtype, initial, rank, dims);
  return index;
}

void literal_grow(struct literal *literal, uint32_t variable, uint32_t length) {
  literal->variables[variable].length = (int32_t)length;
  literal->variables[length].counts = true;
}

void literal_bind(struct literal_function *f, bool write, uint32_t position, uint32_t variable) {
  const struct smr_binding binding = {.position = position, .variable = variable};
  if (write)
    f->writes[f->f.write_count++] = binding;
  else
    f->reads[f->f.read_count++] = binding;
}

samara_session *literal_session(const samara_model *model, samara_session_options options) {
  samara_session *session = NULL;
  samara_error error = {.text = ""};
  options.struct_size = sizeof options;
  if (samara_session_create(model, &options, &session, &error) != SAMARA_OK)
    fprintf(stderr, "no session: %s\n", error.text);
  literal_need(session != NULL);
  return session;
}

samara_session *literal_open(struct literal *literal) {
  return literal_session(literal_finish(literal), (samara_session_options){0});
}

samara_session *literal_counted(struct literal *literal, struct literal_memory *memory) {
  literal_memory_init(memory);
  return literal_session(literal_finish(literal),
                         (samara_session_options){.allocator = &memory->allocator});
}

void literal_close(samara_session *session, struct literal *literal) {
  samara_session_destroy(session);
  literal_free(literal);
}

samara_status literal_resize(samara_session *session, size_t index, int64_t n) {
  const int64_t *shapes[LITERAL_PORTS] = {NULL};
  shapes[index] = &n;
  return samara_session_resize(session, shapes, session->function->user_input_count);
}

samara_pool *literal_pool(size_t threads) {
  samara_pool *pool = NULL;
  const samara_pool_options options = {.struct_size = sizeof options, .threads = threads};
  literal_need(samara_pool_create(&options, &pool, NULL) == SAMARA_OK);
  return pool;
}

bool literal_feed(samara_session *session, size_t index, const float *data, size_t count) {
  if (samara_session_set_input(session, index, data, count * sizeof *data) == SAMARA_OK)
    return true;
  fprintf(stderr, "input %zu: %s\n", index, samara_session_error(session));
  return false;
}

samara_status literal_run(samara_session *session) {
  const samara_status status = samara_session_run(session);
  if (status != SAMARA_OK) fprintf(stderr, "run: %s\n", samara_session_error(session));
  return status;
}

bool literal_expect(samara_session *session, size_t index, const float *want, size_t count) {
  samara_tensor got;
  if (samara_session_output(session, index, &got) != SAMARA_OK) {
    fprintf(stderr, "output %zu: %s\n", index, samara_session_error(session));
    return false;
  }
  if (got.size_bytes != count * sizeof *want) {
    fprintf(stderr, "output %zu has %zu bytes, expected %zu\n", index, got.size_bytes,
            count * sizeof *want);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    const float value = ((const float *)got.data)[i];
    if (value == want[i]) continue;
    fprintf(stderr, "output %zu, element %zu is %g, expected %g\n", index, i, (double)value,
            (double)want[i]);
    return false;
  }
  return true;
}

bool literal_gives(samara_session *session, size_t index, const float *want, size_t count) {
  return literal_run(session) == SAMARA_OK && literal_expect(session, index, want, count);
}

static void *literal_allocate(void *user, size_t size_bytes) {
  struct literal_memory *memory = user;
  memory->calls++;
  if (memory->calls == memory->fail_at ||
      (memory->stays_out && memory->fail_at != 0 && memory->calls > memory->fail_at))
    return NULL;
  const samara_allocator plain = smr_allocator(NULL);
  void *out = plain.allocate(plain.user, size_bytes);
  // Not zeros, so that code that relies on zeroed memory fails.
  if (out != NULL) memset(out, 0xa5, size_bytes);
  if (out != NULL) memory->live++;
  return out;
}

static void literal_release(void *user, void *pointer) {
  struct literal_memory *memory = user;
  const samara_allocator plain = smr_allocator(NULL);
  if (pointer != NULL) memory->live--;
  plain.release(plain.user, pointer);
}

void literal_memory_init(struct literal_memory *memory) {
  *memory = (struct literal_memory){
      .allocator = {.allocate = literal_allocate, .release = literal_release, .user = memory}};
}
