// SPDX-License-Identifier: Apache-2.0
// The model of the tests of profiles.
#ifndef SMR_TESTS_PROFILE_MODEL_H
#define SMR_TESTS_PROFILE_MODEL_H

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

// main(x [2]): five trips of relu, then a view called "odd \"name\"\n".
static inline struct literal *looping(void) {
  static const int64_t five = 5;
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "body", false);
  literal_input(f, literal_value(f, "i", SAMARA_INT64, 0));
  const uint32_t c = literal_value(f, "c", SAMARA_BOOL, 0);
  literal_input(f, c);
  const uint32_t n = literal_int(f, 2);
  const uint32_t x = literal_vector(f, "x", n);
  literal_input(f, x);
  const uint32_t y = literal_map(f, smr_op_find(SMR_CODE_RELU), "inner", LITERAL_LIST(x), "y", n);
  literal_output(f, c, "c");
  literal_output(f, y, "y");
  f = literal_add(l, "main", true);
  const uint32_t m = literal_int(f, 2);
  const uint32_t a = literal_vector(f, "a", m), b = literal_vector(f, "b", m);
  const uint32_t d = literal_vector(f, "d", m);
  literal_input(f, a);
  const uint32_t t = literal_constant(l, f, "t", SAMARA_INT64, &five, 0);
  const uint32_t node =
      literal_node(f, smr_op_find(SMR_CODE_LOOP), "loop", LITERAL_LIST(t, -1, a), LITERAL_LIST(b));
  literal_attr(f, node, "body", (struct smr_attr){.i = 0});
  literal_attr(f, node, "carried", (struct smr_attr){.i = 1});
  literal_node(f, smr_op_find(SMR_CODE_IDENTITY), "odd \"name\"\n", LITERAL_LIST(b),
               LITERAL_LIST(d));
  literal_output(f, d, "d");
  return l;
}

#endif
