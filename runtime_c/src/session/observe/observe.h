// SPDX-License-Identifier: Apache-2.0
// Observers of a session: intermediate tensors, times, algorithms, memory. They do not change what
// a run computes.
#ifndef SMR_SESSION_OBSERVE_OBSERVE_H
#define SMR_SESSION_OBSERVE_OBSERVE_H

#include "session/frame/frame.h"

/* ---- keep.c: kept and watched tensors ---- */

struct smr_keep {
  bool all;                  // keep every tensor
  const char *const *names;  // of tensors to keep, until the frames are built
  size_t count;              // of names
  samara_watch_fn watch;
  void *watch_user;
  const char **watch_names;  // arguments of the watch function for one node
  samara_tensor *watch_tensors;
};

/// Read the options to keep tensors; their array lives during create only.
samara_status smr_keep_options(struct smr_keep *keep, const samara_session_options *options,
                               samara_error *error);
/// Whether the options name this tensor.
bool smr_keep_wants(const struct smr_keep *keep, const char *name);
/// After all frames are built: check that every name was found, and allocate the arguments of the
/// watch function.
samara_status smr_keep_end(samara_session *session);
/// After a node: gather kept outputs, and call the watch function with all outputs.
samara_status smr_keep_node(struct smr_keep *keep, struct smr_frame *frame,
                            const struct smr_frame_node *node);

/* ---- profile.c ---- */

struct smr_profile {
  bool on;      // the next run is timed
  bool was_on;  // the last run was
};

/// Position of smr_profile_next.
struct smr_profile_walk {
  uint32_t frames_left, node;
  const struct smr_frame *frame;
};
/// Start at the first node of the last run. BAD_STATE if it was not timed.
samara_status smr_profile_begin(const samara_session *session, struct smr_profile_walk *walk);
/// The next node that ran and its row, callers before callees; NULL after the last.
const struct smr_frame_node *smr_profile_next(const samara_session *session,
                                              struct smr_profile_walk *walk,
                                              samara_profile_row *row);

/* ---- choices.c ---- */

/// Read measured choices, one line per node, if they are for this model and CPU; else *out stays
/// NULL. common->isa must be set.
samara_status smr_choices_take(struct smr_common *common, const char *tuned, const char **out);
/// The algorithm measured best for a node, up to a newline; NULL if there is none.
const char *smr_choices_find(const char *choices, const char *function, const char *node);

#endif
