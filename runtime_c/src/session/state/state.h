// SPDX-License-Identifier: Apache-2.0
// The variables of a session: values that its function reads and writes and that persist between
// runs.
#ifndef SMR_SESSION_STATE_STATE_H
#define SMR_SESSION_STATE_STATE_H

#include "session/frame/frame.h"

struct smr_session_variable {
  const struct smr_variable *variable;
  void *data;
  void *spare;                                // NULL unless the function writes all of it
  const struct smr_session_variable *length;  // of one that grows: what counts its rows; else NULL
  bool leaves;                                // stays on a device: a run leaves its new value there
};

/// Variables whose newest values are only on a device. The host has the values of some runs ago and
/// the inputs of all runs since, so that it can recompute them if the device fails.
struct smr_away {
  struct smr_block block;  // base_bytes, then `capacity` times run_bytes
  size_t base_bytes;       // values of the other variables at the time of the host's values
  size_t run_bytes;        // bytes of the inputs of a run
  uint32_t count;          // runs since; 0: the host has all newest values
  uint32_t capacity;       // 0: the host fetches the values after every run
};

struct smr_state {
  struct smr_session_variable *variables;
  uint32_t count;
  size_t bytes;  // bytes of their buffers
};

/// Whether an input or output with this variable index is bound to a variable.
static inline bool smr_bound(int32_t variable) { return SMR_HAS(variables) && variable >= 0; }

/// Whether the current run leaves the variable's new value on a device.
static inline bool smr_leaves(const struct smr_session_variable *v) {
  return SMR_HAS(backends) && v->leaves;
}
/// Make the spare buffer the value.
static inline void smr_state_swap(struct smr_session_variable *v) {
  void *old = v->data;
  v->data = v->spare;
  v->spare = old;
}

/// Buffers of the variables that the entry function binds, with their initial values.
samara_status smr_state_create(samara_session *session);
/// The value of a variable, for smr_value_read. Of one that grows, the rows in use.
struct smr_tensor smr_state_tensor(const struct smr_session_variable *v);
/// The rows in use where its length is `length`, of a variable that grows.
int64_t smr_state_rows(const struct smr_variable *variable, int64_t length);
/// Make the values computed by the run the values of the variables, all or none.
samara_status smr_state_commit(samara_session *session);

#endif
