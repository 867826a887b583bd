// SPDX-License-Identifier: Apache-2.0
// What a user may see of a session besides its outputs: tensors inside of a run, times, choices,
// memory. Nothing here changes what a run computes.
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
  const char **watch_names;  // room for what the watch function sees of one node
  samara_tensor *watch_tensors;
};

/// Take what the options ask to keep; their array lives during create only.
samara_status smr_keep_options(struct smr_keep *keep, const samara_session_options *options,
                               samara_error *error);
/// Whether the options name this tensor.
bool smr_keep_wants(const struct smr_keep *keep, const char *name);
/// When all frames are built: every name was found; room for what the watch function sees.
samara_status smr_keep_end(samara_session *session);
/// After a node: gather kept outputs, and show all to the watch function.
samara_status smr_keep_node(struct smr_keep *keep, struct smr_frame *frame,
                            const struct smr_frame_node *node);

/* ---- profile.c ---- */

struct smr_profile {
  bool on;      // the next run is timed
  bool was_on;  // the last run was
};

/// Where smr_profile_next goes on.
struct smr_profile_walk {
  uint32_t frames_left, node;
  const struct smr_frame *frame;
};
/// Start at the first node of the last run. BAD_STATE when it was not timed.
samara_status smr_profile_begin(const samara_session *session, struct smr_profile_walk *walk);
/// The next node that ran and its row, callers before callees; NULL after the last.
const struct smr_frame_node *smr_profile_next(const samara_session *session,
                                              struct smr_profile_walk *walk,
                                              samara_profile_row *row);

/* ---- choices.c ---- */

/// Take measured choices, one line per node, if they are for this model and CPU; common->isa is
/// set. *out stays NULL where they are not.
samara_status smr_choices_take(struct smr_common *common, const char *tuned, const char **out);
/// The algorithm that was measured best for a node, up to a newline; NULL where none was.
const char *smr_choices_find(const char *choices, const char *function, const char *node);

#endif
