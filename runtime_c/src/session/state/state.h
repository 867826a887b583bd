// SPDX-License-Identifier: Apache-2.0
// The variables of a session: values that its function reads and writes, and that outlive its runs.
#ifndef SMR_SESSION_STATE_STATE_H
#define SMR_SESSION_STATE_STATE_H

#include "session/frame/frame.h"

struct smr_session_variable {
  const struct smr_variable *variable;
  void *data;
  void *spare;  // NULL unless the function writes it
  bool leaves;  // a run on a device leaves its new value there
};

/// Variables whose newest values lie on a device alone are *away*: the host has those of some runs
/// ago, and the inputs of all runs since, so that it can compute them again where the device does
/// not answer any more.
struct smr_away {
  struct smr_block block;  // base_bytes, then `capacity` times run_bytes
  size_t base_bytes;       // what variables that do not leave had when the others left
  size_t run_bytes;        // inputs of a run
  uint32_t count;          // runs since; 0: no variable is away
  uint32_t capacity;       // 0: the host takes the values after every run
};

struct smr_state {
  struct smr_session_variable *variables;
  uint32_t count;
  size_t bytes;  // of their buffers
};

/// Whether an input or output with this index of a variable is bound to one.
static inline bool smr_bound(int32_t variable) { return SMR_HAS(variables) && variable >= 0; }

/// Whether a run that is going on leaves the variable's new value on a device.
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
/// The value of a variable, for smr_value_read.
struct smr_tensor smr_state_tensor(const struct smr_session_variable *v);
/// Make what the run computed for the variables their values, all or none.
samara_status smr_state_commit(samara_session *session);

#endif
