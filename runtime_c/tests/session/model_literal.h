// SPDX-License-Identifier: Apache-2.0
// Models made in memory, as the decoder would make them, for tests of the session.
#ifndef SMR_TESTS_SESSION_MODEL_LITERAL_H
#define SMR_TESTS_SESSION_MODEL_LITERAL_H

#include "model/model.h"

enum {
  LITERAL_FUNCTIONS = 6,
  LITERAL_EXPRS = 64,
  LITERAL_VALUES = 64,
  LITERAL_NODES = 48,
  LITERAL_PORTS = 16,
};

/// A function under construction. Everything has room for LITERAL_* entries; running out aborts.
struct literal_function {
  struct smr_function f;
  struct smr_expr exprs[LITERAL_EXPRS];
  uint32_t expr_stage[LITERAL_EXPRS];
  struct smr_guard guards[LITERAL_PORTS];
  uint32_t guard_stage[LITERAL_PORTS];
  struct smr_value values[LITERAL_VALUES];
  uint32_t dims[LITERAL_VALUES][SAMARA_MAX_RANK];
  uint32_t inputs[LITERAL_PORTS], outputs[LITERAL_PORTS];
  const char *output_names[LITERAL_PORTS];
  struct smr_node nodes[LITERAL_NODES];
  int32_t node_inputs[LITERAL_NODES][LITERAL_PORTS];
  uint32_t node_outputs[LITERAL_NODES][LITERAL_PORTS];
  struct smr_node_attr attrs[LITERAL_NODES][LITERAL_PORTS];
  uint32_t attr_exprs[LITERAL_NODES][LITERAL_PORTS][SAMARA_MAX_RANK];
  struct smr_binding reads[LITERAL_PORTS], writes[LITERAL_PORTS];
  struct smr_symbol symbols[LITERAL_PORTS];
  int32_t user_inputs[LITERAL_PORTS], user_outputs[LITERAL_PORTS];
};

struct literal {
  samara_model model;
  struct smr_function functions[LITERAL_FUNCTIONS];
  struct literal_function *parts[LITERAL_FUNCTIONS];
  uint32_t entries[LITERAL_FUNCTIONS];
  struct smr_variable variables[LITERAL_PORTS];
  struct smr_constant constants[LITERAL_PORTS];
};

/// An empty model. literal_free releases it.
struct literal *literal_new(void);
void literal_free(struct literal *literal);
/// Functions: callees before callers; an entry can be run by a session.
struct literal_function *literal_add(struct literal *literal, const char *name, bool is_entry);
/// Cut into stages and publish. Aborts when the stages do not work out. The model belongs to
/// `literal`.
const samara_model *literal_finish(struct literal *literal);

// Expressions; each returns its index.
uint32_t literal_int(struct literal_function *f, int64_t k);
uint32_t literal_expr(struct literal_function *f, enum smr_expr_op op, int32_t a, int32_t b,
                      int32_t c, int64_t k);
/// A symbol: axis of an input that is already there, with an upper bound (INT64_MAX: none).
uint32_t literal_symbol(struct literal_function *f, const char *name, int32_t input, int32_t axis,
                        int64_t upper);

/// A value; `...` are `rank` expressions (uint32_t).
uint32_t literal_value(struct literal_function *f, const char *name, uint8_t dtype, uint32_t rank,
                       ...);
/// A float32 value of one dim.
uint32_t literal_vector(struct literal_function *f, const char *name, uint32_t dim);
/// A constant of the model as a value of the function; `...` are `rank` ints. Borrows `data`.
uint32_t literal_constant(struct literal *literal, struct literal_function *f, const char *name,
                          uint8_t dtype, const void *data, uint32_t rank, ...);
/// Make a value the next input (returns the value) or output (returns its position).
uint32_t literal_input(struct literal_function *f, uint32_t value);
uint32_t literal_output(struct literal_function *f, uint32_t value, const char *name);

/// A node; inputs are value ids or -1, both lists end with LITERAL_END.
#define LITERAL_END (-2)
uint32_t literal_node(struct literal_function *f, const struct smr_op *op, const char *name,
                      const int64_t *inputs, const int64_t *outputs);
#define LITERAL_LIST(...) ((const int64_t[]){__VA_ARGS__, LITERAL_END})
#define LITERAL_NONE ((const int64_t[]){LITERAL_END})
/// A node whose only output is a new float32 value of one dim. Returns that.
uint32_t literal_map(struct literal_function *f, const struct smr_op *op, const char *name,
                     const int64_t *inputs, const char *output, uint32_t dim);
/// Set an attribute of a node by name.
void literal_attr(struct literal_function *f, uint32_t node, const char *name,
                  struct smr_attr value);
/// Set a dims attribute; `...` are `count` expressions (uint32_t).
void literal_attr_dims(struct literal_function *f, uint32_t node, const char *name, uint32_t count,
                       ...);

/// A variable with an initial constant (or -1).
uint32_t literal_variable(struct literal *literal, const char *name, uint8_t dtype,
                          const void *initial, uint32_t rank, const int64_t *dims);
/// Make a variable grow by another one's count.
void literal_grow(struct literal *literal, uint32_t variable, uint32_t length);
void literal_bind(struct literal_function *f, bool write, uint32_t position, uint32_t variable);

/// A session. Aborts, with the error printed, where there is none. Sets struct_size.
samara_session *literal_session(const samara_model *model, samara_session_options options);
/// The same of the finished `literal`, with default options.
samara_session *literal_open(struct literal *literal);
/// Destroy the session and release its model.
void literal_close(samara_session *session, struct literal *literal);
/// Resize input `index` to [n]. The other inputs keep their dims.
samara_status literal_resize(samara_session *session, size_t index, int64_t n);
/// A pool. Aborts where there is none.
samara_pool *literal_pool(size_t threads);
/// Set input `index` of a session, float32; false (and a message) on failure.
bool literal_feed(samara_session *session, size_t index, const float *data, size_t count);
/// Compare output `index` with `count` float32; false with a message.
bool literal_expect(samara_session *session, size_t index, const float *want, size_t count);
/// Run, printing the error when it fails.
samara_status literal_run(samara_session *session);
/// Run, then literal_expect.
bool literal_gives(samara_session *session, size_t index, const float *want, size_t count);

// ---- an allocator that counts and fails ----

struct literal_memory {
  samara_allocator allocator;
  size_t calls;    // allocations asked for
  size_t fail_at;  // the call that fails, from 1; 0: none
  bool stays_out;  // those after it fail too
  size_t live;     // blocks not released
};

/// Its allocator points at itself: keep it where it is.
void literal_memory_init(struct literal_memory *memory);
/// literal_open with this allocator, which it initialises.
samara_session *literal_counted(struct literal *literal, struct literal_memory *memory);

#endif
