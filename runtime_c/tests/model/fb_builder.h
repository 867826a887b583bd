// SPDX-License-Identifier: Apache-2.0
// Builds model files for C tests: describe a model in plain structs, then write it.
//
//   struct mb_model *m = mb_new();
//   struct mb_function *f = mb_function(m, "main");
//   uint32_t x = mb_value(f, "x", SAMARA_FLOAT32, 2, (uint32_t[]){mb_input_dim(f, 0, 0),
//   mb_const(f, 4)}); mb_input(f, x);
//   ...
//   size_t size;
//   uint8_t *bytes = mb_write(m, &size);   // free both with mb_free(m) and free(bytes)
//
// The structs are open: a test that wants a malformed file changes a field before mb_write, or a
// byte after it (then mb_seal makes the checksum right again).
#ifndef SMR_TESTS_MODEL_FB_BUILDER_H
#define SMR_TESTS_MODEL_FB_BUILDER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "base/sum.h"
#include "model/fb.h"
#include "model/fb_record.h"
#include "model/flatbuffer.h"
#include "model/model.h"
#include "model/verify.h"
#include "ops/table/attrs.h"

enum { MB_MAX = 64, MB_MAX_EXPRS = 256, MB_SEGMENT_ALIGNMENT = 16384, MB_SEAL_BYTES = 16 };

/// Operator codes, MB_OP_ADD and so on.
enum {
#define SMR_OP(NAME, code, name, class, min_in, max_in, min_out, max_out, first, count, flags, \
               measured, dtypes, form, shapes)                                                 \
  MB_OP_##NAME = (code),
#include "ops/table/opdefs.inc"
#undef SMR_OP
};

// ---- the description of a model ----

struct mb_quant {
  float scales[MB_MAX];
  int32_t zero_points[MB_MAX];
  uint32_t count, zero_count;  // 0: not quantized
  int32_t axis;
  uint32_t block;
};

struct mb_attr {
  bool present;
  int64_t i;
  float f;
  int64_t ints[MB_MAX];
  float floats[MB_MAX];
  uint32_t exprs[MB_MAX];
  uint32_t count;
  const char *text;
  const struct smr_named *named;
};

struct mb_node {
  uint16_t op;
  uint8_t attrs_type;  // op, unless a test says otherwise
  bool more_attrs;     // write them as the other union's
  const char *name;
  int32_t inputs[MB_MAX];
  uint32_t outputs[MB_MAX];
  uint32_t input_count, output_count;
  struct mb_attr attrs[20];
  int32_t source;
  const char *absorbed[4];
  uint32_t absorbed_count;
};

struct mb_value {
  const char *name;
  uint8_t dtype;
  uint32_t dims[16];
  uint32_t rank;
  int32_t constant;
  struct mb_quant quant;
};

struct mb_symbol {
  const char *name;
  uint32_t expr;
  int64_t lower, upper;
};

struct mb_function {
  const char *name;
  struct smr_expr exprs[MB_MAX_EXPRS];
  struct smr_guard guards[MB_MAX];
  struct mb_value values[MB_MAX];
  struct mb_node nodes[MB_MAX];
  uint32_t inputs[MB_MAX], outputs[MB_MAX];
  const char *output_names[MB_MAX];  // all or none
  struct smr_binding reads[8], writes[8];
  struct mb_symbol symbols[16];
  struct mb_record records[4];
  const struct smr_answer_fields *answer;
  uint32_t expr_count, guard_count, value_count, node_count, input_count, output_count;
  uint32_t output_name_count, read_count, write_count, symbol_count, record_count;
};

struct mb_constant {
  const char *name;
  uint8_t dtype, layout;
  int64_t dims[16];
  uint32_t rank, groups, segment;
  uint64_t panel_stride, offset, size;
};

struct mb_variable {
  const char *name;
  uint8_t dtype;
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t rank;
  int32_t initial;
  struct mb_quant quant;
  bool grows;
  int32_t length;  // of one that grows
};

struct mb_golden_tensor {
  uint32_t index;
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t rank;
  int32_t constant;
  uint64_t digest;
  float abs_tol, rel_tol;
};

