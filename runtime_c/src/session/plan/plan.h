// SPDX-License-Identifier: Apache-2.0
// Memory planning of a frame: upper bounds of dims, views, and offsets in the arena.
#ifndef SMR_SESSION_PLAN_PLAN_H
#define SMR_SESSION_PLAN_PLAN_H

#include "session/frame/frame.h"

/// A dim or a size without upper bound.
#define SMR_UNBOUNDED_DIM INT64_MAX
#define SMR_UNBOUNDED_BYTES SIZE_MAX

/* ---- bounds.c ---- */

/// Compute intervals of all expressions; for stages below `exact_stages` from the exact `exprs`.
void smr_frame_bounds(struct smr_frame *frame, uint32_t exact_stages);
/// The least and the largest value of an expression. Builds without bounds have exact values.
static inline int64_t smr_expr_lo(const struct smr_frame *frame, uint32_t expr) {
  return SMR_HAS_BOUNDS ? frame->lo[expr] : frame->exprs[expr];
}
static inline int64_t smr_expr_hi(const struct smr_frame *frame, uint32_t expr) {
  return SMR_HAS_BOUNDS ? frame->hi[expr] : frame->exprs[expr];
}
/// Whether an expression has only one possible value.
static inline bool smr_expr_fixed(const struct smr_frame *frame, uint32_t expr) {
  return !SMR_HAS_BOUNDS || frame->lo[expr] == frame->hi[expr];
}
/// Upper bound of a dim of a value, SMR_UNBOUNDED_DIM if none.
int64_t smr_value_dim_bound(const struct smr_frame *frame, uint32_t id, uint32_t axis);
/// Upper bound of its bytes, SMR_UNBOUNDED_BYTES if none.
size_t smr_value_bytes_bound(const struct smr_frame *frame, uint32_t id);
/// Widen the bounds of input `input` of `callee` by those of the caller's value.
void smr_frame_widen_input(const struct smr_frame *frame, uint32_t value, struct smr_frame *callee,
                           uint32_t input);

/* ---- views.c ---- */

/// Require the parts of the build for operators that may have nothing to do, such as reshape and
/// concat.
samara_status smr_views_need(const struct smr_job *job);
/// Note which values must be dense. Called before nodes are built.
void smr_views_begin(struct smr_frame *frame);
/// If possible, make outputs of a reshape, split or slice views of its input. Called for nodes in
/// order.
void smr_views_of_input(struct smr_frame *frame, struct smr_frame_node *node);
/// If possible, make inputs of concats parts of their outputs. Called after all nodes are built.
samara_status smr_views_end(struct smr_frame *frame);

/* ---- views_grow.c ---- */

/// Whether the node only adds rows to a variable that grows: it reads the variable and makes its
/// next value, nothing else reads the old one, and the rows come behind those in use. Both values
/// are then the same bytes, and a run that fails is undone by the length alone.
bool smr_views_adds_rows(const struct smr_function *f, const struct smr_variable *variables,
                         const struct smr_node *node);

/* ---- plan.c ---- */

/// Receives a plan: items with their offsets, in any order.
typedef void (*smr_plan_take_fn)(void *user, const struct smr_plan_item *items, size_t count);
/// Assign offsets to items so that those that live at the same time do not overlap, in as few bytes
/// as a few tries find. Calls `take` for each plan smaller than all before; the last is the result,
/// of *total bytes. If `take` is NULL, `user` is the frame whose values and scratch get the
/// offsets. False if the size overflows.
bool smr_plan_pack(struct smr_plan_item *items, size_t count, smr_plan_take_fn take, void *user,
                   size_t *total);

/// Decide for the values made in stages [begin, end) which share memory, and its home, size and
/// lifetime.
void smr_frame_place(struct smr_frame *frame, uint32_t begin, uint32_t end);
/// Assign arena offsets to these values and to the scratch of the nodes of these stages. Sets
/// `*size_bytes` to the size of the arena.
samara_status smr_frame_plan(struct smr_frame *frame, uint32_t begin, uint32_t end,
                             size_t *size_bytes);

#endif
