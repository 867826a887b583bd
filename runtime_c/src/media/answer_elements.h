// SPDX-License-Identifier: Apache-2.0
// Elements of a model's outputs as floats, and the functions of docs/guides/postprocessing.md on
// them.
#ifndef SMR_MEDIA_ANSWER_ELEMENTS_H
#define SMR_MEDIA_ANSWER_ELEMENTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/// A model's outputs, in its order. Borrowed for the call.
struct smr_answer_outputs {
  const samara_tensor *tensors;
  uint32_t count;
};

enum smr_answer_activation {
  SMR_ANSWER_PLAIN = 0,  ///< numbers are scores
  SMR_ANSWER_SIGMOID = 1,
  SMR_ANSWER_SOFTMAX = 2
};

/// Loops over elements run over blocks of this many, on the stack.
enum { SMR_ANSWER_BLOCK = 64 };

/// Output `index`: *out is it and *elements how many it has. BAD_ARGUMENT where there is none of
/// that index, BAD_SHAPE where its element type is none of an answer's, it is empty, or its memory
/// is smaller than its shape says.
samara_status smr_answer_output(const struct smr_answer_outputs *outputs, uint32_t index,
                                const samara_tensor **out, size_t *elements, samara_error *error);

/// y[i] = element first + i * stride of a tensor that smr_answer_output gave, for i < n. All of
/// them lie in it.
void smr_answer_load(const samara_tensor *t, size_t first, size_t stride, size_t n, float *y);

/// Element `index` of a tensor of integers, without its scale.
int64_t smr_answer_integer(const samara_tensor *t, size_t index);

/// Where x[i] > best[i], that is best[i] and channels[i] is `channel`, for i < n.
void smr_answer_larger(size_t n, const float *restrict x, int32_t channel, float *restrict best,
                       int32_t *restrict channels);

/// exp and sigmoid of step 2 of the page: the same bits everywhere. NaN stays NaN.
float smr_answer_exp(float x);
float smr_answer_sigmoid(float x);

/// What softmax makes of x before it divides: e^(x - largest), 1 where they are equal, infinite or
/// not.
float smr_answer_power(float x, float largest);

#endif