struct mb_golden {
  uint32_t function;
  struct mb_golden_tensor inputs[8], outputs[8];
  uint32_t input_count, output_count;
};

struct mb_segment {
  uint64_t offset, size;  // offset from the start of the segments' area until written
  bool absolute;          // offset is what the file says
  int32_t more_sums;      // extra checksums of a sealed file
  const char *name;       // NULL: "weights" or "more" in a sealed file, else none
};

struct mb_model {
  uint16_t schema_version;
  uint32_t min_runtime;
  struct mb_function *functions[40];
  uint32_t function_count;
  uint32_t entries[8];
  uint32_t entry_count;
  struct mb_constant constants[MB_MAX];
  uint32_t constant_count;
  struct mb_variable variables[8];
  uint32_t variable_count;
  struct mb_golden goldens[4];
  uint32_t golden_count;
  struct mb_segment segments[4];
  uint32_t segment_count;
  struct smr_metadata metadata[4];
  uint32_t metadata_count;
  struct smr_source sources[4];
  uint32_t source_count;
  const char *operators;  // NULL: the file does not say their names
  struct fbb data;        // bytes of the first segment
  bool sealed;            // with checksums of all segments, as files since 0.6 have them
};

/// An empty model of this schema: one segment, no function.
static inline struct mb_model *mb_new(void) {
  struct mb_model *m = (struct mb_model *)calloc(1, sizeof *m);
  assert(m != NULL);
  m->schema_version = 1;
  m->segment_count = 1;
  return m;
}

static inline void mb_free(struct mb_model *m) {
  for (uint32_t i = 0; i < m->function_count; i++) free(m->functions[i]);
  free(m->data.data);
  free(m);
}

/// Add a function; the first one is the entry.
static inline struct mb_function *mb_function(struct mb_model *m, const char *name) {
  struct mb_function *f = (struct mb_function *)calloc(1, sizeof *f);
  assert(f != NULL && m->function_count < 40);
  f->name = name;
  if (m->entry_count == 0) m->entries[m->entry_count++] = m->function_count;
  m->functions[m->function_count++] = f;
  return f;
}

// ---- expressions ----

static inline uint32_t mb_expr(struct mb_function *f, uint32_t op, int32_t a, int32_t b, int32_t c,
                               int64_t k) {
  assert(f->expr_count < MB_MAX_EXPRS);
  f->exprs[f->expr_count] = (struct smr_expr){.op = op, .a = a, .b = b, .c = c, .k = k};
  return f->expr_count++;
}
static inline uint32_t mb_const(struct mb_function *f, int64_t k) {
  return mb_expr(f, SMR_EXPR_CONST, 0, 0, 0, k);
}
static inline uint32_t mb_input_dim(struct mb_function *f, int32_t input, int32_t axis) {
  return mb_expr(f, SMR_EXPR_INPUT_DIM, input, axis, 0, 0);
}
/// `bound` is an expression or -1.
static inline uint32_t mb_read(struct mb_function *f, uint32_t value, int32_t element,
                               int32_t bound) {
  return mb_expr(f, SMR_EXPR_READ, (int32_t)value, element, bound, 0);
}
static inline uint32_t mb_born(struct mb_function *f, uint32_t node, int32_t output, int32_t axis,
                               int64_t bound) {
  return mb_expr(f, SMR_EXPR_BORN, (int32_t)node, output, axis, bound);
}
static inline uint32_t mb_binary(struct mb_function *f, enum smr_expr_op op, uint32_t a,
                                 uint32_t b) {
  return mb_expr(f, (uint32_t)op, (int32_t)a, (int32_t)b, 0, 0);
}

// ---- values, nodes, attributes ----

/// Add a value whose dims are expressions.
static inline uint32_t mb_value(struct mb_function *f, const char *name, uint8_t dtype,
                                uint32_t rank, const uint32_t *dims) {
  assert(f->value_count < MB_MAX && rank <= 16);
  struct mb_value *v = &f->values[f->value_count];
  *v = (struct mb_value){.name = name, .dtype = dtype, .rank = rank, .constant = -1};
  for (uint32_t i = 0; i < rank; i++) v->dims[i] = dims[i];
  return f->value_count++;
}

