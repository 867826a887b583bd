/* SPDX-License-Identifier: Apache-2.0 */
/* A decoded, checked, immutable model. Everything here lives as long as the model. */
#ifndef SMR_MODEL_MODEL_H_
#define SMR_MODEL_MODEL_H_

#include "base/parts.h"
#include "media/answer_boxes.h"
#include "ops/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Deepest nesting of calls; the exporter nests far less.
enum { SMR_MAX_CALL_DEPTH = 32 };

enum smr_expr_op {
  SMR_EXPR_CONST,
  SMR_EXPR_INPUT_DIM,
  SMR_EXPR_READ,
  SMR_EXPR_BORN,
  SMR_EXPR_ADD,
  SMR_EXPR_SUB,
  SMR_EXPR_MUL,
  SMR_EXPR_FLOORDIV,
  SMR_EXPR_CEILDIV,
  SMR_EXPR_MOD,
  SMR_EXPR_MIN,
  SMR_EXPR_MAX,
  SMR_EXPR_EQ,
  SMR_EXPR_LT,
  SMR_EXPR_SELECT,
  SMR_EXPR_SCALE_F32,
  SMR_EXPR_COUNT
};

/// One dim expression. Operands are indices of earlier expressions, checked at open. Expressions
/// with constant operands are folded to CONST, unless they fail: these fail when they are
/// evaluated. READ: a = value, b = element, c = bound expression or -1. BORN: a = node, b = output,
/// c = axis, k = bound expression or -1.
struct smr_expr {
  uint32_t op;
  int32_t a, b, c;
  int64_t k;
};

enum smr_relation { SMR_RELATION_EQ, SMR_RELATION_LE, SMR_RELATION_LT };

struct smr_guard {
  uint8_t relation;
  uint32_t a, b;  // expressions
  int32_t node;   // or -1
  const char *message;
};

struct smr_value {
  const char *name;
  const uint32_t *dims;  // rank expressions
  const struct smr_quant *quant;
  int32_t constant;  // index into smr_model.constants, or -1
  int32_t producer;  // node, or -1 for inputs and constants
  uint8_t dtype, rank;
};

/// An attribute as stored: a literal, or expressions that a frame evaluates into smr_attr.i /
/// .ints.
struct smr_node_attr {
  struct smr_attr literal;
  const uint32_t *exprs;  // NULL for literals
  uint32_t expr_count;
  bool is_list;  // a list of dims, not one dim
};

struct smr_node {
  const struct smr_op *op;
  const char *name;
  const int32_t *inputs;  // value ids, -1 absent
  const uint32_t *outputs;
  const struct smr_node_attr *attrs;  // op->attr_count
  const char *const *absorbed;        // names of tensors fused away into this node
  uint32_t input_count, output_count, absorbed_count;
  int32_t source;  // index into sources, or -1
  /// Stage in which the node runs; never decreases over nodes. Stage 0 needs only input dims. A
  /// READ or BORN of a value from stage s is usable from stage s + 1 on.
  uint32_t stage;
};

struct smr_binding {
  uint32_t position, variable;
};

/// Name and bounds of an input dim. `expr` is an INPUT_DIM expression; upper is INT64_MAX if there
/// is no bound.
struct smr_symbol {
  const char *name;
  uint32_t expr;
  int64_t lower, upper;
};

/// Fields of an image record in the file; model/record.h converts them.
struct smr_image_fields {
  const uint32_t *resize, *crop, *letterbox, *fill;
  const float *mean, *scale;
  uint32_t resize_count, crop_count, letterbox_count, fill_count, mean_count, scale_count;
  float quant_scale;
  int32_t quant_zero;
  uint8_t colour, dtype, layout, filter, antialias, matrix, range;
};

/// Fields of an audio record in the file; model/record_audio.c converts them.
struct smr_audio_fields {
  const char *layout;
  const float *mean, *scale;
  uint32_t mean_count, scale_count;
  uint32_t rate, window, hop, fft, lead, bins, first, coefficients, lifter, frames, step;
  float preemphasis, low, high, floor, offset, quant_scale;
  int32_t quant_zero;
  uint8_t kind, dtype, shape, spectrum, log;
  uint8_t symmetric, center, dc, wide_unit, slaney, slaney_norm, mel_triangles, plain_dct;
};

/// The record of a user input.
struct smr_input_record {
  const struct smr_image_fields *image;  // or NULL
  const struct smr_audio_fields *audio;  // or NULL
  uint32_t input;
};

/// Channels of outputs.
struct smr_part_fields {
  const uint32_t *outputs;
  uint32_t count, begin, end;
};

/// Fields of an answer record in the file; model/record_answer.c converts them.
struct smr_answer_fields {
  const struct smr_part_fields *main, *score, *objectness, *points, *anchors;
  const struct smr_answer_level *levels;  // counts are in numbers, two per box
  const float *variances;
  uint32_t level_count, variance_count, input, top;
  float threshold, iou, scale;
  int32_t zero_point;
  uint8_t kind, form, activation, layout, refine, step;
  uint8_t limited, root, channels_first, yx, ratio, corner, agnostic, heatmaps;
};

