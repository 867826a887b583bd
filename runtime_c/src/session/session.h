// SPDX-License-Identifier: Apache-2.0
// Inside a session: frames, what they hold, and the functions the session's files share.
//
// A *frame* is the memory of one function: the call graph is acyclic, so a function is never active
// twice at once and one frame per function is enough. Dims are evaluated stage by stage; a frame
// whose dims all have upper bounds is laid out once, in one arena (a callee's arena is scratch of
// the node that calls it), and runs without allocating. Any other frame is *growing*: it takes a
// chunk per stage when the stage is reached.
#ifndef SMR_SESSION_SESSION_H
#define SMR_SESSION_SESSION_H

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "model/model.h"
#include "ops/op.h"

struct smr_frame;

enum {
  SMR_INLINE_BYTES = 128 * 1024,  // see smr_job_bytes
  SMR_INLINE_WORK = 1 << 18,      // multiply-adds: two microseconds or more
  SMR_FOLLOW_BYTES = 16 * 1024,   // where the cores have parts of x already
};

/// A dim or a size without upper bound.
#define SMR_UNBOUNDED_DIM INT64_MAX
#define SMR_UNBOUNDED_BYTES SIZE_MAX

/// Memory that grows and never shrinks, until the session is destroyed; counts as arena.
struct smr_block {
  void *data;
  size_t size_bytes;
  struct smr_block *next;  // of the session's blocks
};

/// Where a value's bytes are. Decided for roots; the other values of a group share the root's.
enum smr_home {
  SMR_HOME_NONE,      // nothing makes it
  SMR_HOME_CONSTANT,  // in the model's image
  SMR_HOME_INPUT,     // the caller's
  SMR_HOME_OUTPUT,    // where the caller wants this output; in `own` when it says NULL
  SMR_HOME_ARENA,     // at `offset` of the frame's arena, or of the chunk of its stage
  SMR_HOME_OWN,       // a block of its own: size known late, or kept inside a callee
};

// In structs of this header what is read most comes first, and large members last: near fields take
// shorter instructions.
struct smr_frame_value {
  uint32_t alias_of;     // value that this one is a view of by construction; itself if none
  size_t view_bytes;     // of a part: from the first byte of alias_of to its own
  int64_t view_stride;   // of a part with gaps: its pixel_stride; 0 where dense
  uint32_t root;         // head of the group that shares memory in the current plan
  uint32_t first, last;  // of a root: nodes between which its bytes live; last may be node_count
  uint32_t dims_stage;   // from which its dims can be evaluated
  int32_t output;        // of a root at HOME_OUTPUT: which
  uint8_t home;          // of a root
  bool kept;
  bool is_output;         // of the function
  bool varies;            // some of its dims is not a constant
  bool part;              // a view of some of the bytes of alias_of
  bool dense_only;        // somebody reads it without minding a pixel stride
  size_t capacity_bytes;  // of a root: upper bound of its bytes, SMR_UNBOUNDED_BYTES if none
  size_t offset;
  struct smr_block own;
  struct smr_tensor tensor;
};

enum smr_control {
  SMR_CONTROL_NONE,
  SMR_CONTROL_IF,
  SMR_CONTROL_LOOP,
  SMR_CONTROL_CALL,
  SMR_CONTROL_TRAP,
  SMR_CONTROL_CUSTOM,
};

struct smr_frame_node {
  const struct smr_node *node;
  struct smr_attr *attrs;       // the frame's own, lists that are evaluated included
  struct smr_frame *callee[2];  // if: then, else; loop, call: body
  void *control;                // struct smr_loop_state, struct smr_custom_state
  uint8_t kind;                 // enum smr_control
  bool alias;                   // output 0 is a view of input 0: nothing to run
  bool placed;                  // of concat, split, slice: all it would copy lies where it belongs
  bool late;                    // output dims are known only when it runs
  bool prepared;
  size_t scratch_capacity;  // planned bytes
  size_t scratch_offset;
  struct smr_block overflow;  // scratch beyond the plan
  /* profile of the current run */
  uint64_t run_number;  // last run that executed it
  uint64_t start_ns, total_ns, count;
  struct smr_job job;
};

/// What the node is to the session.
static inline enum smr_control smr_node_control(const struct smr_frame_node *node) {
  return SMR_HAS_CONTROL ? (enum smr_control)node->kind : SMR_CONTROL_NONE;
}

/// Whether the node's outputs are views, so that there is nothing to run.
static inline bool smr_node_is_view(const struct smr_frame_node *node) {
  return SMR_HAS(views) && (node->alias || node->placed);
}

