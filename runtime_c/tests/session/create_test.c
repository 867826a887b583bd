// SPDX-License-Identifier: Apache-2.0
// Creating sessions: options, instruction sets, first shapes, bad models.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "base/fp.h"

#include "harness.h"

#include "base/os.h"
#include "base/stack_pages.h"
#include "ops/table/opattrs.h"
#include "session/model_literal.h"
#include "session/session.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

// main(x [4]) -> relu
static struct literal *one_node(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 4);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t y = literal_map(f, op(SMR_CODE_RELU), "first", LITERAL_LIST(x), "y", n);
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

SMR_TEST(bad_options_are_refused_with_a_reason) {
  struct literal *l = one_node();
  const samara_model *model = literal_finish(l);
  samara_error error;
  samara_session *s = NULL;
  CHECK_EQ_INT(samara_session_create(NULL, NULL, &s, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_create(model, NULL, NULL, &error), SAMARA_BAD_ARGUMENT);
  const samara_session_options unsized = {.strict_accuracy = true};
  CHECK_EQ_INT(samara_session_create(model, &unsized, &s, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(create(model, (samara_session_options){.function = "train"}, &error),
               SAMARA_NOT_FOUND);
  CHECK_CONTAINS(error.text, "'train'");
  CHECK_EQ_INT(create(model, (samara_session_options){.function = "main"}, NULL), SAMARA_OK);
  CHECK_EQ_INT(create(model, (samara_session_options){.isa = "fast"}, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "\"fast\"");
  CHECK_EQ_INT(create(model, (samara_session_options){.isa = "scalar"}, &error), SAMARA_OK);
  CHECK_EQ_INT(create(model, (samara_session_options){.keep_count = 1}, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(create(model, (samara_session_options){.custom_op_count = 1}, &error),
               SAMARA_BAD_ARGUMENT);
  literal_free(l);
}

SMR_TEST(strict_accuracy_wins) {
  struct literal *l = one_node();
  const samara_model *model = literal_finish(l);
  for (int i = 0; i < 4; i++) {
    const samara_session_options options = {
        .struct_size = sizeof options, .strict_accuracy = i & 1, .bfloat16 = i & 2};
    samara_session *s = NULL;
    if (CHECK_EQ_INT(samara_session_create(model, &options, &s, NULL), SAMARA_OK)) {
      CHECK_EQ_INT(s->common.strict, i & 1);
      CHECK_EQ_INT(s->common.bfloat16, i == 2);
    }
    samara_session_destroy(s);
  }
  literal_free(l);
}

SMR_TEST(a_model_whose_first_shapes_do_not_fit_is_refused_at_creation) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t x = literal_input(f, literal_vector(f, "x", literal_int(f, 4)));
  const uint32_t y = literal_vector(f, "y", literal_int(f, 5));
  literal_node(f, op(SMR_CODE_RELU), "relu", LITERAL_LIST(x), LITERAL_LIST(y));
  literal_output(f, y, "y");
  samara_error error;
  CHECK_EQ_INT(create(literal_finish(l), (samara_session_options){0}, &error), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "function 'main', node 'relu' (relu): ");
  literal_free(l);
}

struct own_stack {
  const samara_model *model;
  samara_session *session;
  size_t mapped;
};

static void create_on_own_stack(void *argument) {
  struct own_stack *own = argument;
  if (samara_session_create(own->model, NULL, &own->session, NULL) == SAMARA_OK)
    own->mapped = stack_pages_mapped();
}

SMR_TEST(the_first_run_finds_its_stack_mapped) {
  if (!stack_pages_known()) SKIP("the system does not map pages by request");
  struct literal *l = one_node();
  struct own_stack own = {.model = literal_finish(l)};
  struct smr_os_thread thread;
  REQUIRE(smr_os_thread_start(&thread, create_on_own_stack, &own));
  smr_os_thread_join(&thread);
  CHECK_EQ_INT(own.mapped, STACK_PAGES);
  samara_session_destroy(own.session);
  literal_free(l);
}

SMR_TEST_MAIN(RUN(bad_options_are_refused_with_a_reason); RUN(the_first_run_finds_its_stack_mapped);
              RUN(strict_accuracy_wins);
              RUN(a_model_whose_first_shapes_do_not_fit_is_refused_at_creation))
