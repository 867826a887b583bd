// SPDX-License-Identifier: Apache-2.0
// Building frames: constants in place, views, functions that cannot be.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"
#include "session/session.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

// A constant is read in place, and copied where it is an output.
SMR_TEST(constants_are_used_in_place) {
  static const int64_t data = 0x0807060504030201;
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t c = literal_constant(l, f, "c", SAMARA_INT64, &data, 0);
  const uint32_t y = literal_value(f, "y", SAMARA_INT64, 0);
  literal_node(f, op(SMR_CODE_NEG), "neg", LITERAL_LIST(c), LITERAL_LIST(y));
  literal_output(f, y, "y");
  literal_output(f, c, "c");
  samara_session *s = literal_open(l);
  CHECK(s->entry->values[c].tensor.data == (const void *)&data);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  samara_tensor t;
  CHECK_EQ_INT(samara_session_output(s, 1, &t), SAMARA_OK);
  CHECK_MEM(t.data, &data, sizeof data);
  CHECK(t.data != (const void *)&data);
  literal_close(s, l);
}

// x -> reshape -> identity -> neg: the views take no memory.
SMR_TEST(views_take_no_memory) {
  size_t bytes[2];
  for (int views = 0; views < 2; views++) {
    struct literal *l = literal_new();
    struct literal_function *f = literal_add(l, "main", true);
    const uint32_t n = literal_int(f, 1000), a = literal_int(f, 10), b = literal_int(f, 100);
    uint32_t last = literal_vector(f, "x", n);
    literal_input(f, last);
    uint32_t next = literal_vector(f, "negated", n);
    literal_node(f, op(SMR_CODE_NEG), "neg", LITERAL_LIST(last), LITERAL_LIST(next));
    if (views) {
      const uint32_t v = literal_value(f, "v", SAMARA_FLOAT32, 2, a, b);
      const uint32_t node =
          literal_node(f, op(SMR_CODE_RESHAPE), "reshape", LITERAL_LIST(next), LITERAL_LIST(v));
      literal_attr_dims(f, node, "shape", 2, a, b);
      next = literal_value(f, "w", SAMARA_FLOAT32, 2, a, b);
      literal_node(f, op(SMR_CODE_IDENTITY), "identity", LITERAL_LIST(v), LITERAL_LIST(next));
    }
    literal_output(f, next, "y");
    samara_session *s = literal_open(l);
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    samara_tensor t;
    CHECK_EQ_INT(samara_session_output(s, 0, &t), SAMARA_OK);
    CHECK_EQ_INT(t.rank, 1 + views);
    bytes[views] = samara_session_arena_bytes(s);
    literal_close(s, l);
  }
  CHECK_EQ_INT(bytes[1], bytes[0]);
}

SMR_TEST_MAIN(RUN(constants_are_used_in_place); RUN(views_take_no_memory))