/// A piece of memory that lives from node `first` to node `last`.
struct smr_plan_item {
  uint32_t first, last;
  uint32_t owner;  // value, or value_count + node: its scratch
  uint8_t rank;    // higher ranks are placed first
  size_t size_bytes, offset;
};

/// Indices grouped by stage: order[begin[s] .. begin[s + 1]). Without `late` dims there is one
/// stage, and nothing to group.
struct smr_staged {
  uint32_t *order;
  uint32_t *begin;
};

static inline uint32_t smr_stage_count(const struct smr_function *f) {
  return SMR_HAS(late) ? f->stage_count : 1;
}
/// Whether an expression can be evaluated by stage `stage`.
static inline bool smr_expr_known(const struct smr_function *f, uint32_t expr, uint32_t stage) {
  return !SMR_HAS(late) || f->expr_stage[expr] <= stage;
}
/// The indices of a stage, of `count` in all: smr_staged_at(s, i) for i from begin to end.
static inline uint32_t smr_staged_begin(const struct smr_staged *s, uint32_t stage) {
  return SMR_HAS(late) ? s->begin[stage] : 0;
}
static inline uint32_t smr_staged_end(const struct smr_staged *s, uint32_t stage, uint32_t count) {
  return SMR_HAS(late) ? s->begin[stage + 1] : count;
}
static inline uint32_t smr_staged_at(const struct smr_staged *s, uint32_t i) {
  return SMR_HAS(late) ? s->order[i] : i;
}

struct smr_frame {
  samara_session *session;
  const struct smr_function *function;
  struct smr_frame_value *values;
  struct smr_frame_node *nodes;
  int64_t *exprs;  // exact values, as far as the stages are valid
  int64_t *lo, *hi;
  struct smr_staged staged_exprs, staged_values, staged_guards;
  uint32_t *stage_begin;     // nodes of stage s: [stage_begin[s], stage_begin[s + 1])
  bool *stage_valid;         // evaluated, checked and prepared for the current dims
  struct smr_block *chunks;  // of a growing frame, per stage
  int64_t (*input_dims)[SAMARA_MAX_RANK];
  int64_t (*input_lo)[SAMARA_MAX_RANK];
  int64_t (*input_hi)[SAMARA_MAX_RANK];
  /* what the caller gives to the next smr_frame_enter, and leaves there until its run ends */
  const struct smr_tensor **given_inputs;  // dims and data
  void **given_data;                       // where each output shall be; NULL: the frame's choice
  size_t *given_capacity;                  // bytes there
  struct smr_plan_item *items;             // of the planner: values and nodes
  uint8_t *base;
  size_t arena_bytes;
  uint32_t attached;  // stages whose pointers are set
  bool is_entry;
  bool called;   // input bounds are set
  bool entered;  // input_dims are those of the last evaluation
  bool growing;
  bool planned;
};

/// An input of the entry function, by position (also those bound to variables).
struct smr_session_input {
  int64_t dims[SAMARA_MAX_RANK];
  int64_t former[SAMARA_MAX_RANK];  // dims to go back to when a resize fails
  bool known, was_known;            // dims are
  struct smr_block own;
  const void *data;  // own.data or the caller's
  size_t size_bytes;
  int32_t variable;  // index into samara_session.variables, or -1 (smr_bound)
};

/// An output of the entry function.
struct smr_session_output {
  struct smr_block copy;  // where its bytes are not the frame's to keep
  struct samara_tensor result;
  int32_t variable;
};

/// Whether an input or output with this index of a variable is bound to one.
static inline bool smr_bound(int32_t variable) { return SMR_HAS(variables) && variable >= 0; }

struct smr_session_variable {
  const struct smr_variable *variable;
  void *data;
  void *spare;  // NULL unless the function writes it
};

/// Memory handed out piecewise and freed with the session.
struct smr_session_region {
  struct smr_session_region *next;
  size_t used_bytes, size_bytes;
};

