// SPDX-License-Identifier: Apache-2.0
// top_k: the k largest or smallest elements along an axis, best first, and their indices.
#include "base/fp.h"

#include "ops/axis.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/move/move.h"
#include "ops/table/funcs.h"
#include "simd/common.h"
#include "simd/half.h"

#include <string.h>

// An element, ordered as in the result: better elements have smaller keys, equal ones smaller
// indices.
struct top_k_item {
  int64_t key;
  size_t index;
};

enum { TOP_K_BLOCK = 32 };  // floats compared at once

struct top_k_state {
  struct smr_axis axis;
  size_t k;
  bool largest;
};

static samara_status top_k_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_EVERY_NUMBER));
  SMR_TRY(smr_expect_dtype(job, job->outputs[1], "indices", SMR_DTYPE_I64));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and values");
}

static samara_status top_k_prepare(struct smr_job *job) {
  struct top_k_state *s = job->state;
  *s = (struct top_k_state){.axis = smr_axis_of(job->inputs[0], SMR_ATTR(job, top_k, axis)->i),
                            .k = (size_t)SMR_ATTR(job, top_k, k)->i,
                            .largest = SMR_ATTR(job, top_k, largest)->i != 0};
  job->kernel = "top_k";
  job->tiles = s->k ? smr_axis_tiles(&s->axis) : 0;
  size_t offset;
  return smr_thread_scratch_take(job, s->k, sizeof(struct top_k_item), &offset);
}

// Maps floats to integers in the same order; all NaNs are equal and the largest, both zeros are
// equal.
static int64_t top_k_float_key(float x) {
  if (x != x) return INT64_MAX;
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
}

static int64_t top_k_double_key(double x) {
  if (x != x) return INT64_MAX;
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? -(bits & INT64_MAX) : bits;
}

static int64_t top_k_key(const struct smr_tensor *x, size_t i) {
  switch (x->dtype) {
    case SAMARA_FLOAT32:
      return top_k_float_key(((const float *)x->data)[i]);
    case SAMARA_FLOAT16:
      return top_k_float_key(smr_f16_to_f32(((const uint16_t *)x->data)[i]));
    case SAMARA_INT8:
      return ((const int8_t *)x->data)[i];
    case SAMARA_UINT8:
      return ((const uint8_t *)x->data)[i];
    case SAMARA_INT16:
      return ((const int16_t *)x->data)[i];
    case SAMARA_UINT16:
      return ((const uint16_t *)x->data)[i];
    case SAMARA_INT32:
      return ((const int32_t *)x->data)[i];
    case SAMARA_UINT32:
      return ((const uint32_t *)x->data)[i];
    case SAMARA_FLOAT64:
      return top_k_double_key(((const double *)x->data)[i]);
    case SAMARA_UINT64:  // maps the lower half to negative numbers
      return (int64_t)(((const uint64_t *)x->data)[i] ^ (uint64_t)1 << 63);
    default:
      return ((const int64_t *)x->data)[i];
  }
}

static bool top_k_before(const struct top_k_item *a, const struct top_k_item *b) {
  return a->key != b->key ? a->key < b->key : a->index < b->index;
}

// Move item i down in a heap of n items whose first is the worst.
static void top_k_sink(struct top_k_item *heap, size_t n, size_t i) {
  const struct top_k_item item = heap[i];
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && top_k_before(&heap[child], &heap[child + 1])) child++;
    if (!top_k_before(&item, &heap[child])) break;
    heap[i] = heap[child];
  }
  heap[i] = item;
}

// Whether one of TOP_K_BLOCK floats may be better than `worst`. May be true needlessly, never false
// wrongly.
SMR_VECTORIZED static bool top_k_may_enter(const float *x, float worst, bool largest) {
  uint32_t maybe = 0;
  if (largest)
    for (size_t i = 0; i < TOP_K_BLOCK; i++) maybe |= !(x[i] <= worst);
  else
    for (size_t i = 0; i < TOP_K_BLOCK; i++) maybe |= !(x[i] >= worst);
  return maybe != 0;
}

// The k best elements of the group that starts at `from`, as a heap with the worst first. A later
// element with an equal key is not better.
static void top_k_select(const struct smr_tensor *x, const struct top_k_state *s, size_t from,
                         struct top_k_item *heap) {
  const size_t n = s->axis.n, inner = s->axis.inner, k = s->k;
  const int64_t turn = s->largest ? -1 : 0;  // ~ reverses the order
  for (size_t i = 0; i < k; i++)
    heap[i] = (struct top_k_item){top_k_key(x, from + i * inner) ^ turn, i};
  for (size_t i = k / 2; i-- > 0;) top_k_sink(heap, k, i);
  const float *row =
      x->dtype == SAMARA_FLOAT32 && inner == 1 ? (const float *)x->data + from : NULL;
  for (size_t i = k; i < n;) {
    const size_t count = n - i < TOP_K_BLOCK ? n - i : TOP_K_BLOCK;
    const size_t end = i + count;
    if (row != NULL && count == TOP_K_BLOCK &&
        !top_k_may_enter(row + i, row[heap[0].index], s->largest)) {
      i = end;
      continue;
    }
    for (; i < end; i++) {
      const int64_t key = top_k_key(x, from + i * inner) ^ turn;
      if (key >= heap[0].key) continue;
      heap[0] = (struct top_k_item){key, i};
      top_k_sink(heap, k, 0);
    }
  }
}

// The group that starts at `from`. Results start at `to`, `inner` apart.
static void top_k_group(const struct smr_job *job, const struct top_k_state *s, size_t from,
                        size_t to, struct top_k_item *heap) {
  const struct smr_tensor *x = job->inputs[0];
  const size_t element = smr_dtype_bytes(x->dtype), inner = s->axis.inner;
  top_k_select(x, s, from, heap);
  for (size_t i = s->k; i-- > 0;) {  // the worst is written last
    const size_t index = heap[0].index;
    smr_copy_block((char *)job->outputs[0]->data + (to + i * inner) * element,
                   (const char *)x->data + (from + index * inner) * element, element);
    ((int64_t *)job->outputs[1]->data)[to + i * inner] = (int64_t)index;
    heap[0] = heap[i];
    if (i) top_k_sink(heap, i, 0);
  }
}

static samara_status top_k_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch) {
  const struct top_k_state *s = job->state;
  struct smr_axis_span span;
  for (struct smr_axis_walk walk = smr_axis_start(&s->axis, begin, end);
       smr_axis_next(&s->axis, &walk, &span);) {
    for (size_t j = 0; j < span.count; j++) {
      const size_t group = span.group + j, inner = s->axis.inner;
      top_k_group(job, s, span.offset + j, group / inner * s->k * inner + group % inner,
                  thread_scratch);
    }
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_top_k_funcs = {.check = top_k_check,
                                                .prepare = top_k_prepare,
                                                .run = top_k_run,
                                                .state_bytes = sizeof(struct top_k_state),
                                                .more_dtypes = SMR_DTYPES_MORE_NUMBER};
