// SPDX-License-Identifier: Apache-2.0
// Prepares a frame stage by stage: evaluates and checks dims, prepares nodes, points tensors at
// memory.
#ifndef SMR_SESSION_STAGE_STAGE_H
#define SMR_SESSION_STAGE_STAGE_H

#include "session/device/device.h"

/* ---- frame_stage.c ---- */

/// Read the caller's inputs and outputs (given_*), and evaluate and prepare stage 0 if dims
/// changed. `base` is the frame's arena.
samara_status smr_frame_enter(struct smr_frame *frame, uint8_t *base);
/// Evaluate the expressions of stage `stage`.
samara_status smr_frame_evaluate(struct smr_frame *frame, uint32_t stage);
/// Evaluate, check and prepare stage `stage`. Does nothing if no dim changed.
samara_status smr_frame_stage(struct smr_frame *frame, uint32_t stage);
/// Set the pointers of the values and scratch of the stages up to `stage`.
samara_status smr_frame_attach(struct smr_frame *frame, uint32_t stage);
/// Allocate `size_bytes` bytes for value `id` if needed, and set its data.
samara_status smr_value_attach(struct smr_frame *frame, uint32_t id, size_t size_bytes);
/// The address where value `id` can be written before its size is known, and its capacity. NULL if
/// memory is allocated only once the size is known.
void *smr_value_target(struct smr_frame *frame, uint32_t id, size_t *capacity_bytes);
/// Set the actual dims of output `output` of a late node, which must equal dims already known.
/// Attaches it.
samara_status smr_value_settle(struct smr_frame *frame, struct smr_frame_node *node,
                               uint32_t output, const int64_t *dims);
/// Point job.scratch at planned scratch, or at a larger block if the plan was too small.
samara_status smr_node_attach_scratch(struct smr_frame *frame, struct smr_frame_node *node);

/* ---- frame_node.c ---- */

/// Evaluate attributes, check, and prepare unless the node is late.
samara_status smr_node_prepare(struct smr_frame *frame, struct smr_frame_node *node);
/// Call the operator's prepare() and get derived layouts of its constants.
samara_status smr_node_prepare_run(struct smr_frame *frame, struct smr_frame_node *node);
/// Try to prepare a node with upper-bound dims, for the size of its scratch. Only OUT_OF_MEMORY is
/// a failure.
samara_status smr_node_estimate(struct smr_frame *frame, struct smr_frame_node *node);
/// Bytes of scratch that the prepared node needs for all threads.
size_t smr_node_scratch(const struct smr_frame *frame, const struct smr_frame_node *node);

/* ---- control/custom.c ---- */

/// Check, and prepare if all output dims are known.
samara_status smr_custom_check(struct smr_frame *frame, struct smr_frame_node *node);

#endif
