// SPDX-License-Identifier: Apache-2.0
// Looking at a run's deadline from inside an operator.
//
// A run looks at the clock between tiles. Where one tile can be more work than the bytes of its
// tensors say, the operator looks itself, every SMR_DEADLINE_WORK steps: no dims that a file names
// may put the deadline off.
#ifndef SMR_OPS_DEADLINE_H
#define SMR_OPS_DEADLINE_H

#include "ops/op.h"

enum { SMR_DEADLINE_WORK = 1 << 20 };  // steps, each about one element: a millisecond or less

/// LIMIT after the deadline.
samara_status smr_in_time(const struct smr_deadline *deadline, samara_error *error);

/// Work done since the last look at the clock.
struct smr_deadline_watch {
  const struct smr_job *job;
  size_t work;
};

/// Account for `work` steps, done or about to be done; LIMIT when the deadline has passed.
static inline samara_status smr_deadline_step(struct smr_deadline_watch *watch, size_t work) {
  if (watch->job->deadline.limit_ns == 0) return SAMARA_OK;
  watch->work = work < SMR_DEADLINE_WORK - watch->work ? watch->work + work : SMR_DEADLINE_WORK;
  if (watch->work < SMR_DEADLINE_WORK) return SAMARA_OK;
  watch->work = 0;
  return smr_in_time(&watch->job->deadline, watch->job->error);
}

/// Run tiles [begin, end) and look at the clock before, after and about every millisecond.
samara_status smr_deadline_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch,
                               samara_status (*run)(const struct smr_job *job, size_t begin,
                                                    size_t end, void *thread_scratch));

#endif
