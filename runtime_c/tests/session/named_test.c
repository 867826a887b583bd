// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs by name: positions, and runs that copy in and out.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const float ones[] = {1, 1, 1, 1, 1, 1};
static const float six[] = {1, 2, 3, 4, 5, 6};
static const float more[] = {2, 3, 4, 5, 6, 7};

// main(x [n], y [n]) -> sum = x + y, same = y; n without bound.
static struct literal *adding(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t y = literal_input(f, literal_vector(f, "y", n));
  const uint32_t s = literal_map(f, smr_op_find(SMR_CODE_ADD), "add", LITERAL_LIST(x, y), "s", n);
  literal_output(f, s, "sum");
  literal_output(f, y, "same");
  return l;
}

SMR_TEST(positions_of_names) {
  struct literal *l = adding();
  samara_session *s = literal_open(l);
  size_t at = 7;
  CHECK_EQ_INT(samara_session_input_index(s, "y", &at), SAMARA_OK);
  CHECK_EQ_INT(at, 1);
  CHECK_EQ_INT(samara_session_output_index(s, "sum", &at), SAMARA_OK);
  CHECK_EQ_INT(at, 0);
  CHECK_EQ_INT(samara_session_output_index(s, "same", &at), SAMARA_OK);
  CHECK_EQ_INT(at, 1);
  CHECK_EQ_INT(samara_session_input_index(s, "sum", &at), SAMARA_NOT_FOUND);
  CHECK_STR(samara_session_error(s), "function 'main' has no input 'sum'; it has 'x', 'y'");
  CHECK_EQ_INT(samara_session_output_index(s, NULL, &at), SAMARA_NOT_FOUND);
  CHECK_STR(samara_session_error(s),
            "function 'main' has no output '(null)'; it has 'sum', 'same'");
  CHECK_EQ_INT(at, 1);
  CHECK_EQ_INT(samara_session_input_index(s, "x", NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_input_index(NULL, "x", &at), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_output_index(NULL, "sum", &at), SAMARA_BAD_ARGUMENT);
  literal_close(s, l);
}

SMR_TEST(a_run_takes_shapes_and_values_by_name) {
  struct literal *l = adding();
  struct literal_memory memory;
  samara_session *s = literal_counted(l, &memory);
  const int64_t dims[] = {6}, fewer[] = {3};
  float sum[6] = {0}, same[6] = {0};
  samara_feed in[] = {{"y", ones, sizeof ones, dims}, {"x", six, sizeof six, dims}};
  samara_fetch out[] = {{"same", same, sizeof same}, {"sum", sum, sizeof sum}};
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, out, 2), SAMARA_OK);
  CHECK_MEM(sum, more, sizeof sum);
  CHECK_MEM(same, ones, sizeof same);
  // The same dims: nothing is allocated. Inputs that are not listed keep their values.
  const size_t calls = memory.calls;
  memset(sum, 0, sizeof sum);
  in[1].shape = NULL;
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, NULL, 0), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run_named(s, in, 1, &out[1], 1), SAMARA_OK);
  CHECK_MEM(sum, more, sizeof sum);
  CHECK_EQ_INT(memory.calls, calls);
  CHECK(literal_expect(s, 0, more, 6));
  // Fewer.
  in[0].shape = in[1].shape = fewer;
  in[0].size_bytes = in[1].size_bytes = 12;
  out[1].size_bytes = 12;
  memset(sum, 0, sizeof sum);
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, &out[1], 1), SAMARA_OK);
  CHECK_MEM(sum, more, 12);
  CHECK_EQ_INT((int)sum[3], 0);
  CHECK_EQ_INT(memory.live > 0, true);
  samara_session_destroy(s);
  CHECK_EQ_INT(memory.live, 0);
  literal_free(l);
}

SMR_TEST(what_does_not_fit_is_refused_before_the_run) {
  struct literal *l = adding();
  samara_session *s = literal_open(l);
  const int64_t dims[] = {6}, fewer[] = {3};
  float sum[6] = {0};
  samara_feed in[] = {{"x", six, sizeof six, dims}, {"y", ones, sizeof ones, dims}};
  samara_fetch out = {"sum", sum, sizeof sum};
  CHECK_EQ_INT(samara_session_run_named(NULL, in, 2, &out, 1), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_run_named(s, NULL, 2, &out, 1), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, NULL, 1), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_run_named(s, in, 1, &out, 1), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "input 'y' has no shape yet");
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, &out, 1), SAMARA_OK);
  memset(sum, 0, sizeof sum);
  out.size_bytes = 20;
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, &out, 1), SAMARA_BAD_SHAPE);
  CHECK_STR(samara_session_error(s), "output 'sum' has 24 bytes of float32, the buffer 20");
  out.size_bytes = sizeof sum;
  out.data = NULL;
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, &out, 1), SAMARA_BAD_ARGUMENT);
  out.data = sum;
  out.name = "total";
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, &out, 1), SAMARA_NOT_FOUND);
  out.name = "sum";
  in[0].name = "z";
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, &out, 1), SAMARA_NOT_FOUND);
  in[0].name = "x";
  in[0].size_bytes = 20;
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, &out, 1), SAMARA_BAD_SHAPE);
  in[0].shape = fewer;
  CHECK_EQ_INT(samara_session_run_named(s, in, 2, &out, 1), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT((int)sum[0], 0);
  literal_close(s, l);
}

// An output whose size data decides.
SMR_TEST(a_late_output_is_not_fetched) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 6), one = literal_int(f, 1);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t k = literal_expr(f, SMR_EXPR_BORN, 0, 0, 1, (int64_t)n);
  const uint32_t at = literal_value(f, "at", SAMARA_INT64, 2, one, k);
  literal_node(f, smr_op_find(SMR_CODE_NONZERO), "where", LITERAL_LIST(x), LITERAL_LIST(at));
  literal_output(f, at, "at");
  samara_session *s = literal_open(l);
  int64_t where[6];
  const samara_feed in = {"x", six, sizeof six, NULL};
  const samara_fetch out = {"at", where, sizeof where};
  CHECK_EQ_INT(samara_session_run_named(s, &in, 1, &out, 1), SAMARA_BAD_SHAPE);
  CHECK_STR(samara_session_error(s),
            "axis 1 of output 'at' depends on data: read it with samara_session_output");
  CHECK_EQ_INT(samara_session_run_named(s, &in, 1, NULL, 0), SAMARA_OK);
  samara_tensor t;
  CHECK_EQ_INT(samara_session_output(s, 0, &t), SAMARA_OK);
  CHECK_EQ_INT(t.shape[1], 6);
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(positions_of_names); RUN(a_run_takes_shapes_and_values_by_name);
              RUN(what_does_not_fit_is_refused_before_the_run); RUN(a_late_output_is_not_fetched))
