// SPDX-License-Identifier: Apache-2.0
// The memory rows of a session: their sums equal its counts, and they do not overlap.
#include "base/fp.h"

#include <samara/samara_experimental.h>

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

enum { ROWS_MAX = 32 };

static samara_status rows_prepare(struct smr_job *job) {
  job->tiles = 1;
  job->scratch_bytes = 100;
  job->thread_scratch_bytes = 40;
  return SAMARA_OK;
}

static samara_status rows_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)begin, (void)end, (void)scratch;
  memset(job->outputs[0]->data, 0, job->outputs[0]->size_bytes);
  return SAMARA_OK;
}

static const struct smr_op_funcs rows_funcs = {.prepare = rows_prepare, .run = rows_run};

// x -> a -> b, y = f(a, b), and a variable that is read and written.
static struct literal *rows_model(struct smr_op *op) {
  static const float zeros[16];
  const struct smr_op *given = smr_op_find(SMR_CODE_NEG);
  *op = *given;
  op->funcs = &rows_funcs;
  op->flags &= (uint8_t)~SMR_OP_INPLACE;
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 500), m = literal_int(f, 16);
  const int32_t x = (int32_t)literal_vector(f, "x", n);
  const int32_t s = (int32_t)literal_vector(f, "s", m);
  const int32_t a = (int32_t)literal_vector(f, "a", n);
  const int32_t b = (int32_t)literal_vector(f, "b", n);
  const int32_t y = (int32_t)literal_vector(f, "y", n);
  const int32_t t = (int32_t)literal_vector(f, "t", m);
  literal_input(f, (uint32_t)x);
  literal_input(f, (uint32_t)s);
  literal_node(f, op, "make_a", LITERAL_LIST(x), LITERAL_LIST(a));
  literal_node(f, op, "make_b", LITERAL_LIST(a), LITERAL_LIST(b));
  literal_node(f, op, "make_y", LITERAL_LIST(b), LITERAL_LIST(y));
  literal_node(f, op, "make_t", LITERAL_LIST(s), LITERAL_LIST(t));
  literal_output(f, (uint32_t)y, "y");
  literal_output(f, (uint32_t)t, "t");
  const int64_t dims[] = {16};
  const uint32_t v = literal_variable(l, "state", SAMARA_FLOAT32, zeros, 1, dims);
  literal_bind(f, false, 1, v);
  literal_bind(f, true, 1, v);
  return l;
}

static size_t rows_sum(const samara_memory_row *rows, size_t count, samara_memory_kind from,
                       samara_memory_kind to) {
  size_t sum = 0;
  for (size_t i = 0; i < count; i++)
    if (rows[i].kind >= (uint32_t)from && rows[i].kind <= (uint32_t)to)
      sum += (size_t)rows[i].size_bytes;
  return sum;
}

static const samara_memory_row *rows_find(const samara_memory_row *rows, size_t count,
                                          samara_memory_kind kind, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (rows[i].kind == (uint32_t)kind && strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

SMR_TEST(rows_add_up_to_what_the_session_counts) {
  struct smr_op op;
  struct literal *l = rows_model(&op);
  samara_meter meter;
  samara_meter_start(&meter, NULL);
  samara_session *s =
      literal_session(literal_finish(l), (samara_session_options){.allocator = &meter.allocator});
  samara_memory_row rows[ROWS_MAX];
  size_t count = 0;
  REQUIRE(samara_session_memory(s, rows, ROWS_MAX, &count) == SAMARA_OK);
  REQUIRE(count <= ROWS_MAX);
  CHECK_EQ_INT(rows_sum(rows, count, SAMARA_MEMORY_ARENA, SAMARA_MEMORY_BLOCK),
               samara_session_arena_bytes(s));
  CHECK_EQ_INT(rows_sum(rows, count, SAMARA_MEMORY_ARENA, SAMARA_MEMORY_STRUCTURE),
               samara_session_total_bytes(s));
  CHECK_EQ_INT(samara_session_total_bytes(s), meter.live_bytes);
  CHECK_EQ_INT(rows_sum(rows, count, SAMARA_MEMORY_VARIABLE, SAMARA_MEMORY_VARIABLE), 2 * 64);

  // make_b: a, b and its scratch live; y takes the place of a.
  const samara_memory_row *a = rows_find(rows, count, SAMARA_MEMORY_TENSOR, "a");
  const samara_memory_row *b = rows_find(rows, count, SAMARA_MEMORY_TENSOR, "b");
  const samara_memory_row *y = rows_find(rows, count, SAMARA_MEMORY_TENSOR, "y");
  const samara_memory_row *scratch = rows_find(rows, count, SAMARA_MEMORY_SCRATCH, "make_b");
  const samara_memory_row *arena = rows_find(rows, count, SAMARA_MEMORY_ARENA, "arena");
  REQUIRE(a != NULL && b != NULL && y != NULL && scratch != NULL && arena != NULL);
  CHECK_EQ_INT(a->first, 0);
  CHECK_EQ_INT(a->last, 1);
  CHECK_EQ_INT(y->last, 3);
  CHECK_EQ_INT(a->size_bytes, 2048);
  CHECK_EQ_INT(scratch->size_bytes, 128 + 64);
  CHECK_EQ_INT(scratch->thread_bytes, 64);
  CHECK_EQ_INT(scratch->first, 1);
  CHECK_EQ_INT(arena->size_bytes, 2 * 2048 + 192);
  CHECK_STR(a->function, "main");
  CHECK(a->offset != b->offset);
  CHECK(rows_find(rows, count, SAMARA_MEMORY_TENSOR, "t") == NULL);  // its place is the variable's

  size_t again = 0;
  CHECK_EQ_INT(samara_session_memory(s, NULL, 0, &again), SAMARA_OK);
  CHECK_EQ_INT(again, count);
  rows[1].name = "untouched";
  CHECK_EQ_INT(samara_session_memory(s, rows, 1, &again), SAMARA_OK);
  CHECK_EQ_INT(again, count);
  CHECK_STR(rows[1].name, "untouched");
  CHECK_EQ_INT(samara_session_memory(s, NULL, 1, &again), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_memory(s, rows, 1, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_memory(NULL, rows, 1, &again), SAMARA_BAD_ARGUMENT);
  samara_session_destroy(s);
  CHECK_EQ_INT(meter.live_bytes, 0);
  literal_free(l);
}

SMR_TEST(a_session_without_shapes_has_no_rows) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t x = literal_vector(f, "x", literal_expr(f, SMR_EXPR_INPUT_DIM, 0, 0, 0, 0));
  literal_input(f, x);
  literal_symbol(f, "n", 0, 0, INT64_MAX);
  const uint32_t y = literal_vector(f, "y", f->values[x].dims[0]);
  literal_node(f, smr_op_find(SMR_CODE_NEG), "n", LITERAL_LIST(x), LITERAL_LIST(y));
  literal_output(f, y, "y");
  samara_session *s = literal_open(l);
  size_t count = 7;
  CHECK_EQ_INT(samara_session_memory(s, NULL, 0, &count), SAMARA_BAD_STATE);
  CHECK_EQ_INT(literal_resize(s, 0, 9), SAMARA_OK);
  CHECK_EQ_INT(samara_session_memory(s, NULL, 0, &count), SAMARA_OK);
  CHECK(count > 2);
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(rows_add_up_to_what_the_session_counts);
              RUN(a_session_without_shapes_has_no_rows))
