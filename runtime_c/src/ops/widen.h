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

/// smr_op_funcs.prepare of operators whose float32 functions are given: float32_prepare and run.
/// Where nothing is float16 they are called as they are. Else they see a job that is float32
/// throughout, with a state of its own and no constant inputs, and job->run becomes a function that
/// converts around theirs.
samara_status smr_widen_prepare(struct smr_job *job);

/// Define smr_op_<name>_funcs from float32 functions `check` (NULL for none), `prepare`, `run`,
/// which also know the dtypes `more` (smr_op_funcs.more_dtypes). `run` may be NULL where `prepare`
/// sets job->run.
#define SMR_WIDENED_OP_MORE(name, check_, prepare_, run_, own_state_bytes, more) \
  const struct smr_op_funcs smr_op_##name##_funcs = {                            \
      .check = check_,                                                           \
      .prepare = smr_widen_prepare,                                              \
      .run = run_,                                                               \
      .float32_prepare = prepare_,                                               \
      .state_bytes = SMR_WIDEN_STATE_BYTES + (own_state_bytes),                  \
      .more_dtypes = (more)};

/// The same for operators of the first eight dtypes.
#define SMR_WIDENED_OP(name, check, prepare, run, own_state_bytes) \
  SMR_WIDENED_OP_MORE(name, check, prepare, run, own_state_bytes, 0)

#endif
