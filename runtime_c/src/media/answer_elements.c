// SPDX-License-Identifier: Apache-2.0
// Reads elements of outputs of any dtype as floats; exp and sigmoid of a float.
#include "base/fp.h"

#include "media/answer_elements.h"

#include <inttypes.h>

#include "base/checked.h"
#include "simd/scalar_begin.h"
#include "simd/math.h"

float smr_answer_exp(float x) { return N(exp)(x); }

float smr_answer_sigmoid(float x) { return N(sigmoid)(x); }
#include "simd/end.h"

float smr_answer_power(float x, float largest) {
  return smr_answer_exp(x == largest ? 0.0f : x - largest);
}

// 0: the dtype is not supported for answers.
static size_t answer_elements_width(samara_dtype dtype) {
  switch (dtype) {
    case SAMARA_FLOAT32:
    case SAMARA_INT32:
      return 4;
    case SAMARA_FLOAT16:
      return 2;
    case SAMARA_INT8:
    case SAMARA_QINT8:
    case SAMARA_UINT8:
      return 1;
    case SAMARA_INT64:
      return 8;
    default:
      return 0;
  }
}

samara_status smr_answer_output(const struct smr_answer_outputs *outputs, uint32_t index,
                                const samara_tensor **out, size_t *elements, samara_error *error) {
  if (index >= outputs->count)
    SMR_FAIL(error, BAD_ARGUMENT,
             "the record reads output %" PRIu32 ", but the model has %" PRIu32
             "; write the record for this model",
             index, outputs->count);
  const samara_tensor *t = &outputs->tensors[index];
  const size_t width = answer_elements_width(t->dtype);
  if (width == 0)
    SMR_FAIL(error, BAD_SHAPE,
             "output %" PRIu32
             " has elements of type %d; answers are read from float32, float16, int8, uint8, int32 "
             "and int64",
             index, (int)t->dtype);
  size_t n = 1, bytes;
  bool fits = t->rank >= 0 && t->rank <= SAMARA_MAX_RANK;
  for (int32_t i = 0; fits && i < t->rank; i++)
    fits = t->shape[i] > 0 && (uint64_t)t->shape[i] <= SIZE_MAX &&
           smr_mul_size(n, (size_t)t->shape[i], &n);
  if (!fits || !smr_mul_size(n, width, &bytes) || t->data == NULL || bytes > t->size_bytes)
    SMR_FAIL(error, BAD_SHAPE,
             "output %" PRIu32 " has %zu bytes, which its shape of rank %" PRId32
             " does not fit; pass the tensor as samara_session_output gave it",
             index, t->size_bytes, t->rank);
  *out = t;
  *elements = n;
  return SAMARA_OK;
}

int64_t smr_answer_integer(const samara_tensor *t, size_t index) {
  const unsigned char *at = (const unsigned char *)t->data;
  int32_t narrow;
  int64_t wide;
  switch (t->dtype) {
    case SAMARA_UINT8:
      return at[index];
    case SAMARA_INT8:
    case SAMARA_QINT8:
      return ((const int8_t *)t->data)[index];
    case SAMARA_INT32:
      memcpy(&narrow, at + index * sizeof narrow, sizeof narrow);
      return narrow;
    default:
      memcpy(&wide, at + index * sizeof wide, sizeof wide);
      return wide;
  }
}

static void answer_elements_floats(const unsigned char *at, size_t stride, size_t n, float *y) {
  if (stride == 1)
    memcpy(y, at, n * sizeof *y);
  else
    for (size_t i = 0; i < n; i++) memcpy(&y[i], at + i * stride * sizeof *y, sizeof *y);
}

static void answer_elements_halves(const unsigned char *at, size_t stride, size_t n, float *y) {
  for (size_t i = 0; i < n; i++) {
    uint16_t half;
    memcpy(&half, at + i * stride * sizeof half, sizeof half);
    y[i] = smr_f16_to_f32(half);
  }
}

// Bytes, in a loop that compilers vectorize. `flip` is 128 for signed bytes, which maps them to an
// offset from -128.
SMR_HOT_VECTORIZED static void answer_elements_bytes(const unsigned char *at, size_t stride,
                                                     size_t n, int32_t flip, int32_t zero,
                                                     float scale, float *restrict y) {
  const int32_t centre = flip + zero;
  if (stride == 1)
    for (size_t i = 0; i < n; i++) y[i] = (float)((at[i] ^ flip) - centre) * scale;
  else
    for (size_t i = 0; i < n; i++) y[i] = (float)((at[i * stride] ^ flip) - centre) * scale;
}

// The difference of an int64 and the zero point may wrap, as in numpy.
static float answer_elements_centred(int64_t q, int32_t zero) {
  return (float)(int64_t)((uint64_t)q - (uint64_t)(int64_t)zero);
}

void smr_answer_load(const samara_tensor *t, size_t first, size_t stride, size_t n, float *y) {
  const size_t width = answer_elements_width(t->dtype);
  const unsigned char *at = (const unsigned char *)t->data + first * width;
  const bool scaled = t->scale != 0;
  const float scale = scaled ? t->scale : 1.0f;
  const int32_t zero = scaled ? t->zero_point : 0;
  if (t->dtype == SAMARA_FLOAT32)
    answer_elements_floats(at, stride, n, y);
  else if (t->dtype == SAMARA_FLOAT16)
    answer_elements_halves(at, stride, n, y);
  else if (width == 1 && zero >= INT16_MIN && zero <= INT16_MAX)
    answer_elements_bytes(at, stride, n, t->dtype == SAMARA_UINT8 ? 0 : 128, zero, scale, y);
  else
    for (size_t i = 0; i < n; i++)
      y[i] = answer_elements_centred(smr_answer_integer(t, first + i * stride), zero) * scale;
}

// Arithmetic instead of conditionals: GCC does not vectorize two conditionals in a loop.
SMR_HOT_VECTORIZED void smr_answer_larger(size_t n, const float *restrict x, int32_t channel,
                                          float *restrict best, int32_t *restrict channels) {
  for (size_t i = 0; i < n; i++) {
    const float now = x[i], old = best[i];
    const int32_t more = -(int32_t)(now > old);
    channels[i] = (channels[i] & ~more) | (channel & more);
    best[i] = now > old ? now : old;
  }
}
