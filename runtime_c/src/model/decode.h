// SPDX-License-Identifier: Apache-2.0
// From a file's program part to struct samara_model; known to the files of this room only.
//
// The walk of fb.h reads, and hands over each part for the checks that are more than a range:
// decode.c has those of constants, variables and goldens, decode_function.c those of functions,
// calls.c and stage.c what concerns several parts.
#ifndef SMR_MODEL_DECODE_H
#define SMR_MODEL_DECODE_H

#include "model/fb.h"
#include "model/verify.h"

struct smr_decoder {
  struct smr_fb_walk walk;  // first: smr_decode_part is called with it
  const struct smr_image *image;
  uint64_t segment_end;     // of the segments so far
  uint64_t copied;          // bytes of constants that are not read in place
  uint8_t *image_copy;      // of all of it, where they share more than it has, or NULL
  uint32_t function_index;  // being read
};

/// Decode and check everything. The arrays of `model` lie in the block *memory afterwards, to be
/// released when the model closes. On failure nothing is left to release.
samara_status smr_decode(const struct smr_image *image, samara_model *model, void **memory,
                         samara_error *error);

/// Fails with BAD_MODEL. The format takes up to two int.
samara_status smr_decode_bad(const struct smr_decoder *d, const char *format, int a, int b);
/// The same for a text without numbers: most have none, and calls are shorter without.
samara_status smr_decode_refuse(const struct smr_decoder *d, const char *text);

/// Whether a constant is a plain tensor of that dtype, rank and dims (SAMARA_MAX_RANK of them, zero
/// beyond the rank).
bool smr_decode_same_type(const struct smr_constant *c, uint8_t dtype, uint8_t rank,
                          const int64_t *dims);

/// Quantization parameters (NULL: none) against their tensor; dims that are not constant are -1.
samara_status smr_decode_quant(const struct smr_decoder *d, const struct smr_quant *quant,
                               uint8_t dtype, uint8_t rank, const int64_t *dims);

/// Reserve what a function has beside what is in the file and, when filling, check it and fill all
/// but the stages (decode_function.c).
samara_status smr_decode_function(struct smr_decoder *d, struct smr_function *f);

/// Signatures of control operators, the call graph (acyclic, not too deep, not too many frames),
/// and the stages of every function after those that it calls (calls.c).
samara_status smr_decode_calls(struct smr_decoder *d);

/// The `which`-th function that a node calls, or NULL (calls.c).
struct smr_function *smr_decode_callee(const struct smr_decoder *d, const struct smr_node *node,
                                       uint32_t which);

/// Stages of a function's nodes, expressions and guards, and whether it grows; after the functions
/// that it calls (stage.c).
samara_status smr_decode_stages(struct smr_decoder *d, struct smr_function *f);

#endif