struct samara_session {
  const samara_model *model;
  const struct smr_function *function;  // that it runs: the entry frame's
  samara_allocator allocator;
  samara_log_fn log;
  void *log_user;
  samara_pool *pool;
  size_t threads;
  bool shares;  // whether the last job's tiles went to the pool
  samara_error *thread_errors;
  size_t *thread_begins;  // where the range began that failed first in this thread
  uint32_t isa;
  bool strict;
  bool bfloat16;
  bool keep_all;
  bool profiling;
  bool profiled;  // the last run was
  bool ready;     // shapes are set and planned
  bool ran;       // outputs are there
  bool warned_growing;
  uint64_t max_arena_bytes, max_steps;
  struct smr_deadline deadline;  // of the current run
  const samara_custom_op *custom_ops;
  size_t custom_op_count;
  const char *const *keep;
  size_t keep_count;
  struct smr_frame **frames;  // by function of the model; NULL: not reachable
  struct smr_frame **order;   // callees before callers
  uint32_t frame_count;
  struct smr_frame *entry;
  struct smr_session_input *inputs;
  struct smr_session_output *outputs;
  struct smr_tensor *entry_inputs;
  struct smr_session_variable *variables;
  uint32_t variable_count;
  struct smr_block arena;
  samara_watch_fn watch;
  void *watch_user;
  const char **watch_names;
  samara_tensor *watch_tensors;
  struct smr_session_region *regions;
  struct smr_block *blocks;  // that were allocated
  size_t arena_bytes, variable_bytes, total_bytes;
  SMR_ATOMIC(int) run_state;  // enum smr_run_state
  uint64_t run_number, steps;
  const char *tuned;       // measured choices, one line per node; or NULL
  struct smr_parts parts;  // what it needs beyond its nodes and its model
  samara_error error;
};

enum smr_run_state { SMR_RUN_IDLE, SMR_RUN_GOING, SMR_RUN_CANCELLED };

/* ---- session_memory.c ---- */

/// Put into the pointer at `out` where `count * size_bytes` zeroed bytes lie, 64-aligned, until the
/// session is destroyed. Count 0 gives a pointer too. Only OUT_OF_MEMORY, and then NULL.
samara_status smr_session_take(samara_session *session, size_t count, size_t size_bytes, void *out);
/// The same for `count` elements behind `pointer`; returns from the calling function on failure.
#define SMR_TAKE(session, pointer, count) \
  SMR_TRY(smr_session_take((session), (count), sizeof *(pointer), &(pointer)))
/// Free all regions, and all blocks before.
void smr_session_release(samara_session *session);
/// Make `block` at least `size_bytes` large. Keeps the first `keep_bytes` bytes. LIMIT beyond
/// max_arena_bytes; on failure the block is as before.
samara_status smr_block_ensure(samara_session *session, struct smr_block *block, size_t size_bytes,
                               size_t keep_bytes, const char *what);
/// `n` rounded up to a multiple of SMR_ALIGNMENT; SIZE_MAX when that does not fit.
size_t smr_align64(size_t n);

/* ---- create.c, session_api.c ---- */

/// The instruction sets to use below `ceiling` (NULL: none given). BAD_ARGUMENT for unknown names,
/// in SAMARA_ISA too.
samara_status smr_isa_resolve(const char *ceiling, uint32_t *isa, samara_error *error);

/// Plan for the dims in session->inputs, and make room for the inputs.
samara_status smr_session_shape(samara_session *session);

/* ---- choices.c ---- */

/// Take measured choices, if they are for this model and CPU; session->isa is set.
samara_status smr_choices_take(samara_session *session, const char *tuned);
/// The algorithm that was measured best for a node, up to a newline; NULL where none was.
const char *smr_choices_find(const samara_session *session, const char *function, const char *node);

/* ---- frame_build.c ---- */

/// Make the frames of `function` and of all it calls, with everything that does not depend on dims.
samara_status smr_frame_build(samara_session *session, uint32_t function, struct smr_frame **out);

/* ---- frame.c ---- */