/// Add a value with static dims.
static inline uint32_t mb_static(struct mb_function *f, const char *name, uint8_t dtype,
                                 uint32_t rank, const int64_t *dims) {
  uint32_t exprs[16];
  for (uint32_t i = 0; i < rank; i++) exprs[i] = mb_const(f, dims[i]);
  return mb_value(f, name, dtype, rank, exprs);
}

static inline void mb_input(struct mb_function *f, uint32_t value) {
  f->inputs[f->input_count++] = value;
}
static inline void mb_output(struct mb_function *f, uint32_t value) {
  f->outputs[f->output_count++] = value;
}

static inline size_t mb_numel(const int64_t *dims, uint32_t rank) {
  size_t n = 1;
  for (uint32_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  return n;
}

/// Add a constant to the model; `bytes` bytes of data (0: what plain dims need).
static inline int32_t mb_data(struct mb_model *m, const char *name, uint8_t dtype, uint32_t rank,
                              const int64_t *dims, const void *data, size_t bytes) {
  assert(m->constant_count < MB_MAX);
  struct mb_constant *c = &m->constants[m->constant_count];
  *c = (struct mb_constant){.name = name, .dtype = dtype, .rank = rank, .groups = 1};
  for (uint32_t i = 0; i < rank; i++) c->dims[i] = dims[i];
  c->size = bytes != 0 ? bytes : mb_numel(dims, rank) * smr_dtype_bytes(dtype);
  c->offset = fbb_grow(&m->data, (size_t)c->size, 64);
  if (data != NULL) fbb_put(&m->data, (size_t)c->offset, data, (size_t)c->size);
  return (int32_t)m->constant_count++;
}

/// A value of `f` that is constant `constant` of the model.
static inline uint32_t mb_constant_value(struct mb_model *m, struct mb_function *f,
                                         int32_t constant) {
  const struct mb_constant *c = &m->constants[constant];
  const uint32_t v = mb_static(f, c->name, c->dtype, c->rank, c->dims);
  f->values[v].constant = constant;
  return v;
}

/// Add a node of the operator with this code. Input -1 is absent.
static inline struct mb_node *mb_node(struct mb_function *f, const char *name, uint16_t op,
                                      uint32_t input_count, const int32_t *inputs,
                                      uint32_t output_count, const uint32_t *outputs) {
  assert(f->node_count < MB_MAX);
  struct mb_node *n = &f->nodes[f->node_count++];
  *n = (struct mb_node){.op = op, .attrs_type = (uint8_t)op, .name = name, .source = -1};
  n->input_count = input_count;
  n->output_count = output_count;
  for (uint32_t i = 0; i < input_count; i++) n->inputs[i] = inputs[i];
  for (uint32_t i = 0; i < output_count; i++) n->outputs[i] = outputs[i];
  return n;
}

static inline struct mb_attr *mb_attr(struct mb_node *n, const char *name) {
  const struct smr_op *op = smr_op_find(n->op);
  for (uint32_t i = 0; op != NULL && i < op->attr_count; i++) {
    if (strcmp(smr_attr_name(&smr_attr_descs[op->attr_first + i]), name) == 0) {
      n->attrs[i].present = true;
      return &n->attrs[i];
    }
  }
  assert(0 && "the operator has no such attribute");
  abort();
}

/// int, bool, enum (index), dtype, function (index); of a dim the expression.
static inline void mb_set(struct mb_node *n, const char *name, int64_t value) {
  mb_attr(n, name)->i = value;
}
static inline void mb_set_f32(struct mb_node *n, const char *name, float value) {
  mb_attr(n, name)->f = value;
}
#define MB_SET_LIST(suffix, field, type)                                                  \
  static inline void mb_set_##suffix(struct mb_node *n, const char *name, uint32_t count, \
                                     const type *v) {                                     \
    struct mb_attr *a = mb_attr(n, name);                                                 \
    a->count = count;                                                                     \
    for (uint32_t i = 0; i < count; i++) a->field[i] = v[i];                              \
  }
MB_SET_LIST(ints, ints, int64_t)
MB_SET_LIST(floats, floats, float)
MB_SET_LIST(dims, exprs, uint32_t)
#undef MB_SET_LIST
static inline void mb_set_text(struct mb_node *n, const char *name, const char *text) {
  mb_attr(n, name)->text = text;
}

