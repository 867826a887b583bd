// SPDX-License-Identifier: Apache-2.0
// Which nodes only add rows to a variable that grows: every condition broken once.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"
#include "session/plan/plan.h"

// next = write_rows(cache, rows, length), and count = length + step. What one of `broken` changes:
enum {
  SOUND,
  OTHER_OP,
  NOT_READ,
  NO_LENGTH,
  NOT_WRITTEN,
  WRITTEN_ELSEWHERE,
  OUTPUT_TWICE,
  OTHER_START,
  START_NOT_READ,
  READ_BY_A_NODE,
  READ_BY_ITS_NODE,
  AN_OUTPUT,
  READ_BY_A_DIM,
  BREAKS
};

static bool adds_rows(int broken) {
  static const int64_t cache_dims[] = {1, 4, 2}, none = 0;
  struct literal *l = literal_new();
  literal_variable(l, "cache", SAMARA_FLOAT32, NULL, 3, cache_dims);
  literal_variable(l, "length", SAMARA_INT64, &none, 0, NULL);
  literal_variable(l, "other", SAMARA_FLOAT32, NULL, 3, cache_dims);
  literal_variable(l, "start", SAMARA_INT64, &none, 0, NULL);
  if (broken != NO_LENGTH) literal_grow(l, 0, 1);
  literal_grow(l, 2, 1);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t one = literal_int(f, 1), two = literal_int(f, 2), four = literal_int(f, 4);
  uint32_t cache[3], number[4];
  for (uint32_t i = 0; i < 3; i++)  // cache, other, rows
    cache[i] = literal_input(
        f, literal_value(f, "cache", SAMARA_FLOAT32, 3, one, i < 2 ? four : one, two));
  for (uint32_t i = 0; i < 3; i++)  // length, start, step
    number[i] = literal_input(f, literal_value(f, "number", SAMARA_INT64, 0));
  const uint32_t next = literal_value(f, "next", SAMARA_FLOAT32, 3, one, four, two);
  const uint32_t longer = literal_value(f, "longer", SAMARA_INT64, 0);
  const uint32_t y = literal_value(f, "y", SAMARA_FLOAT32, 3, one, four, two);
  const int64_t start = broken == OTHER_START      ? number[1]
                        : broken == START_NOT_READ ? number[2]
                                                   : number[0];
  const int64_t rows = broken == READ_BY_ITS_NODE ? cache[0] : cache[2];
  const uint32_t node =
      literal_node(f, smr_op_find(broken == OTHER_OP ? SMR_CODE_ADD : SMR_CODE_WRITE_ROWS), "write",
                   LITERAL_LIST(cache[0], rows, start), LITERAL_LIST(next));
  literal_node(f, smr_op_find(SMR_CODE_ADD), "sum",
               LITERAL_LIST(broken == READ_BY_A_NODE ? cache[0] : cache[1], next), LITERAL_LIST(y));
  literal_node(f, smr_op_find(SMR_CODE_ADD), "count", LITERAL_LIST(number[0], number[2]),
               LITERAL_LIST(longer));
  if (broken == READ_BY_A_DIM) literal_expr(f, SMR_EXPR_READ, (int32_t)cache[0], 0, -1, 0);
  const uint32_t out = literal_output(f, next, "next");
  literal_output(f, longer, "longer");
  literal_output(f, y, "y");
  if (broken == OUTPUT_TWICE) literal_output(f, next, "again");
  if (broken == AN_OUTPUT) literal_output(f, cache[0], "old");
  if (broken != NOT_READ) literal_bind(f, false, 0, 0);
  literal_bind(f, false, 1, 2);
  literal_bind(f, false, 3, 1);
  literal_bind(f, false, 4, 3);
  literal_bind(f, true, 1, 1);
  if (broken != NOT_WRITTEN) literal_bind(f, true, out, broken == WRITTEN_ELSEWHERE ? 2 : 0);
  const bool adds = smr_views_adds_rows(&f->f, l->variables, &f->nodes[node]);
  CHECK(!smr_views_adds_rows(&f->f, l->variables, &f->nodes[node + 1]));
  literal_free(l);
  return adds;
}

