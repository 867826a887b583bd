// SPDX-License-Identifier: Apache-2.0
// The variables of a session: values that its function reads and writes, and that outlive its runs.
#ifndef SMR_SESSION_STATE_STATE_H
#define SMR_SESSION_STATE_STATE_H

#include "session/frame/frame.h"

struct smr_session_variable {
  const struct smr_variable *variable;
  void *data;
  void *spare;  // NULL unless the function writes it
};

struct smr_state {
  struct smr_session_variable *variables;
  uint32_t count;
  size_t bytes;  // of their buffers
};

/// Whether an input or output with this index of a variable is bound to one.
static inline bool smr_bound(int32_t variable) { return SMR_HAS(variables) && variable >= 0; }

/// Buffers of the variables that the entry function binds, with their initial values.
samara_status smr_state_create(samara_session *session);
/// The value of a variable, for smr_value_read.
struct smr_tensor smr_state_tensor(const struct smr_session_variable *v);
/// Make what the run computed for the variables their values, all or none.
samara_status smr_state_commit(samara_session *session);

#endif