static inline void mb_set_named(struct mb_node *n, const char *name, uint32_t count,
                                const struct smr_named *v) {
  struct mb_attr *a = mb_attr(n, name);
  a->count = count;
  a->named = v;
}

/// Per-tensor quantization of a value.
static inline void mb_quantize(struct mb_quant *q, float scale, int32_t zero_point) {
  *q = (struct mb_quant){
      .scales = {scale}, .zero_points = {zero_point}, .count = 1, .zero_count = 1, .axis = -1};
}

// ---- writing ----

static inline size_t mb_write_quant(struct fbb *b, const struct mb_quant *q) {
  const size_t t = fbb_table(b, "rrii");
  fbb_i32(b, t, SMR_FB_QUANT_axis, q->axis);
  fbb_u32(b, t, SMR_FB_QUANT_block, q->block);
  fbb_list(b, t, SMR_FB_QUANT_scales, q->scales, q->count, 4, 4);
  fbb_list(b, t, SMR_FB_QUANT_zero_points, q->zero_points, q->zero_count, 4, 4);
  return t;
}

static inline size_t mb_write_value(struct fbb *b, const struct mb_value *v) {
  const bool quantized = v->quant.count != 0;
  const size_t t = fbb_table(b, quantized ? "rbrir" : "rbri");
  fbb_u8(b, t, SMR_FB_VALUE_dtype, v->dtype);
  fbb_i32(b, t, SMR_FB_VALUE_constant, v->constant);
  fbb_text(b, t, SMR_FB_VALUE_name, v->name);
  fbb_list(b, t, SMR_FB_VALUE_dims, v->dims, v->rank, 4, 4);
  if (quantized) {
    const size_t q = mb_write_quant(b, &v->quant);
    fbb_link(b, fbb_field(b, t, SMR_FB_VALUE_quant), q);
  }
  return t;
}

static inline char mb_attr_letter(uint8_t type) {
  switch ((enum smr_attr_type)type) {
    case SMR_ATTR_INT:
      return 'l';
    case SMR_ATTR_BOOL:
    case SMR_ATTR_ENUM:
    case SMR_ATTR_DTYPE:
      return 'b';
    case SMR_ATTR_F32:
    case SMR_ATTR_DIM:
    case SMR_ATTR_FUNCTION:
      return 'i';
    default:
      return 'r';
  }
}

static inline void mb_write_named(struct fbb *b, size_t t, uint32_t id, const struct mb_attr *a) {
  const size_t first = fbb_offsets(b, t, id, a->count);
  for (uint32_t i = 0; i < a->count; i++) {
    const struct smr_named *v = &a->named[i];
    const char layout[] = {'r',
                           'b',
                           v->ints != NULL ? 'r' : '-',
                           v->floats != NULL ? 'r' : '-',
                           v->text != NULL ? 'r' : '-',
                           '\0'};
    const size_t row = fbb_table(b, layout);
    fbb_link(b, first + 4 * (size_t)i, row);
    fbb_text(b, row, SMR_FB_NAMED_VALUE_name, v->name);
    fbb_u8(b, row, SMR_FB_NAMED_VALUE_kind, v->kind);
    if (v->ints != NULL) fbb_list(b, row, SMR_FB_NAMED_VALUE_ints, v->ints, v->int_count, 8, 8);
    if (v->floats != NULL)
      fbb_list(b, row, SMR_FB_NAMED_VALUE_floats, v->floats, v->float_count, 4, 4);
    if (v->text != NULL) fbb_text(b, row, SMR_FB_NAMED_VALUE_text, v->text);
  }
}