SMR_TEST(rows_are_added_only_where_nothing_else_sees_it) {
  for (int broken = SOUND; broken < BREAKS; broken++)
    if (!CHECK_EQ_INT(adds_rows(broken), broken == SOUND)) fprintf(stderr, "  break %d\n", broken);
}

// ---- rings: a run that fails and comes again must find all that its windows see ----

struct ring {
  int64_t window;  // of the attention that reads it; 0: none
  int64_t rows;    // written at once; 0: those of a symbol
  int64_t most;    // of the symbol
  bool other;      // another node reads the ring, too
};

// Whether a ring of 8 rows is written in place.
static bool ring_adds_rows(struct ring r) {
  static const int64_t cache_dims[] = {1, 8, 1, 2}, none = 0;
  struct literal *l = literal_new();
  literal_variable(l, "cache", SAMARA_FLOAT32, NULL, 4, cache_dims);
  literal_variable(l, "length", SAMARA_INT64, &none, 0, NULL);
  literal_grow(l, 0, 1);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t one = literal_int(f, 1), two = literal_int(f, 2), room = literal_int(f, 8);
  const uint32_t count =
      r.rows != 0 ? literal_int(f, r.rows) : literal_symbol(f, "rows", 0, 1, r.most);
  const uint32_t rows =
      literal_input(f, literal_value(f, "rows", SAMARA_FLOAT32, 4, one, count, one, two));
  const uint32_t cache =
      literal_input(f, literal_value(f, "cache", SAMARA_FLOAT32, 4, one, room, one, two));
  const uint32_t length = literal_input(f, literal_value(f, "length", SAMARA_INT64, 0));
  const uint32_t next = literal_value(f, "next", SAMARA_FLOAT32, 4, one, room, one, two);
  const uint32_t seen = literal_value(f, "seen", SAMARA_FLOAT32, 4, one, count, one, two);
  const uint32_t sum = literal_value(f, "sum", SAMARA_FLOAT32, 4, one, room, one, two);
  const uint32_t node = literal_node(f, smr_op_find(SMR_CODE_WRITE_ROWS), "write",
                                     LITERAL_LIST(cache, rows, length), LITERAL_LIST(next));
  literal_attr(f, node, "ring", (struct smr_attr){.i = true});
  const uint32_t attention =
      literal_node(f, smr_op_find(SMR_CODE_ATTENTION_CACHED), "see",
                   LITERAL_LIST(rows, next, next, length), LITERAL_LIST(seen));
  literal_attr(f, attention, "window", (struct smr_attr){.i = r.window});
  if (r.other)
    literal_node(f, smr_op_find(SMR_CODE_ADD), "sum", LITERAL_LIST(next, next), LITERAL_LIST(sum));
  literal_output(f, seen, "seen");
  const uint32_t out = literal_output(f, next, "next");
  literal_bind(f, false, 1, 0);
  literal_bind(f, false, 2, 1);
  literal_bind(f, true, out, 0);
  const bool adds = smr_views_adds_rows(&f->f, l->variables, &f->nodes[node]);
  literal_free(l);
  return adds;
}

SMR_TEST(a_ring_keeps_what_windows_see) {
  CHECK(ring_adds_rows((struct ring){.window = 5, .rows = 4}));
  CHECK(ring_adds_rows((struct ring){.window = 8, .rows = 1}));
  CHECK(ring_adds_rows((struct ring){.window = 5, .most = 4}));
  CHECK(!ring_adds_rows((struct ring){.window = 5, .rows = 5}));
  CHECK(!ring_adds_rows((struct ring){.window = 5, .most = 5}));
  CHECK(!ring_adds_rows((struct ring){.window = 5, .most = INT64_MAX}));
  CHECK(!ring_adds_rows((struct ring){.window = 9, .rows = 1}));
  CHECK(!ring_adds_rows((struct ring){.window = 0, .rows = 1}));
  CHECK(!ring_adds_rows((struct ring){.window = 5, .rows = 4, .other = true}));
}

SMR_TEST_MAIN(RUN(rows_are_added_only_where_nothing_else_sees_it);
              RUN(a_ring_keeps_what_windows_see))
