// SPDX-License-Identifier: Apache-2.0
// Elements of a model's outputs as floats, and functions of docs/guides/postprocessing.md.
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

/// Elements per block; blocks are on the stack.
enum { SMR_ANSWER_BLOCK = 64 };

/// Get output `index` and the number of its elements. BAD_ARGUMENT if it does not exist. BAD_SHAPE
/// if its dtype is not supported, it is empty, or its memory is smaller than its shape needs.
samara_status smr_answer_output(const struct smr_answer_outputs *outputs, uint32_t index,
                                const samara_tensor **out, size_t *elements, samara_error *error);

/// y[i] = element first + i * stride of a tensor from smr_answer_output, for i < n. All must be
/// inside the tensor.
void smr_answer_load(const samara_tensor *t, size_t first, size_t stride, size_t n, float *y);

/// Element `index` of a tensor of integers, without its scale.
int64_t smr_answer_integer(const samara_tensor *t, size_t index);

/// For i < n: if x[i] > best[i], set best[i] = x[i] and channels[i] = channel.
void smr_answer_larger(size_t n, const float *restrict x, int32_t channel, float *restrict best,
                       int32_t *restrict channels);

/// exp and sigmoid of step 2 of docs/guides/postprocessing.md: the same bits on every machine. NaN
/// stays NaN.
float smr_answer_exp(float x);
float smr_answer_sigmoid(float x);

/// The numerator of softmax: e^(x - largest); 1 if both are equal, even if infinite.
float smr_answer_power(float x, float largest);

#endif