static inline void mb_write_attr(struct fbb *b, size_t t, uint32_t id, uint8_t type,
                                 const struct mb_attr *a) {
  switch ((enum smr_attr_type)type) {
    case SMR_ATTR_INT:
      fbb_u64(b, t, id, (uint64_t)a->i);
      break;
    case SMR_ATTR_BOOL:
    case SMR_ATTR_ENUM:
    case SMR_ATTR_DTYPE:
      fbb_u8(b, t, id, (unsigned)a->i);
      break;
    case SMR_ATTR_F32:
      fbb_f32(b, t, id, a->f);
      break;
    case SMR_ATTR_DIM:
    case SMR_ATTR_FUNCTION:
      fbb_u32(b, t, id, (uint32_t)a->i);
      break;
    case SMR_ATTR_INTS:
      fbb_list(b, t, id, a->ints, a->count, 8, 8);
      break;
    case SMR_ATTR_FLOATS:
      fbb_list(b, t, id, a->floats, a->count, 4, 4);
      break;
    case SMR_ATTR_DIMS:
      fbb_list(b, t, id, a->exprs, a->count, 4, 4);
      break;
    case SMR_ATTR_STRING:
      fbb_text(b, t, id, a->text);
      break;
    case SMR_ATTR_NAMED:
      mb_write_named(b, t, id, a);
      break;
  }
}

/// The attribute table of a node, 0 when no attribute is set.
static inline size_t mb_write_attrs(struct fbb *b, const struct mb_node *n) {
  const struct smr_op *op = smr_op_find(n->op);
  char layout[21] = "";
  bool any = false;
  if (op == NULL) return 0;
  const struct smr_attr_desc *descs = &smr_attr_descs[op->attr_first];
  for (uint32_t i = 0; i < op->attr_count; i++) {
    layout[i] = n->attrs[i].present ? mb_attr_letter(descs[i].type) : '-';
    any = any || n->attrs[i].present;
  }
  if (!any) return 0;
  const size_t t = fbb_table(b, layout);
  for (uint32_t i = 0; i < op->attr_count; i++) {
    if (n->attrs[i].present) mb_write_attr(b, t, i, descs[i].type, &n->attrs[i]);
  }
  return t;
}

static inline size_t mb_write_node(struct fbb *b, const struct mb_node *n) {
  bool any = false;
  for (uint32_t i = 0; i < 20; i++) any = any || n->attrs[i].present;
  const bool more = n->more_attrs;
  const size_t t = fbb_table(b, any && more ? "hrr--rirbr" : any ? "hrrbrrir" : "hrr--rir");
  fbb_u16(b, t, SMR_FB_NODE_op, n->op);
  fbb_i32(b, t, SMR_FB_NODE_source, n->source);
  fbb_list(b, t, SMR_FB_NODE_inputs, n->inputs, n->input_count, 4, 4);
  fbb_list(b, t, SMR_FB_NODE_outputs, n->outputs, n->output_count, 4, 4);
  fbb_text(b, t, SMR_FB_NODE_name, n->name);
  fbb_texts(b, t, SMR_FB_NODE_absorbed, n->absorbed, n->absorbed_count);
  if (any) {
    fbb_u8(b, t, more ? SMR_FB_NODE_more_attrs_type : SMR_FB_NODE_attrs_type, n->attrs_type);
    const size_t attrs = mb_write_attrs(b, n);
    fbb_link(b, fbb_field(b, t, more ? SMR_FB_NODE_more_attrs : SMR_FB_NODE_attrs), attrs);
  }
  return t;
}

static inline void mb_write_bindings(struct fbb *b, size_t t, uint32_t id,
                                     const struct smr_binding *bindings, uint32_t count) {
  const size_t first = fbb_offsets(b, t, id, count);
  for (uint32_t i = 0; i < count; i++) {
    const size_t binding = fbb_table(b, "ii");
    fbb_u32(b, binding, SMR_FB_BINDING_position, bindings[i].position);
    fbb_u32(b, binding, SMR_FB_BINDING_variable, bindings[i].variable);
    fbb_link(b, first + 4 * (size_t)i, binding);
  }
}

