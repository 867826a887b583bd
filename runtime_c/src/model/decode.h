// SPDX-License-Identifier: Apache-2.0
// From a verified FlatBuffer to struct samara_model; known to the files of this room only.
//
// Decoding is one piece of code run over one bump arena: `take` walks the file and reserves every
// array, first to measure and then for real, and `fill` writes and checks the contents. Scalars
// vectors and strings stay where they are, in the program part, which the model keeps.
#ifndef SMR_MODEL_DECODE_H
#define SMR_MODEL_DECODE_H

#include "base/alloc.h"
#include "model/fb.h"
#include "model/model.h"

struct smr_decoder {
  struct smr_fb fb;
  uint32_t root;
  const uint8_t *image;  // the whole file; fb.data is its private copy of the program part
  uint64_t image_bytes;
  uint8_t
      *image_copy;  // of all of it, where constants of 8-byte elements are read from it, or NULL
  struct smr_bump bump;
  const samara_allocator *allocator;
  samara_model *model;
  samara_error *error;
  /* mutable views of what `model` points at */
  struct smr_function *functions;
  struct smr_variable *variables;
  struct smr_constant *constants;
  struct smr_golden *goldens;
  struct smr_source *sources;
  struct smr_metadata *metadata;
  uint32_t *variable_mark;  // scratch: function that last wrote a variable, plus one
  uint32_t function_index;  // being filled
};

/// Decode and check everything. The arrays of `model` lie in the block *memory afterwards, to be
/// released when the model closes. On failure nothing is left to release.
samara_status smr_decode(const struct smr_fb *fb, uint32_t root, const uint8_t *image,
                         uint64_t image_bytes, const samara_allocator *allocator,
                         samara_model *model, void **memory, samara_error *error);

// ---- decode_function.c ----

void smr_decode_function_take(struct smr_decoder *d, uint32_t at, struct smr_function *function);
/// Fills everything but the stages.
samara_status smr_decode_function_fill(struct smr_decoder *d, uint32_t at,
                                       struct smr_function *function);

/// Reserve and fill quantization parameters; `at` 0 gives NULL.
struct smr_quant *smr_decode_quant_take(struct smr_decoder *d, uint32_t at);
samara_status smr_decode_quant_fill(struct smr_decoder *d, uint32_t at, const char *tensor,
                                    uint8_t dtype, uint8_t rank, struct smr_quant *quant);
/// The number of scales against the dims, -1 where a dim is not static.
samara_status smr_decode_quant_dims(struct smr_decoder *d, const char *tensor,
                                    const struct smr_quant *quant, const int64_t *dims);

/// Fail unless `index` is an expression of `f`; `what` names the place in the message.
samara_status smr_decode_check_expr(struct smr_decoder *d, const struct smr_function *f,
                                    uint32_t index, const char *what);

// ---- decode_node.c ----

/// A value's producer until its definition is met.
enum { SMR_VALUE_NOT_MADE = -2 };

void smr_decode_nodes_take(struct smr_decoder *d, uint32_t at, struct smr_function *f);
/// Fills the nodes and the producers of values; every value is made by something afterwards.
samara_status smr_decode_nodes_fill(struct smr_decoder *d, uint32_t at, struct smr_function *f);

// ---- calls.c ----

/// Signatures of control operators, and the call graph: acyclic, not too deep, not too many frames.
/// `order` (one element per function) receives callees before callers.
samara_status smr_decode_calls(struct smr_decoder *d, uint32_t *order);
/// Whether a function that `f` calls is growing.
bool smr_decode_calls_growing(const struct smr_decoder *d, const struct smr_function *f);

// ---- stage.c ----

/// Stages of a function's nodes, expressions and guards, and whether it grows; after the functions
/// that it calls. `scratch` holds two int64 per expression.
samara_status smr_decode_stages(struct smr_decoder *d, struct smr_function *function,
                                int64_t *scratch);

/// Text of a name in a message: a file's names may be as long as the file.
#define SMR_NAME "%.80s"

#endif
