// SPDX-License-Identifier: Apache-2.0
// Guarantees for an operator before it runs: cleared fields, no data in prepare, and the scratch it
// asks for, even if the plan did not know its size.
#include "base/fp.h"

#include "harness.h"

#include "session/model_literal.h"

enum { NEEDY_FIXED = 100 };

struct needy_state {
  int prepared;
};

// Needs 64 bytes of scratch per element when the dim is small, none when it is large: more than
// an estimate from upper bounds would say.
static samara_status needy_prepare(struct smr_job *job) {
  struct needy_state *state = job->state;
  state->prepared++;
  CHECK((uintptr_t)job->state % 16 == 0);
  CHECK_EQ_INT(job->tiles, 0);
  CHECK_EQ_INT(job->scratch_bytes, 0);
  CHECK_EQ_INT(job->thread_scratch_bytes, 0);
  for (int i = 0; i < SMR_MAX_DERIVED; i++) CHECK_EQ_INT(job->derived[i].input, -1);
  CHECK(job->inputs[0]->data == NULL);
  CHECK(job->outputs[0]->data == NULL);
  CHECK(job->inputs[1] == NULL);
  CHECK_EQ_INT(job->outputs[0]->pixel_stride, job->outputs[0]->dims[0]);
  job->tiles = 1;
  if (job->outputs[0]->dims[0] < 50) {
    job->scratch_bytes = (size_t)job->outputs[0]->dims[0] * 64 + 1;
    job->thread_scratch_bytes = NEEDY_FIXED;
  }
  return SAMARA_OK;
}

static samara_status needy_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch) {
  (void)begin, (void)end;
  CHECK((uintptr_t)job->scratch % 64 == 0);
  CHECK((uintptr_t)thread_scratch % 64 == 0);
  memset(job->scratch, 1, job->scratch_bytes);
  memset(thread_scratch, 2, job->thread_scratch_bytes);
  if (job->scratch_bytes != 0) CHECK_EQ_INT(((uint8_t *)job->scratch)[job->scratch_bytes - 1], 1);
  memcpy(job->outputs[0]->data, job->inputs[0]->data, job->outputs[0]->size_bytes);
  return SAMARA_OK;
}

static const struct smr_op_funcs needy_funcs = {
    .prepare = needy_prepare, .run = needy_run, .state_bytes = sizeof(struct needy_state)};
static const struct smr_op needy_op = {.dtypes = UINT32_MAX,
                                       .name = "needy",
                                       .code = 9996,
                                       .min_inputs = 1,
                                       .max_inputs = 2,
                                       .min_outputs = 1,
                                       .max_outputs = 1,
                                       .funcs = &needy_funcs};

// y [k] with k read from an input, so that the node is prepared while running.
SMR_TEST(scratch_beyond_the_plan_is_found) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t most = literal_int(f, 60);
  const uint32_t x = literal_input(f, literal_vector(f, "x", most));
  const uint32_t count = literal_input(f, literal_value(f, "count", SAMARA_INT64, 0));
  const uint32_t k = literal_expr(f, SMR_EXPR_READ, (int32_t)count, 0, (int32_t)most, 0);
  const uint32_t y = literal_map(f, &needy_op, "needy", LITERAL_LIST(x, -1), "y", k);
  literal_output(f, y, "y");
  samara_session *s = literal_open(l);
  const int64_t counts[] = {60, 40, 49, 3, 55};
  for (size_t i = 0; i < 5; i++) {
    CHECK_EQ_INT(samara_session_set_input(s, 1, &counts[i], sizeof counts[i]), SAMARA_OK);
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  }
  literal_close(s, l);
}

SMR_TEST(a_node_is_prepared_once_for_unchanged_dims) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 10);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t y = literal_map(f, &needy_op, "needy", LITERAL_LIST(x, -1), "y", n);
  literal_output(f, y, "y");
  samara_session *s = literal_open(l);
  const unsigned long before = smr_test_state()->n_checks;
  for (int i = 0; i < 3; i++) CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  // Each run makes four checks (its own and three of needy_run); a prepare would add nine.
  CHECK_EQ_INT(smr_test_state()->n_checks - before, 3 * 4);
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(scratch_beyond_the_plan_is_found);
              RUN(a_node_is_prepared_once_for_unchanged_dims))