static inline void mb_write_small_tables(struct fbb *b, size_t t, const struct mb_function *f) {
  size_t first = fbb_offsets(b, t, SMR_FB_FUNCTION_guards, f->guard_count);
  for (uint32_t i = 0; i < f->guard_count; i++) {
    const struct smr_guard *guard = &f->guards[i];
    const size_t at = fbb_table(b, "biiir");
    fbb_u8(b, at, SMR_FB_GUARD_relation, guard->relation);
    fbb_u32(b, at, SMR_FB_GUARD_a, guard->a);
    fbb_u32(b, at, SMR_FB_GUARD_b, guard->b);
    fbb_i32(b, at, SMR_FB_GUARD_node, guard->node);
    fbb_text(b, at, SMR_FB_GUARD_message, guard->message != NULL ? guard->message : "");
    fbb_link(b, first + 4 * (size_t)i, at);
  }
  first = fbb_offsets(b, t, SMR_FB_FUNCTION_symbols, f->symbol_count);
  for (uint32_t i = 0; i < f->symbol_count; i++) {
    const size_t at = fbb_table(b, "rill");
    fbb_u32(b, at, SMR_FB_SYMBOL_expr, f->symbols[i].expr);
    fbb_u64(b, at, SMR_FB_SYMBOL_lower, (uint64_t)f->symbols[i].lower);
    fbb_u64(b, at, SMR_FB_SYMBOL_upper, (uint64_t)f->symbols[i].upper);
    fbb_text(b, at, SMR_FB_SYMBOL_name, f->symbols[i].name);
    fbb_link(b, first + 4 * (size_t)i, at);
  }
  mb_write_bindings(b, t, SMR_FB_FUNCTION_reads, f->reads, f->read_count);
  mb_write_bindings(b, t, SMR_FB_FUNCTION_writes, f->writes, f->write_count);
}

static inline size_t mb_write_function(struct fbb *b, const struct mb_function *f) {
  const size_t t = fbb_table(b, f->answer != NULL      ? "rrrrrrrrrrrrr"
                                : f->record_count != 0 ? "rrrrrrrrrrrr"
                                                       : "rrrrrrrrrrr");
  fbb_text(b, t, SMR_FB_FUNCTION_name, f->name);
  fbb_list(b, t, SMR_FB_FUNCTION_exprs, f->exprs, f->expr_count, sizeof f->exprs[0], 8);
  fbb_list(b, t, SMR_FB_FUNCTION_inputs, f->inputs, f->input_count, 4, 4);
  fbb_list(b, t, SMR_FB_FUNCTION_outputs, f->outputs, f->output_count, 4, 4);
  fbb_texts(b, t, SMR_FB_FUNCTION_output_names, f->output_names, f->output_name_count);
  FBB_EACH(b, t, SMR_FB_FUNCTION_values, f->value_count, mb_write_value(b, &f->values[i]));
  FBB_EACH(b, t, SMR_FB_FUNCTION_nodes, f->node_count, mb_write_node(b, &f->nodes[i]));
  mb_write_small_tables(b, t, f);
  if (f->record_count != 0 || f->answer != NULL)
    mb_write_records(b, t, f->records, f->record_count);
  if (f->answer != NULL) mb_write_answer(b, t, f->answer);
  return t;
}

static inline size_t mb_write_constant(struct fbb *b, const struct mb_constant *c) {
  const size_t t = fbb_table(b, "rbrbilill");
  fbb_u8(b, t, SMR_FB_CONSTANT_dtype, c->dtype);
  fbb_u8(b, t, SMR_FB_CONSTANT_layout, c->layout);
  fbb_u32(b, t, SMR_FB_CONSTANT_groups, c->groups);
  fbb_u64(b, t, SMR_FB_CONSTANT_panel_stride, c->panel_stride);
  fbb_u32(b, t, SMR_FB_CONSTANT_segment, c->segment);
  fbb_u64(b, t, SMR_FB_CONSTANT_offset, c->offset);
  fbb_u64(b, t, SMR_FB_CONSTANT_size, c->size);
  fbb_text(b, t, SMR_FB_CONSTANT_name, c->name);
  fbb_list(b, t, SMR_FB_CONSTANT_dims, c->dims, c->rank, 8, 8);
  return t;
}

