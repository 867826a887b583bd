// SPDX-License-Identifier: Apache-2.0
// float16 for operators that compute in float32: convert, run, convert back.
//
// A node with float16 tensors runs as one tile. Inputs are copied to float32 in scratch, the
// operator's float32 functions run on a job that refers to the copies, and outputs are rounded
// once.
#ifndef SMR_OPS_WIDEN_H
#define SMR_OPS_WIDEN_H

#include "ops/op.h"

enum {
  SMR_WIDEN_TENSORS = 12,      // most inputs and outputs of such an operator
  SMR_WIDEN_STATE_BYTES = 16,  // stored in front of the operator's own state
};

/// Whether some input or output is float16.
bool smr_widen_needed(const struct smr_job *job);

/// smr_op_funcs.prepare of operators that supply float32 functions (float32_prepare and run).
/// Without float16 tensors it calls them directly. Otherwise it prepares a second job, all float32,
/// with its own state and without constant inputs; job->run becomes a function that converts before
/// and after.
samara_status smr_widen_prepare(struct smr_job *job);

/// Define smr_op_<name>_funcs from float32 functions `check` (NULL: none), `prepare` and `run`
/// (NULL if `prepare` sets job->run). `more`: smr_op_funcs.more_dtypes.
#define SMR_WIDENED_OP_MORE(name, check_, prepare_, run_, own_state_bytes, more) \
  const struct smr_op_funcs smr_op_##name##_funcs = {                            \
      .check = check_,                                                           \
      .prepare = smr_widen_prepare,                                              \
      .run = run_,                                                               \
      .float32_prepare = prepare_,                                               \
      .state_bytes = SMR_WIDEN_STATE_BYTES + (own_state_bytes),                  \
      .more_dtypes = (more)};

/// The same for operators that only take the first eight dtypes.
#define SMR_WIDENED_OP(name, check, prepare, run, own_state_bytes) \
  SMR_WIDENED_OP_MORE(name, check, prepare, run, own_state_bytes, 0)

#endif
