// SPDX-License-Identifier: Apache-2.0
// A *frame* is the memory of one function of the model in a session: its values, its nodes and the
// dims that are known. The call graph has no cycle, so a function is never active twice at once and
// one frame per function is enough.
//
// Dims are evaluated stage by stage. A frame whose dims all have upper bounds is planned once, in
// one arena (a callee's arena is scratch of the calling node), and runs without allocating. Any
// other frame is *growing*: it allocates a chunk per stage when the stage is reached.
#ifndef SMR_SESSION_FRAME_FRAME_H
#define SMR_SESSION_FRAME_FRAME_H

#include "session/common/common.h"

#include <string.h>

struct smr_frame;
struct smr_frame_devices;

/// Where a value's bytes are. Set for roots; the other values of a group share the root's bytes.
enum smr_home {
  SMR_HOME_NONE,      // no node produces it
  SMR_HOME_CONSTANT,  // in the model's image
  SMR_HOME_INPUT,     // the caller's buffer
  SMR_HOME_OUTPUT,    // the caller's buffer for this output; in `own` if that is NULL
  SMR_HOME_ARENA,     // at `offset` in the frame's arena, or in the chunk of its stage
  SMR_HOME_OWN,       // its own block: its size is known late, or it is kept inside a callee
};

// Structs in this header begin with the most used fields and end with large ones, because small
// offsets make shorter instructions.
struct smr_frame_value {
  uint32_t alias_of;     // value of which this one is always a view; itself if none
  size_t view_bytes;     // of a part: offset from the first byte of alias_of
  int64_t view_stride;   // of a part with gaps: its pixel_stride; 0 if dense
  uint32_t root;         // head of the group that shares memory in the current plan
  uint32_t first, last;  // of a root: first and last node that need its bytes; last may be
                         // node_count
  uint32_t dims_stage;   // first stage in which its dims can be evaluated
  int32_t output;        // of a root: the output whose given buffer it uses, or -1
  uint8_t home;          // enum smr_home, of a root
  bool kept;
  bool is_output;         // of the function
  bool is_result;         // an output of the entry function, not bound to a variable
  bool varies;            // a dim is not constant
  bool part;              // a view of some of the bytes of alias_of
  bool dense_only;        // a reader does not support a pixel stride
  uint8_t space;          // where it is made: 0 on the host, else the number of a device
  bool on_device;         // the host never reads it
  size_t capacity_bytes;  // of a root: upper bound of its bytes, SMR_UNBOUNDED_BYTES if none
  size_t offset;
  struct smr_tensor tensor;
  struct smr_block own;
};

/// The control kind of a node.
enum smr_control {
  SMR_CONTROL_NONE,  // an ordinary operator
  SMR_CONTROL_IF,
  SMR_CONTROL_LOOP,
  SMR_CONTROL_CALL,
  SMR_CONTROL_TRAP,
  SMR_CONTROL_CUSTOM,
};

struct smr_frame_node {
  const struct smr_node *node;
  struct smr_attr *attrs;       // owned by the frame, including evaluated lists
  struct smr_frame *callee[2];  // if: then, else; loop, call: body
  void *control;                // struct smr_loop_state, struct smr_custom_state
  uint8_t kind;                 // enum smr_control
  uint8_t space;                // where it runs: 0 on the host, else the number of a device
  bool alias;                   // output 0 is a view of input 0: nothing to run
  bool placed;                  // of concat, split, slice: everything it would copy is already
                                // there
  bool late;                    // output dims are known only when it runs
  bool prepared;
  bool float16;             // on a device: its float32 operands are float16 there
  size_t scratch_capacity;  // planned bytes
  size_t scratch_offset;
  uint64_t run_number;  // last run that executed it
  struct smr_job job;
  const char *reason;                  // why it runs where it does; NULL: not computed
  struct smr_block overflow;           // scratch beyond the plan
  uint64_t start_ns, total_ns, count;  // profile of that run
};

/// A range of memory that is needed from node `first` to node `last`.
struct smr_plan_item {
  uint32_t first, last;
  uint32_t owner;  // a value, or value_count + node for the node's scratch
  uint8_t rank;    // higher ranks are placed first
  size_t size_bytes, offset;
};

/// Indices grouped by stage: order[begin[s] .. begin[s + 1]). Without `late` dims there is one
/// stage and no grouping.
struct smr_staged {
  uint32_t *order;
  uint32_t *begin;
};

struct smr_frame {
  struct smr_common *common;
  const struct smr_function *function;
  struct smr_frame_value *values;
  struct smr_frame_node *nodes;
  int64_t *exprs;  // exact values, for valid stages
  uint8_t *base;
  uint32_t *stage_begin;  // nodes of stage s: [stage_begin[s], stage_begin[s + 1])
  bool *stage_valid;      // evaluated, checked and prepared for the current dims
  uint32_t attached;      // stages whose pointers are set
  bool is_entry;
  bool called;   // input bounds are set
  bool entered;  // input_dims are those of the last evaluation
  bool growing;
  bool planned;
  /* set by the caller before smr_frame_enter; valid until the end of the run */
  const struct smr_tensor **given_inputs;  // dims and data
  void **given_data;                       // buffer for each output; NULL: the frame chooses. In
                                           // the entry frame also bound outputs (bind.c)
  size_t *given_capacity;                  // bytes of given_data
  int64_t *lo, *hi;                        // bounds of the expressions
  int64_t (*input_dims)[SAMARA_MAX_RANK];
  int64_t (*input_lo)[SAMARA_MAX_RANK];
  int64_t (*input_hi)[SAMARA_MAX_RANK];
  struct smr_plan_item *items;  // scratch of the planner: values and nodes
  size_t arena_bytes;
  struct smr_block *chunks;  // of a growing frame, per stage
  struct smr_staged staged_exprs, staged_values, staged_guards;
  struct smr_frame_devices *devices;  // NULL if no node runs on a device
  samara_session *session;            // opaque to frame/, plan/, device/ and stage/
};