static inline size_t mb_write_variable(struct fbb *b, const struct mb_variable *v) {
  const bool quantized = v->quant.count != 0;
  const size_t t = fbb_table(b, v->grows ? "rbri-i" : quantized ? "rbrir" : "rbri");
  if (v->grows) fbb_i32(b, t, SMR_FB_VARIABLE_length, v->length);
  fbb_u8(b, t, SMR_FB_VARIABLE_dtype, v->dtype);
  fbb_i32(b, t, SMR_FB_VARIABLE_initial, v->initial);
  fbb_text(b, t, SMR_FB_VARIABLE_name, v->name);
  fbb_list(b, t, SMR_FB_VARIABLE_dims, v->dims, v->rank, 8, 8);
  if (quantized) {
    const size_t q = mb_write_quant(b, &v->quant);
    fbb_link(b, fbb_field(b, t, SMR_FB_VARIABLE_quant), q);
  }
  return t;
}

static inline void mb_write_golden_tensors(struct fbb *b, size_t t, uint32_t id,
                                           const struct mb_golden_tensor *tensors, uint32_t count) {
  const size_t first = fbb_offsets(b, t, id, count);
  for (uint32_t i = 0; i < count; i++) {
    const struct mb_golden_tensor *g = &tensors[i];
    const size_t at = fbb_table(b, "irilii");
    fbb_u32(b, at, SMR_FB_GOLDEN_TENSOR_index, g->index);
    fbb_i32(b, at, SMR_FB_GOLDEN_TENSOR_constant, g->constant);
    fbb_u64(b, at, SMR_FB_GOLDEN_TENSOR_digest, g->digest);
    fbb_f32(b, at, SMR_FB_GOLDEN_TENSOR_abs_tol, g->abs_tol);
    fbb_f32(b, at, SMR_FB_GOLDEN_TENSOR_rel_tol, g->rel_tol);
    fbb_list(b, at, SMR_FB_GOLDEN_TENSOR_dims, g->dims, g->rank, 8, 8);
    fbb_link(b, first + 4 * (size_t)i, at);
  }
}

static inline size_t mb_write_golden(struct fbb *b, const struct mb_golden *g) {
  const size_t t = fbb_table(b, "irr");
  fbb_u32(b, t, SMR_FB_GOLDEN_function, g->function);
  mb_write_golden_tensors(b, t, SMR_FB_GOLDEN_inputs, g->inputs, g->input_count);
  mb_write_golden_tensors(b, t, SMR_FB_GOLDEN_outputs, g->outputs, g->output_count);
  return t;
}

/// Where the offset and the checksums of a segment are, which are known last.
struct mb_place {
  size_t offset, sums;
  uint64_t size;
};

static inline void mb_write_segments(struct fbb *b, size_t root, const struct mb_model *m,
                                     struct mb_place *places) {
  const size_t first = fbb_offsets(b, root, SMR_FB_MODEL_segments, m->segment_count);
  for (uint32_t i = 0; i < m->segment_count; i++) {
    const uint64_t size = i == 0 && m->segments[0].size == 0 ? m->data.size : m->segments[i].size;
    const char *name = m->segments[i].name;
    if (name == NULL && m->sealed) name = i == 0 ? "weights" : "more";
    const size_t at = fbb_table(b, m->sealed ? "llrr" : name != NULL ? "llr" : "ll");
    fbb_u64(b, at, SMR_FB_SEGMENT_size, size);
    fbb_link(b, first + 4 * (size_t)i, at);
    places[i].offset = fbb_field(b, at, SMR_FB_SEGMENT_offset);
    places[i].size = size;
    if (name != NULL) fbb_text(b, at, SMR_FB_SEGMENT_name, name);
    if (!m->sealed) continue;
    const size_t sums = (size_t)(size + SMR_SUM_CHUNK - 1) / SMR_SUM_CHUNK;
    const uint32_t count = (uint32_t)((int32_t)sums + m->segments[i].more_sums);
    fbb_list(b, at, SMR_FB_SEGMENT_sums, NULL, count, 8, 8);
    places[i].sums = b->size - 8 * (size_t)count;
  }
}

static inline size_t mb_write_metadata(struct fbb *b, const struct smr_metadata *m) {
  const size_t t = fbb_table(b, "rr");
  fbb_text(b, t, SMR_FB_KEY_VALUE_key, m->key);
  fbb_text(b, t, SMR_FB_KEY_VALUE_value, m->value);
  return t;
}

