// SPDX-License-Identifier: Apache-2.0
// float16 for operators that compute in float32: convert, run, convert back.
//
// A node with float16 tensors runs as one tile: inputs become float32 copies in scratch, the
// operator's own float32 functions see a job that knows only those, outputs are rounded once.
#ifndef SMR_OPS_WIDEN_H
#define SMR_OPS_WIDEN_H

#include "ops/op.h"

enum {
  SMR_WIDEN_TENSORS = 12,      // inputs and outputs of the largest such operator
  SMR_WIDEN_STATE_BYTES = 16,  // in front of the operator's own state
};

/// Whether some input or output is float16.
bool smr_widen_needed(const struct smr_job *job);

/// `prepare` and `run` for operators whose float32 functions are given: they are called as they are
/// where nothing is float16. The row's state_bytes are SMR_WIDEN_STATE_BYTES more than the float32
/// functions use; these see their own state in job->state, and never an input as constant.
samara_status smr_widen_prepare(struct smr_job *job, samara_status (*prepare)(struct smr_job *job));
samara_status smr_widen_run(const struct smr_job *job, size_t begin, size_t end,
                            void *thread_scratch,
                            samara_status (*run)(const struct smr_job *job, size_t begin,
                                                 size_t end, void *thread_scratch));

/// Define smr_op_<name>_funcs from float32 functions `check` (NULL for none), `prepare`, `run`,
/// which also know the dtypes `more` (smr_op_funcs.more_dtypes).
#define SMR_WIDENED_OP_MORE(name, check_, prepare_, run_, own_state_bytes, more)               \
  static samara_status name##_widened_prepare(struct smr_job *job) {                           \
    return smr_widen_prepare(job, prepare_);                                                   \
  }                                                                                            \
  static samara_status name##_widened_run(const struct smr_job *job, size_t begin, size_t end, \
                                          void *thread_scratch) {                              \
    return smr_widen_run(job, begin, end, thread_scratch, run_);                               \
  }                                                                                            \
  const struct smr_op_funcs smr_op_##name##_funcs = {                                          \
      .check = check_,                                                                         \
      .prepare = name##_widened_prepare,                                                       \
      .run = name##_widened_run,                                                               \
      .state_bytes = SMR_WIDEN_STATE_BYTES + (own_state_bytes),                                \
      .more_dtypes = (more)};

/// The same for operators of the first eight dtypes.
#define SMR_WIDENED_OP(name, check, prepare, run, own_state_bytes) \
  SMR_WIDENED_OP_MORE(name, check, prepare, run, own_state_bytes, 0)

#endif
