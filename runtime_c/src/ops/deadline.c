// SPDX-License-Identifier: Apache-2.0
// Deadlines inside operators.
#include "base/fp.h"

#include "ops/deadline.h"

#include "base/os.h"

enum {
  DEADLINE_SHORT_NS = 256 * 1024,
  DEADLINE_LONG_NS = 1024 * 1024
};  // between looks at the clock

static samara_status deadline_late(const struct smr_deadline *deadline, uint64_t now,
                                   samara_error *error) {
  if (deadline->limit_ns != 0 && now - deadline->start_ns > deadline->limit_ns)
    SMR_FAIL(error, LIMIT, "the deadline of %llu us has passed",
             (unsigned long long)(deadline->limit_ns / 1000));
  return SAMARA_OK;
}

samara_status smr_in_time(const struct smr_deadline *deadline, samara_error *error) {
  return deadline->limit_ns == 0 ? SAMARA_OK : deadline_late(deadline, smr_os_now_ns(), error);
}

samara_status smr_deadline_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch,
                               samara_status (*run)(const struct smr_job *job, size_t begin,
                                                    size_t end, void *thread_scratch)) {
  if (job->deadline.limit_ns == 0) return run(job, begin, end, thread_scratch);
  uint64_t before = smr_os_now_ns();
  size_t step = 1;
  for (size_t at = begin; at < end;) {
    // Check first: a thread that claims another range after the deadline must not start it.
    SMR_TRY(deadline_late(&job->deadline, before, job->error));
    const size_t count = end - at < step ? end - at : step;
    SMR_TRY(run(job, at, at + count, thread_scratch));
    at += count;
    const uint64_t now = smr_os_now_ns();
    if (now - before < DEADLINE_SHORT_NS && step <= SIZE_MAX / 2) step *= 2;
    if (now - before > DEADLINE_LONG_NS && step > 1) step /= 2;
    before = now;
  }
  return deadline_late(&job->deadline, before, job->error);
}
