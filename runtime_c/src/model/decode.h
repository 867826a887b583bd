// SPDX-License-Identifier: Apache-2.0
// Decodes a file's program part to struct samara_model. Private to this folder.
//
// The walk of fb.h reads each part and checks ranges. Further checks are in decode.c (constants,
// variables, goldens), decode_function.c (functions), calls.c and stage.c (several parts).
#ifndef SMR_MODEL_DECODE_H
#define SMR_MODEL_DECODE_H

#include "model/fb.h"
#include "model/verify.h"

struct smr_decoder {
  struct smr_fb_walk walk;  // first: smr_decode_part is called with it
  const struct smr_image *image;
  uint64_t segment_end;     // end of the segments so far
  uint64_t copied;          // bytes of constants that are not read in place
  uint8_t *image_copy;      // copy of the image, if constants share more bytes than it has; else
                            // NULL
  uint32_t function_index;  // being read
};

/// Decode and check everything. The arrays of `model` are in the block *memory; release it when the
/// model closes. After a failure there is nothing to release.
samara_status smr_decode(const struct smr_image *image, samara_model *model, void **memory,
                         samara_error *error);

/// Fail with BAD_MODEL. The format may use up to two int.
samara_status smr_decode_bad(const struct smr_decoder *d, const char *format, int a, int b);
/// The same for a text without numbers, which makes shorter calls.
samara_status smr_decode_refuse(const struct smr_decoder *d, const char *text);

/// Whether a constant is a plain tensor of that dtype, rank and dims (SAMARA_MAX_RANK of them, zero
/// beyond the rank).
bool smr_decode_same_type(const struct smr_constant *c, uint8_t dtype, uint8_t rank,
                          const int64_t *dims);

/// Check quantization parameters (NULL: none) against their tensor; dims that are not constant are
/// -1.
samara_status smr_decode_quant(const struct smr_decoder *d, const struct smr_quant *quant,
                               uint8_t dtype, uint8_t rank, const int64_t *dims);

/// Reserve the arrays of a function that are not in the file. When filling, check the function and
/// fill all but the stages (decode_function.c).
samara_status smr_decode_function(struct smr_decoder *d, struct smr_function *f);

/// Check signatures of control operators and the call graph (acyclic, not too deep, not too many
/// frames), and compute stages of every function, callees first (calls.c).
samara_status smr_decode_calls(struct smr_decoder *d);

/// The `which`-th function that a node calls, or NULL (calls.c).
struct smr_function *smr_decode_callee(const struct smr_decoder *d, const struct smr_node *node,
                                       uint32_t which);

/// Compute the stages of a function's nodes, expressions and guards, and whether it is growing. Its
/// callees must be done (stage.c).
samara_status smr_decode_stages(struct smr_decoder *d, struct smr_function *f);

#endif
