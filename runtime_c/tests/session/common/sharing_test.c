// SPDX-License-Identifier: Apache-2.0
// When the tiles of a job go to the pool.
#include "base/fp.h"

#include "harness.h"

#include "session/common/common.h"

SMR_TEST(bytes_and_arithmetic_decide) {
  struct smr_tensor x = {.constant = -1}, w = {.constant = 0}, y = {.constant = -1};
  struct smr_tensor *inputs[] = {&x, NULL, &w}, *outputs[] = {&y};
  struct smr_job job = {.inputs = inputs, .outputs = outputs, .input_count = 3, .output_count = 1};
  x.size_bytes = 1000;
  w.size_bytes = 20000;
  y.size_bytes = 300;
  CHECK_EQ_INT(smr_job_bytes(&job, true), 21300);
  CHECK_EQ_INT(smr_job_bytes(&job, false), 1300);
  job.tiles = 8;
  CHECK(!smr_job_is_worth_sharing(&job, false));
  job.work = (smr_work)SMR_INLINE_WORK;
  CHECK(smr_job_is_worth_sharing(&job, false));
  job.tiles = 1;  // nothing to share
  CHECK(!smr_job_is_worth_sharing(&job, false));
  job.tiles = 8;
  job.work = 0;
  w.size_bytes = SMR_INLINE_BYTES;
  CHECK(smr_job_is_worth_sharing(&job, false));
  // Data is in another core's cache unless the job follows a shared one.
  w.size_bytes = 0;
  x.size_bytes = SMR_FOLLOW_BYTES;
  CHECK(!smr_job_is_worth_sharing(&job, false));
  CHECK(smr_job_is_worth_sharing(&job, true));
}

SMR_TEST_MAIN(RUN(bytes_and_arithmetic_decide))