/// Take what the caller gave (given_*), and evaluate and prepare stage 0 if the dims are new.
/// `base` is the frame's arena.
samara_status smr_frame_enter(struct smr_frame *frame, uint8_t *base);
/// Evaluate the expressions of stage `stage`.
samara_status smr_frame_evaluate(struct smr_frame *frame, uint32_t stage);
/// Evaluate, check and prepare stage `stage`; a no-op when nothing changed.
samara_status smr_frame_stage(struct smr_frame *frame, uint32_t stage);
/// Set the pointers of the values and scratch of the stages up to `stage`.
samara_status smr_frame_attach(struct smr_frame *frame, uint32_t stage);
/// Put "function 'f': " before the session's error text.
samara_status smr_frame_fail(const struct smr_frame *frame, samara_status status);
/// Fail with a text that begins so.
#define SMR_FRAME_FAIL(frame, CODE, ...) \
  return smr_frame_fail((frame), smr_fail(&(frame)->session->error, SAMARA_##CODE, __VA_ARGS__))
/// Fail: the value `name` does not fit what its bounds let the plan set aside.
samara_status smr_frame_exceeds(const struct smr_frame *frame, const char *name, size_t bytes,
                                size_t planned);
/// Make room for `size_bytes` bytes of value `id` and set its data.
samara_status smr_value_attach(struct smr_frame *frame, uint32_t id, size_t size_bytes);
/// Where value `id` can be written before its size is known, and how many bytes fit; NULL when it
/// gets its memory only then.
void *smr_value_target(struct smr_frame *frame, uint32_t id, size_t *capacity_bytes);
/// Take the real dims of output `output` of a late node: known ones must agree. Attaches it.
samara_status smr_value_settle(struct smr_frame *frame, struct smr_frame_node *node,
                               uint32_t output, const int64_t *dims);
/// Dims of a value from expressions that can be evaluated by stage `stage`; the others are 0.
samara_status smr_value_known_dims(struct smr_frame *frame, uint32_t id, uint32_t stage);
/// Bytes of dense dims; BAD_SHAPE naming the value when negative or too large. Sets pixel_stride.
samara_status smr_tensor_size(struct smr_frame *frame, struct smr_tensor *tensor);
/// The same for a value, whose pixels may lie further apart.
samara_status smr_value_size(struct smr_frame *frame, uint32_t id);

/* ---- views.c ---- */

/// Whether the value is a part of another. The fields behind this are set in builds with views
/// only.
static inline bool smr_value_is_part(const struct smr_frame_value *value) {
  return SMR_HAS(views_parts) && value->part;
}
/// Elements between its pixels where they lie apart, else 0.
static inline int64_t smr_value_gap(const struct smr_frame_value *value) {
  return SMR_HAS(views_parts) ? value->view_stride : 0;
}
/// Needs the parts for an operator that may have nothing to do: reshape, concat and the like.
samara_status smr_views_need(const struct smr_job *job);
/// Note which values must be dense. Before any node is built.
void smr_views_begin(struct smr_frame *frame);
/// Make outputs of a reshape, split or slice views of its input, where possible. Nodes in order.
void smr_views_of_input(struct smr_frame *frame, struct smr_frame_node *node);
/// Make inputs of concats parts of their outputs, where possible. When all nodes are built.
samara_status smr_views_end(struct smr_frame *frame);

/* ---- keep.c: kept and watched tensors ---- */

static inline bool smr_value_kept(const struct smr_frame_value *value) {
  return SMR_HAS(keep) && value->kept;
}
/// Take what the options ask to keep; their array lives during create only.
samara_status smr_keep_options(samara_session *session, const samara_session_options *options);
/// Whether the options name this tensor.
bool smr_keep_wants(const samara_session *session, const char *name);
/// When all frames are built: every name was found; room for what the watch function sees.
samara_status smr_keep_end(samara_session *session);
/// After a node: gather kept outputs, and show all to the watch function.
samara_status smr_keep_node(struct smr_frame *frame, const struct smr_frame_node *node);

/* ---- frame_node.c ---- */

/// Evaluate attributes, check, and prepare unless the node is late.
samara_status smr_node_prepare(struct smr_frame *frame, struct smr_frame_node *node);
/// prepare() and derived layouts alone.
samara_status smr_node_prepare_run(struct smr_frame *frame, struct smr_frame_node *node);
/// Try to prepare a node with upper-bound dims, for the size of its scratch. Only OUT_OF_MEMORY is
/// a failure.
samara_status smr_node_estimate(struct smr_frame *frame, struct smr_frame_node *node);
/// Bytes of scratch that the prepared node needs for all threads.
size_t smr_node_scratch(const struct smr_frame *frame, const struct smr_frame_node *node);
/// Point job.scratch at planned scratch, or at more where the plan was too small.
samara_status smr_node_attach_scratch(struct smr_frame *frame, struct smr_frame_node *node);
/// Where a node came from, NULL when the model does not say.
const struct smr_source *smr_node_source(const samara_session *session,
                                         const struct smr_frame_node *node);
/// Put "function 'f', node 'n' (op, file:line): " before the session's error text.
samara_status smr_node_fail(struct smr_frame *frame, const struct smr_frame_node *node,
                            samara_status status);

/* ---- bounds.c, plan.c, session_plan.c ---- */

/// Intervals of all expressions; stages below `exact_stages` are taken from `exprs`.
void smr_frame_bounds(struct smr_frame *frame, uint32_t exact_stages);
/// The least and the largest value of an expression. Where a build has no bounds, they are exact.
static inline int64_t smr_expr_lo(const struct smr_frame *frame, uint32_t expr) {
  return SMR_HAS_BOUNDS ? frame->lo[expr] : frame->exprs[expr];
}
static inline int64_t smr_expr_hi(const struct smr_frame *frame, uint32_t expr) {
  return SMR_HAS_BOUNDS ? frame->hi[expr] : frame->exprs[expr];
}
/// Whether it is known.
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
/// Groups, homes, capacities and lifetimes of the values made in stages [begin, end).
void smr_frame_place(struct smr_frame *frame, uint32_t begin, uint32_t end);
/// Offsets for those, and the bytes they take. `*size_bytes` gets the size.
samara_status smr_frame_plan(struct smr_frame *frame, uint32_t begin, uint32_t end,
                             size_t *size_bytes);
/// Plan everything for the dims in session->inputs.
samara_status smr_session_plan(samara_session *session);

/* ---- run.c ---- */

/// Run an entered frame.
samara_status smr_frame_run(struct smr_frame *frame);
/// Run a job's tiles on the session's pool (threads.c).
samara_status smr_session_share(samara_session *session, const struct smr_job *job,
                                uint8_t *scratch);
/// Run the entry function on the inputs given to its frame, and set the results.
samara_status smr_session_run_entry(samara_session *session);
/// Bytes of a job's operands, with or without its constants, counted up to SMR_INLINE_BYTES: below,
/// threads cost more than they save (0.4 us where they still look for work, some 5 us where they
/// sleep; one core moves this much in a few).
size_t smr_job_bytes(const struct smr_job *job, bool constants);
/// Whether a job's tiles go to the pool: it has several, and many bytes or much arithmetic; or it
/// follows one that was shared, and would have to fetch much of what another core has in its cache.
bool smr_job_is_worth_sharing(const struct smr_job *job, bool follows);
/// Drop a failure that means nothing: OK.
samara_status smr_session_forgive(samara_session *session);
/// Count a step; fails when the run is cancelled, too long or too late.
samara_status smr_session_tick(samara_session *session);
/// A tensor as the public interface shows it.
samara_tensor smr_public_tensor(const struct smr_tensor *tensor);
void smr_session_log(samara_session *session, samara_log_level level, const char *format, ...)
    SMR_PRINTF(3, 4);

/* ---- control.c and control_*.c: what smr_op rows marked control do ---- */

/// Inputs of a loop that are neither carried nor captured: max_trip, condition; of its body: i,
/// condition.
enum { SMR_LOOP_FIXED = 2 };

/// What the node's operator is to the session. SMR_CONTROL_NONE: an ordinary one.
enum smr_control smr_control_kind(const struct smr_op *op);
/// Build the callees. The reader has seen that signatures fit.
samara_status smr_control_build(struct smr_frame *frame, struct smr_frame_node *node);
/// Widen the input bounds of the callees.
void smr_control_bounds(struct smr_frame *frame, struct smr_frame_node *node);
/// Set scratch_capacity; the callees are planned.
samara_status smr_control_plan(struct smr_frame_node *node);
samara_status smr_control_run(struct smr_frame *frame, struct smr_frame_node *node);

/// Make `from` the node's output: its dims, and its bytes unless they are there already.
samara_status smr_control_take(struct smr_frame *frame, struct smr_frame_node *node,
                               uint32_t output, const struct smr_tensor *from);
/// Output `output` of a callee that has run.
const struct smr_tensor *smr_frame_output(const struct smr_frame *frame, uint32_t output);

samara_status smr_loop_build(struct smr_frame *frame, struct smr_frame_node *node);
samara_status smr_loop_plan(struct smr_frame_node *node);
samara_status smr_loop_run(struct smr_frame *frame, struct smr_frame_node *node);

/// BAD_ARGUMENT for descriptors that cannot be used.
samara_status smr_custom_check_options(samara_session *session);
samara_status smr_custom_build(struct smr_frame *frame, struct smr_frame_node *node);
/// check, and prepare where the dims of all outputs are known.
samara_status smr_custom_check(struct smr_frame *frame, struct smr_frame_node *node);
samara_status smr_custom_run(struct smr_frame *frame, struct smr_frame_node *node);

/* ---- profile.c ---- */

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

/* ---- state.c ---- */

/// Buffers of the variables that the entry function binds, with their initial values.
samara_status smr_state_create(samara_session *session);
/// Make what the run computed for the variables their values, all or none.
samara_status smr_state_commit(samara_session *session);

#endif
