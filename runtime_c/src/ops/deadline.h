// SPDX-License-Identifier: Apache-2.0
// Checking a run's deadline inside an operator.
//
// A run reads the clock between tiles. If one tile can be much more work than the bytes of its
// tensors suggest, the operator must check every SMR_DEADLINE_WORK steps itself. Otherwise dims in
// a hostile file could make a run overshoot its deadline by any amount.
#ifndef SMR_OPS_DEADLINE_H
#define SMR_OPS_DEADLINE_H

#include "ops/op.h"

enum { SMR_DEADLINE_WORK = 1 << 20 };  // steps of about one element each: a millisecond or less

/// Fails with LIMIT after the deadline.
samara_status smr_in_time(const struct smr_deadline *deadline, samara_error *error);

/// Work since the clock was last read.
struct smr_deadline_watch {
  const struct smr_job *job;
  size_t work;
};

/// Account for `work` steps, done or about to be done. Fails with LIMIT after the deadline.
static inline samara_status smr_deadline_step(struct smr_deadline_watch *watch, size_t work) {
  if (watch->job->deadline.limit_ns == 0) return SAMARA_OK;
  watch->work = work < SMR_DEADLINE_WORK - watch->work ? watch->work + work : SMR_DEADLINE_WORK;
  if (watch->work < SMR_DEADLINE_WORK) return SAMARA_OK;
  watch->work = 0;
  return smr_in_time(&watch->job->deadline, watch->job->error);
}

/// Run tiles [begin, end). Read the clock before, after and about every millisecond.
samara_status smr_deadline_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch,
                               samara_status (*run)(const struct smr_job *job, size_t begin,
                                                    size_t end, void *thread_scratch));

#endif