static inline size_t mb_write_source(struct fbb *b, const struct smr_source *s) {
  const size_t t = fbb_table(b, "rir");
  fbb_u32(b, t, SMR_FB_SOURCE_line, s->line);
  fbb_text(b, t, SMR_FB_SOURCE_file, s->file);
  fbb_text(b, t, SMR_FB_SOURCE_detail, s->detail);
  return t;
}

/// Write the checksum of a file's program part into its header.
static inline void mb_seal(uint8_t *bytes) {
  uint64_t program;
  memcpy(&program, bytes + 8, 8);
  const uint64_t sum = smr_fnv(SMR_FNV_START, bytes + 24, (size_t)program - 24);
  memcpy(bytes + 16, &sum, 8);
}

/// The file, in a block of malloc's of exactly *size bytes.
static inline uint8_t *mb_write(const struct mb_model *m, size_t *size) {
  struct fbb buffer = {0}, *b = &buffer;
  struct mb_place places[4];
  fbb_grow(b, SMR_FB_HEADER_BYTES, 1);
  const size_t root = fbb_table(b, m->operators != NULL ? "hirrrrrrrrr--r" : "hirrrrrrrrr");
  fbb_link(b, 0, root);
  fbb_u16(b, root, SMR_FB_MODEL_schema_version, m->schema_version);
  fbb_u32(b, root, SMR_FB_MODEL_min_runtime, m->min_runtime);
  fbb_text(b, root, SMR_FB_MODEL_producer, "fb_builder.h");
  if (m->operators != NULL) fbb_text(b, root, SMR_FB_MODEL_operators, m->operators);
  fbb_list(b, root, SMR_FB_MODEL_entries, m->entries, m->entry_count, 4, 4);
  mb_write_segments(b, root, m, places);
  FBB_EACH(b, root, SMR_FB_MODEL_metadata, m->metadata_count,
           mb_write_metadata(b, &m->metadata[i]));
  FBB_EACH(b, root, SMR_FB_MODEL_sources, m->source_count, mb_write_source(b, &m->sources[i]));
  FBB_EACH(b, root, SMR_FB_MODEL_functions, m->function_count,
           mb_write_function(b, m->functions[i]));
  FBB_EACH(b, root, SMR_FB_MODEL_constants, m->constant_count,
           mb_write_constant(b, &m->constants[i]));
  FBB_EACH(b, root, SMR_FB_MODEL_variables, m->variable_count,
           mb_write_variable(b, &m->variables[i]));
  FBB_EACH(b, root, SMR_FB_MODEL_golden, m->golden_count, mb_write_golden(b, &m->goldens[i]));
  if (m->sealed) fbb_grow(b, MB_SEAL_BYTES, 1);
  fbb_grow(b, 0, 64);
  const uint64_t program = b->size;
  uint64_t area = program;
  if (m->data.size != 0) area = fbb_grow(b, m->data.size, MB_SEGMENT_ALIGNMENT);
  if (m->data.size != 0) fbb_put(b, (size_t)area, m->data.data, m->data.size);
  for (uint32_t i = 0; i < m->segment_count; i++) {
    const uint64_t offset = m->segments[i].offset + (m->segments[i].absolute ? 0 : area);
    fbb_put(b, places[i].offset, &offset, 8);
    for (uint64_t at = 0; m->sealed && at < places[i].size; at += SMR_SUM_CHUNK) {
      const uint64_t left = places[i].size - at;
      const uint64_t sum =
          smr_sum(b->data + offset + at, left < SMR_SUM_CHUNK ? (size_t)left : SMR_SUM_CHUNK);
      if (m->segments[i].more_sums == 0)
        fbb_put(b, places[i].sums + at / SMR_SUM_CHUNK * 8, &sum, 8);
    }
  }
  const uint64_t total = b->size;
  fbb_put(b, 4, "SMRA", 4);
  fbb_put(b, 8, &program, 8);
  fbb_put(b, 24, &total, 8);
  if (m->sealed) fbb_put(b, (size_t)program - MB_SEAL_BYTES, b->data, MB_SEAL_BYTES);
  mb_seal(b->data);
  *size = b->size;
  uint8_t *exact = (uint8_t *)malloc(b->size);
  assert(exact != NULL);
  memcpy(exact, b->data, b->size);
  free(b->data);
  return exact;
}

#endif
