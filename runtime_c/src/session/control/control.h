// SPDX-License-Identifier: Apache-2.0
// The operators implemented in the session instead of ops/: if, loop and call run functions, trap
// fails, custom runs an operator of the application.
#ifndef SMR_SESSION_CONTROL_CONTROL_H
#define SMR_SESSION_CONTROL_CONTROL_H

#include "session/stage/stage.h"

/// Leading inputs that are neither carried nor captured: max_trip and condition of a loop, i and
/// condition of its body.
enum { SMR_LOOP_FIXED = 2 };

/// The custom operators of the session options. The caller's structs may be longer than ours.
struct smr_custom_ops {
  const samara_custom_op *ops;
  size_t count;
};

/* ---- control.c ---- */

/// The control kind of an operator.
enum smr_control smr_control_kind(const struct smr_op *op);
/// How many functions the node calls; they are its first attributes. Fails if this build lacks the
/// operator.
samara_status smr_control_callees(const struct smr_frame_node *node, uint32_t *count);
/// Build the node's state. Its callees are built, and the file reader checked the signatures.
samara_status smr_control_build(struct smr_frame *frame, struct smr_frame_node *node,
                                const struct smr_custom_ops *custom);
/// Widen the input bounds of the callees.
void smr_control_bounds(struct smr_frame *frame, struct smr_frame_node *node);
/// Set scratch_capacity. The callees must be planned.
samara_status smr_control_plan(struct smr_frame_node *node);
samara_status smr_control_run(struct smr_frame *frame, struct smr_frame_node *node);
/// Set the node's output to `from`: its dims, and its bytes unless they are already there.
samara_status smr_control_take(struct smr_frame *frame, struct smr_frame_node *node,
                               uint32_t output, const struct smr_tensor *from);

/* ---- control_loop.c ---- */

samara_status smr_loop_build(struct smr_frame *frame, struct smr_frame_node *node);
samara_status smr_loop_plan(struct smr_frame_node *node);
samara_status smr_loop_run(struct smr_frame *frame, struct smr_frame_node *node);

/* ---- custom.c ---- */

/// BAD_ARGUMENT for descriptors that cannot be used.
samara_status smr_custom_check_options(const struct smr_custom_ops *custom, samara_error *error);
samara_status smr_custom_build(struct smr_frame *frame, struct smr_frame_node *node,
                               const struct smr_custom_ops *ops);
samara_status smr_custom_run(struct smr_frame *frame, struct smr_frame_node *node);

/* ---- session/run.c: control nodes run frames, frames run nodes ---- */

/// Run an entered frame.
samara_status smr_frame_run(struct smr_frame *frame);

#endif
