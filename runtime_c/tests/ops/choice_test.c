// SPDX-License-Identifier: Apache-2.0
// Choosing an algorithm by work or by measurement, and its record.
#include "base/fp.h"

#include "harness.h"
#include "ops/op.h"

static const struct smr_candidate candidates[] = {
    {"slow", 30, 7}, {"fast", 10, 5}, {"equal", 10, 4}, {"fair", 20, 6}};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

static void expect_order(const struct smr_choice *choice, const char *const *names) {
  if (!CHECK_EQ_INT(choice->count, CANDIDATES)) return;
  for (size_t i = 0; i < CANDIDATES; i++) CHECK_STR(choice->candidates[i].algorithm, names[i]);
}

SMR_TEST(the_least_work_is_taken) {
  struct smr_job job = {.tuned = NULL};
  CHECK_EQ_INT(smr_choose(&job, candidates, CANDIDATES), 5);
  CHECK(!job.choice.tuned);
  expect_order(&job.choice, (const char *[]){"fast", "equal", "fair", "slow"});
  CHECK_EQ_INT(smr_choose(&job, candidates, 1), 7);
  CHECK_EQ_INT(job.choice.count, 1);
}

SMR_TEST(a_measurement_decides) {
  struct smr_job job = {.tuned = "slow\nmain\tother\tfair"};
  CHECK_EQ_INT(smr_choose(&job, candidates, CANDIDATES), 7);
  CHECK(job.choice.tuned);
  expect_order(&job.choice, (const char *[]){"slow", "fast", "equal", "fair"});
  job.tuned = "fast";  // the cost model's choice, now measured
  CHECK_EQ_INT(smr_choose(&job, candidates, CANDIDATES), 5);
  CHECK(job.choice.tuned);
}

SMR_TEST(other_names_do_not) {
  static const char *const names[] = {"", "slo", "slower", "unknown\nslow", "\nslow"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct smr_job job = {.tuned = names[i]};
    CHECK_EQ_INT(smr_choose(&job, candidates, CANDIDATES), 5);
    CHECK(!job.choice.tuned);
  }
  struct smr_job strict = {.tuned = "slow", .strict = true};
  CHECK_EQ_INT(smr_choose(&strict, candidates, CANDIDATES), 5);
}

SMR_TEST_MAIN(RUN(the_least_work_is_taken); RUN(a_measurement_decides); RUN(other_names_do_not))
