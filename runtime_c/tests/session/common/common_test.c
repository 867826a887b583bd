// SPDX-License-Identifier: Apache-2.0
// Steps, limits, forgiven errors, the log and the names of instruction sets.
#include "base/fp.h"

#include "harness.h"

#include "base/isa.h"
#include "session/common/common.h"

SMR_TEST(a_step_too_many_a_cancelled_and_a_late_run_stop) {
  samara_error error = {.status = SAMARA_OK};
  struct smr_common common = {.error = &error};
  for (int i = 0; i < 100; i++) CHECK_EQ_INT(smr_session_tick(&common), SAMARA_OK);
  CHECK_EQ_INT(common.run.steps, 100);
  common.run.max_steps = 101;
  CHECK_EQ_INT(smr_session_tick(&common), SAMARA_OK);
  CHECK_EQ_INT(smr_session_tick(&common), SAMARA_LIMIT);
  CHECK_CONTAINS(error.text, "max_steps = 101");
  common.run.max_steps = 0;
  common.run.deadline = (struct smr_deadline){.start_ns = 1, .limit_ns = 1};
  CHECK_EQ_INT(smr_session_tick(&common), SAMARA_LIMIT);
  common.run.deadline.limit_ns = 0;
  SMR_ATOMIC_STORE(&common.run.state, SMR_RUN_CANCELLED);
  CHECK_EQ_INT(smr_session_tick(&common), SAMARA_CANCELLED);
  CHECK_EQ_INT(error.status, SAMARA_CANCELLED);
  CHECK_EQ_INT(smr_session_forgive(&common), SAMARA_OK);
  CHECK_EQ_INT(error.status, SAMARA_OK);
  CHECK_EQ_INT(strlen(error.text), 0);
}

static void note(void *user, samara_log_level level, const char *text) {
  char *seen = user;
  CHECK_EQ_INT(level, SAMARA_LOG_WARNING);
  for (size_t i = 0; i < 31 && text[i] != '\0'; i++) seen[i] = text[i];
}

SMR_TEST(the_log_goes_to_its_function_if_there_is_one) {
  char seen[32] = {0};
  struct smr_common common = {0};
  smr_session_log(&common, SAMARA_LOG_WARNING, "nobody reads %d", 1);
  common.log = note;
  common.log_user = seen;
  smr_session_log(&common, SAMARA_LOG_WARNING, "of %d", 7);
  CHECK_CONTAINS(seen, "of 7");
}

SMR_TEST(an_instruction_set_is_a_ceiling) {
  samara_error error = {.status = SAMARA_OK};
  uint32_t best, least;
  CHECK_EQ_INT(smr_isa_resolve(NULL, &best, &error), SAMARA_OK);
  CHECK_EQ_INT(best, smr_cpu_isa());
  CHECK_EQ_INT(smr_isa_resolve("scalar", &least, &error), SAMARA_OK);
  CHECK_EQ_INT(least & ~best, 0);
  CHECK_EQ_INT(smr_isa_resolve("sse9", &least, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "sse9");
}

SMR_TEST_MAIN(RUN(a_step_too_many_a_cancelled_and_a_late_run_stop);
              RUN(the_log_goes_to_its_function_if_there_is_one);
              RUN(an_instruction_set_is_a_ceiling))
