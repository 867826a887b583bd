// SPDX-License-Identifier: Apache-2.0
// The operators that live in the session instead of ops/: if, loop and call run functions, trap
// fails, and custom runs what the program that loads the model brings along.
#ifndef SMR_SESSION_CONTROL_CONTROL_H
#define SMR_SESSION_CONTROL_CONTROL_H

#include "session/stage/stage.h"

/// Inputs of a loop that are neither carried nor captured: max_trip, condition; of its body: i,
/// condition.
enum { SMR_LOOP_FIXED = 2 };

/// The operators that the session options bring. The caller's structs may be longer than ours.
struct smr_custom_ops {
  const samara_custom_op *ops;
  size_t count;
};

/* ---- control.c ---- */

/// What an operator is to the session.
enum smr_control smr_control_kind(const struct smr_op *op);
/// How many functions the node calls, which are its first attributes. Fails where this build lacks
/// the operator.
samara_status smr_control_callees(const struct smr_frame_node *node, uint32_t *count);
/// Build the node's state. Its callees are built, and the reader has seen that signatures fit.
samara_status smr_control_build(struct smr_frame *frame, struct smr_frame_node *node,
                                const struct smr_custom_ops *custom);
/// Widen the input bounds of the callees.
void smr_control_bounds(struct smr_frame *frame, struct smr_frame_node *node);
/// Set scratch_capacity; the callees are planned.
samara_status smr_control_plan(struct smr_frame_node *node);
samara_status smr_control_run(struct smr_frame *frame, struct smr_frame_node *node);
/// Make `from` the node's output: its dims, and its bytes unless they are there already.
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

/* ---- provided by session/run.c: a node runs frames, and a frame runs nodes ---- */

/// Run an entered frame.
samara_status smr_frame_run(struct smr_frame *frame);

#endif