struct smr_function {
  const char *name;
  const struct smr_expr *exprs;
  const uint32_t *expr_stage;  // stage from which each expression can be evaluated
  const struct smr_guard *guards;
  const uint32_t *guard_stage;
  const struct smr_value *values;
  const uint32_t *inputs, *outputs;  // value ids, in the function's own order (variables included)
  const char *const *output_names;
  const struct smr_node *nodes;
  const struct smr_binding *reads, *writes;  // position = input / output position
  const struct smr_symbol *symbols;
  const struct smr_input_record *records;
  const struct smr_answer_fields *answer;     // or NULL
  const int32_t *user_inputs, *user_outputs;  // positions that are not bound to variables
  uint32_t expr_count, guard_count, value_count, input_count, output_count, node_count, read_count,
      write_count;
  uint32_t user_input_count, user_output_count, symbol_count, record_count;
  uint32_t stage_count;  // 1 + the largest stage of a node, expression or guard; the last stage may
                         // have no node
  bool growing;          // a READ or BORN dim has no bound, here or in a callee
  bool is_entry;
  uint32_t depth;   // depth of calls including itself: at most SMR_MAX_CALL_DEPTH
  uint32_t frames;  // frames if every call had its own, including itself: at most 65536
};

struct smr_variable {
  const char *name;
  int64_t dims[SAMARA_MAX_RANK];
  const struct smr_quant *quant;
  size_t size_bytes;
  int32_t initial;      // constant; -1: none, and zeros where nothing was written
  int32_t length;       // of one that grows along axis 1: the variable that counts; else -1
  uint32_t written_by;  // while decoding: 1 + the last function that writes it
  uint8_t dtype, rank;
  bool counts;  // the length of another one
};

/// Whether a variable has rows that are not in use.
static inline bool smr_grows(const struct smr_variable *variable) {
  return SMR_HAS(variables) && variable->length >= 0;
}

struct smr_constant {
  const char *name;
  const void *data;  // in the image or a copy; always aligned to its elements
  size_t size_bytes;
  int64_t dims[SAMARA_MAX_RANK];  // logical dims, before packing
  uint64_t panel_stride_bytes;
  uint32_t groups;
  uint8_t dtype, rank, layout;
};

/// Name of the segment with the table of a tokenizer (samara_text.h).
#define SMR_TOKENIZER_SEGMENT "tokenizer"

/// A part of the file that holds constants, or a tokenizer.
struct smr_segment {
  uint64_t offset, size;
  const char *name;
  const uint64_t *sums;  // smr_sum of each SMR_SUM_CHUNK bytes, if the file has checksums
  uint32_t sum_count;
};

struct smr_golden_tensor {
  uint32_t index;    // user input / output
  int32_t constant;  // data, or -1 when only the digest is stored
  uint64_t digest;
  int64_t dims[SAMARA_MAX_RANK];
  float abs_tol, rel_tol;
  uint8_t rank;
};
struct smr_golden {
  uint32_t function;
  const struct smr_golden_tensor *inputs, *outputs;
  uint32_t input_count, output_count;
};

struct smr_source {
  const char *file;
  uint32_t line;
  const char *detail;
};
struct smr_metadata {
  const char *key, *value;
};

/// A derived layout of `constant` for operator `op`, stored as constant `data`.
struct smr_stored {
  uint32_t constant, op, layout, version, data;
};

/// Version of derived layouts: incremented when any of them changes.
enum { SMR_DERIVED_VERSION = 1, SMR_DERIVED_ALIGNMENT = 64 };

struct samara_model {
  samara_allocator allocator;
  samara_log_fn log;
  void *log_user;
  const struct smr_function *functions;
  const uint32_t *entries;
  const struct smr_variable *variables;
  const struct smr_constant *constants;
  const struct smr_golden *goldens;
  const struct smr_source *sources;
  const struct smr_metadata *metadata;
  const struct smr_segment *segments;
  const struct smr_stored *derived;
  const char *const *labels;
  const char *operators;  // lines "81 conv", for messages; "" if the file has none
  uint32_t function_count, entry_count, variable_count, constant_count, golden_count, source_count,
      metadata_count, segment_count, derived_count, label_count;
  struct smr_model_private *private_;  // image, decoded arrays, lock and derived copies: model.c
  struct smr_parts parts;              // parts that the model needs
  uint64_t checksum;                   // of the program part
  bool exact;                          // exported with accuracy="exact"
};

/// samara_model_open_memory with a complete options struct (see smr_session_create).
samara_status smr_model_open_memory(const void *data, size_t size_bytes,
                                    const samara_model_options *options, samara_model **out,
                                    samara_error *error);

/// The entry of that name (NULL: the first), or NULL.
const struct smr_function *smr_model_entry(const samara_model *model, const char *name);

/// The bytes of one of `model->segments`, in the image.
const void *smr_model_segment(const samara_model *model, const struct smr_segment *segment);

/// Touch the pages of a mapped file, and read all of a small one into the caches, so that the first
/// run of a session does not wait for this.
void smr_model_prefetch(const samara_model *model);

/// Constant `constant` in `what->layout`: stored in the file, or a copy made by `job->op->pack` at
/// the first call and shared by all sessions. Takes the model's lock; called when a session is
/// created or resized. *out stays valid until the model closes.
samara_status smr_model_derived(const samara_model *model, int32_t constant,
                                const struct smr_job *job, const struct smr_derived *what,
                                const void **out, samara_error *error);

/// Evaluate one expression from its evaluated operands (`values[i]` for i < index). The caller
/// handles READ and BORN. False on overflow, division by zero or a float out of range; *why is then
/// a static text.
bool smr_expr_evaluate(const struct smr_expr *exprs, uint32_t index, const int64_t *values,
                       int64_t *out, const char **why);

/// One arithmetic operation; only SELECT uses c.
bool smr_expr_apply(uint32_t op, int64_t a, int64_t b, int64_t c, int64_t *out, const char **why);

/// The same over intervals [lo, hi]; hi INT64_MAX means unbounded. Never fails: without a bound the
/// result is [INT64_MIN or 0, INT64_MAX].
void smr_expr_interval(const struct smr_expr *exprs, uint32_t index, const int64_t *lo,
                       const int64_t *hi, int64_t *out_lo, int64_t *out_hi);

#endif /* SMR_MODEL_MODEL_H_ */