/// The frames of a session.
struct smr_frames {
  struct smr_frame **order;        // callees before callers
  struct smr_frame **of_function;  // by function of the model; NULL: not reachable
  uint32_t count;                  // of `order`
};

/* ---- nodes ---- */

/// The control kind of the node.
static inline enum smr_control smr_node_control(const struct smr_frame_node *node) {
  return SMR_HAS_CONTROL ? (enum smr_control)node->kind : SMR_CONTROL_NONE;
}
/// Where the node runs or the value is made: 0 on the host, else on a device.
static inline uint8_t smr_node_space(const struct smr_frame_node *node) {
  return SMR_HAS(backends) ? node->space : 0;
}
static inline uint8_t smr_value_space(const struct smr_frame_value *value) {
  return SMR_HAS(backends) ? value->space : 0;
}
/// Whether the host never reads the value.
static inline bool smr_value_on_device(const struct smr_frame_value *value) {
  return SMR_HAS(backends) && value->on_device;
}
/// Whether the node's outputs are views, so that there is nothing to run.
static inline bool smr_node_is_view(const struct smr_frame_node *node) {
  return SMR_HAS(views) && (node->alias || node->placed);
}

/* ---- stages ---- */

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

/* ---- values ---- */

/// Whether the value is a part of another. Its fields are only set in builds with views.
static inline bool smr_value_is_part(const struct smr_frame_value *value) {
  return SMR_HAS(views_parts) && value->part;
}
/// The pixel stride in elements if there are gaps between pixels, else 0.
static inline int64_t smr_value_gap(const struct smr_frame_value *value) {
  return SMR_HAS(views_parts) ? value->view_stride : 0;
}
static inline bool smr_value_kept(const struct smr_frame_value *value) {
  return SMR_HAS(keep) && value->kept;
}

/* ---- values and the host ---- */

/// Output `output` of a frame that has run.
static inline const struct smr_tensor *smr_frame_output(const struct smr_frame *frame,
                                                        uint32_t output) {
  return &frame->values[frame->function->outputs[output]].tensor;
}
/// Point *out at the bytes of a tensor, for the host to read until the next node runs. Every host
/// read outside of nodes uses this function: dims that are elements of a tensor, conditions of `if`
/// and `loop`, outputs, variables, kept and watched tensors. All these tensors are in the host's
/// memory, so it cannot fail.
static inline samara_status smr_value_read(const struct smr_common *common,
                                           const struct smr_tensor *tensor, const void **out) {
  (void)common;
  *out = tensor->data;
  return SAMARA_OK;
}
/// Read a tensor of type bool that has one element.
static inline samara_status smr_value_read_bool(const struct smr_common *common,
                                                const struct smr_tensor *tensor, bool *out) {
  const void *data;
  SMR_TRY(smr_value_read(common, tensor, &data));
  *out = *(const uint8_t *)data != 0;
  return SAMARA_OK;
}
/// Copy the bytes of a tensor to `to`, unless they lie there already.
static inline samara_status smr_value_copy(const struct smr_common *common,
                                           const struct smr_tensor *tensor, void *to) {
  const void *data;
  if (tensor->data == to || tensor->size_bytes == 0) return SAMARA_OK;
  SMR_TRY(smr_value_read(common, tensor, &data));
  memcpy(to, data, tensor->size_bytes);
  return SAMARA_OK;
}

/// Set the bytes of a tensor to those at `from`, or to zero if that is NULL. Every host write
/// outside of nodes uses this function.
static inline samara_status smr_value_write(const struct smr_common *common,
                                            const struct smr_tensor *tensor, const void *from) {
  (void)common;
  if (tensor->size_bytes == 0) return SAMARA_OK;
  if (from != NULL)
    memmove(tensor->data, from, tensor->size_bytes);
  else
    memset(tensor->data, 0, tensor->size_bytes);
  return SAMARA_OK;
}

/* ---- frame_value.c ---- */

/// Set the size of a dense tensor and its pixel_stride. BAD_SHAPE names the value if a dim is
/// negative or the size too large.
samara_status smr_tensor_size(const struct smr_frame *frame, struct smr_tensor *tensor);
/// The same for a value, which may have gaps between pixels.
samara_status smr_value_size(struct smr_frame *frame, uint32_t id);
/// Dims of a value from expressions that can be evaluated by stage `stage`; the others are 0.
samara_status smr_value_known_dims(struct smr_frame *frame, uint32_t id, uint32_t stage);
/// Convert a tensor, with its bytes at `data`, to the public struct.
void smr_public_tensor(const struct smr_tensor *tensor, const void *data, samara_tensor *out);

/// Prefix the session's error message with "function 'f': ".
samara_status smr_frame_fail(const struct smr_frame *frame, samara_status status);
/// Fail with a message with this prefix.
#define SMR_FRAME_FAIL(frame, CODE, ...) \
  return smr_frame_fail((frame), smr_fail((frame)->common->error, SAMARA_##CODE, __VA_ARGS__))
/// Fail because the value `name` is larger than planned from its bounds.
samara_status smr_frame_exceeds(const struct smr_frame *frame, const char *name, size_t bytes,
                                size_t planned);
/// Source location of a node; NULL if the model has none.
const struct smr_source *smr_node_source(const samara_model *model,
                                         const struct smr_frame_node *node);
/// Prefix the session's error message with "function 'f', node 'n' (op, file:line): ".
samara_status smr_node_fail(const struct smr_frame *frame, const struct smr_frame_node *node,
                            samara_status status);

#endif
