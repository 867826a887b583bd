// SPDX-License-Identifier: Apache-2.0
// Kept tensors: which can be kept, their values after a run, refusals. run_test.c tests watching.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

// main(x [4]) -> relu -> identity -> neg; relu absorbed "bias_out".
static struct literal *three_nodes(void) {
  static const char *const absorbed[] = {"bias_out"};
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 4);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t a = literal_vector(f, "a", n);
  const uint32_t node =
      literal_node(f, op(SMR_CODE_RELU), "first", LITERAL_LIST(x), LITERAL_LIST(a));
  f->nodes[node].absorbed = absorbed;
  f->nodes[node].absorbed_count = 1;
  const uint32_t b = literal_map(f, op(SMR_CODE_IDENTITY), "view", LITERAL_LIST(a), "b", n);
  const uint32_t y = literal_map(f, op(SMR_CODE_NEG), "last", LITERAL_LIST(b), "y", n);
  literal_output(f, y, "y");
  return l;
}

static samara_status create(const samara_model *model, samara_session_options options,
                            samara_error *error) {
  samara_session *s = NULL;
  options.struct_size = sizeof options;
  const samara_status status = samara_session_create(model, &options, &s, error);
  CHECK((s != NULL) == (status == SAMARA_OK));
  samara_session_destroy(s);
  return status;
}

SMR_TEST(kept_tensors_stay_readable) {
  struct literal *l = three_nodes();
  const samara_model *model = literal_finish(l);
  const char *keep[] = {"b", "x"};
  for (int all = 0; all < 2; all++) {
    samara_session *s =
        literal_session(model, all ? (samara_session_options){.keep_all = true}
                                   : (samara_session_options){.keep = keep, .keep_count = 2});
    samara_tensor t;
    CHECK_EQ_INT(samara_session_kept(s, "b", &t), SAMARA_BAD_STATE);
    CHECK(literal_feed(s, 0, (const float[]){-1, 2, -3, 4}, 4));
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    REQUIRE(samara_session_kept(s, "b", &t) == SAMARA_OK);
    const float want[] = {0, 2, 0, 4};
    CHECK_MEM(t.data, want, sizeof want);
    REQUIRE(samara_session_kept(s, "x", &t) == SAMARA_OK);
    CHECK_EQ_INT(((const float *)t.data)[2], -3);
    CHECK(literal_expect(s, 0, (const float[]){0, -2, 0, -4}, 4));
    CHECK_EQ_INT(samara_session_kept(s, "a", &t), all ? SAMARA_OK : SAMARA_NOT_FOUND);
    CHECK_EQ_INT(samara_session_kept(s, "bias_out", &t), SAMARA_NOT_FOUND);
    CHECK_CONTAINS(samara_session_error(s), "absorbed by node 'first' (relu)");
    samara_session_destroy(s);
  }
  literal_free(l);
}

SMR_TEST(a_name_that_cannot_be_kept_is_refused_at_creation) {
  struct literal *l = three_nodes();
  const samara_model *model = literal_finish(l);
  samara_error error;
  const char *missing[] = {"nowhere"}, *gone[] = {"bias_out"}, *null[] = {NULL};
  CHECK_EQ_INT(create(model, (samara_session_options){.keep = missing, .keep_count = 1}, &error),
               SAMARA_NOT_FOUND);
  CHECK_CONTAINS(error.text, "no tensor 'nowhere'");
  CHECK_EQ_INT(create(model, (samara_session_options){.keep = gone, .keep_count = 1}, &error),
               SAMARA_NOT_FOUND);
  CHECK_CONTAINS(error.text, "absorbed by node 'first'");
  CHECK_EQ_INT(create(model, (samara_session_options){.keep = null, .keep_count = 1}, &error),
               SAMARA_BAD_ARGUMENT);
  literal_free(l);
}

SMR_TEST_MAIN(RUN(kept_tensors_stay_readable);
              RUN(a_name_that_cannot_be_kept_is_refused_at_creation))
