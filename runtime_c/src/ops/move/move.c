// SPDX-License-Identifier: Apache-2.0
// What operators that move elements share.
#include "base/fp.h"

#include "ops/move/move.h"

#include "ops/check/check.h"
#include "ops/table/attrs.h"

#include <inttypes.h>

samara_status smr_move_check(const struct smr_job *job) {
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->outputs[i], "input and output"));
  return SAMARA_OK;
}

samara_status smr_move_check_all(const struct smr_job *job) {
  for (uint32_t i = 1; i < job->input_count; i++)
    SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[i], "inputs"));
  return smr_move_check(job);
}

uint32_t smr_move_axis(int64_t axis, uint32_t rank) {
  return (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
}

void smr_dense_strides(const struct smr_tensor *t, size_t *stride_bytes) {
  size_t stride = smr_dtype_bytes(t->dtype);
  for (uint32_t i = t->rank; i-- > 0;) {
    stride_bytes[i] = stride;
    stride *= (size_t)t->dims[i];
  }
}

void smr_move_strides(const struct smr_tensor *t, size_t *stride_bytes) {
  size_t stride = smr_dtype_bytes(t->dtype);
  if (t->rank == 0) return;
  stride_bytes[t->rank - 1u] = stride;
  stride *= (size_t)t->pixel_stride;
  for (uint32_t i = t->rank - 1u; i-- > 0;) {
    stride_bytes[i] = stride;
    stride *= (size_t)t->dims[i];
  }
}

samara_status smr_move_index(const struct smr_job *job, int64_t value, size_t position,
                             int64_t extent, bool wrap, size_t *out) {
  const int64_t back = wrap ? extent : 0;
  const int64_t index = value < 0 ? value + back : value;  // back >= 0: no overflow
  if (index >= 0 && index < extent) {
    *out = (size_t)index;
    return SAMARA_OK;
  }
  if (extent == 0)
    SMR_FAIL(job->error, BAD_DATA, "%s: index %" PRId64 " at position %zu, but the axis is empty",
             job->op->name, value, position);
  SMR_FAIL(job->error, BAD_DATA,
           "%s: index %" PRId64 " at position %zu is out of range, expected %" PRId64
           " to %" PRId64,
           job->op->name, value, position, -back, extent - 1);
}

// Adds `back` to the negative ones of `n` indices. True if one is out of range. One function per
// dtype, to keep the loops short.
static bool move_turn_wide(const char *from, size_t n, int64_t extent, int64_t back, size_t *out) {
  bool wrong = false;
  for (size_t i = 0; i < n; i++) {
    int64_t value;
    memcpy(&value, from + i * sizeof value, sizeof value);
    const int64_t index = value < 0 ? value + back : value;
    wrong |= (uint64_t)index >= (uint64_t)extent;
    out[i] = (size_t)index;
  }
  return wrong;
}
static bool move_turn_narrow(const int32_t *from, size_t n, int64_t extent, int64_t back,
                             size_t *out) {
  bool wrong = false;
  for (size_t i = 0; i < n; i++) {
    const int64_t index = from[i] < 0 ? from[i] + back : from[i];
    wrong |= (uint64_t)index >= (uint64_t)extent;
    out[i] = (size_t)index;
  }
  return wrong;
}

samara_status smr_move_indices(const struct smr_job *job, const struct smr_tensor *indices,
                               size_t position, size_t n, int64_t extent, bool wrap, size_t *out) {
  const int64_t back = wrap ? extent : 0;
  const bool wrong =
      indices->dtype == SAMARA_INT64
          ? move_turn_wide((const char *)indices->data + position * sizeof(int64_t), n, extent,
                           back, out)
          : move_turn_narrow((const int32_t *)indices->data + position, n, extent, back, out);
  if (!wrong) return SAMARA_OK;
  for (size_t i = 0; i < n; i++)  // report the first that is out of range
    SMR_TRY(smr_move_index(job, smr_index_at(indices, position + i), position + i, extent, wrap,
                           &out[i]));
  return SAMARA_OK;
}

#define MOVE_PICK(bytes)                                                      \
  case bytes:                                                                 \
    for (size_t j = 0; j < n; j++)                                            \
      memcpy(dst + j * (bytes), src + picks[j] * stride + j * step, (bytes)); \
    break
void smr_move_pick(size_t n, const size_t *picks, const char *src, size_t stride, size_t step,
                   size_t element_bytes, char *dst) {
  switch (element_bytes) {
    MOVE_PICK(1);
    MOVE_PICK(2);
    MOVE_PICK(4);
    MOVE_PICK(8);
    default:
      for (size_t j = 0; j < n; j++)
        memcpy(dst + j * element_bytes, src + picks[j] * stride + j * step, element_bytes);
  }
}
#undef MOVE_PICK
