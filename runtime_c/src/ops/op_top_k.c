// SPDX-License-Identifier: Apache-2.0
// top_k: the k largest or smallest elements along an axis, best first, and where they were.
#include "base/fp.h"

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/funcs.h"
#include "ops/linear.h"
#include "simd/half.h"

#include <string.h>

// An element in the order of the result: better ones have smaller keys, equal ones smaller indices.
struct top_k_item {
  int64_t key;
  size_t index;
};

struct top_k_state {
  struct smr_axis axis;
  size_t k;
  bool largest;
};

static samara_status top_k_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_NUMBER));
  SMR_TRY(smr_expect_dtype(job, job->outputs[1], "indices", SMR_DTYPE_I64));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and values");
}

static samara_status top_k_prepare(struct smr_job *job) {
  struct top_k_state *s = job->state;
  *s = (struct top_k_state){.axis = smr_axis_of(job->inputs[0], smr_op_attr_int(job, "axis")),
                            .k = (size_t)smr_op_attr_int(job, "k"),
                            .largest = smr_op_attr_int(job, "largest") != 0};
  job->kernel = "top_k";
  job->tiles = s->k ? smr_axis_tiles(&s->axis) : 0;
  size_t offset;
  return smr_thread_scratch_take(job, s->axis.n, sizeof(struct top_k_item), &offset);
}

// Integers in the order of the floats; all NaNs equal and the largest, both zeros equal.
static int64_t top_k_float_key(float x) {
  if (x != x) return INT64_MAX;
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
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
    case SAMARA_INT32:
      return ((const int32_t *)x->data)[i];
    default:
      return ((const int64_t *)x->data)[i];
  }
}

static bool top_k_before(const struct top_k_item *a, const struct top_k_item *b) {
  return a->key != b->key ? a->key < b->key : a->index < b->index;
}

// Sink item i of a heap of n whose first is the best.
static void top_k_sink(struct top_k_item *heap, size_t n, size_t i) {
  const struct top_k_item item = heap[i];
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && top_k_before(&heap[child + 1], &heap[child])) child++;
    if (!top_k_before(&heap[child], &item)) break;
    heap[i] = heap[child];
  }
  heap[i] = item;
}

// The group whose first element is `from`; results start at `to`, `inner` apart.
static void top_k_group(const struct smr_job *job, const struct top_k_state *s, size_t from,
                        size_t to, struct top_k_item *heap) {
  const struct smr_tensor *x = job->inputs[0];
  const size_t element = smr_dtype_bytes(x->dtype), inner = s->axis.inner;
  size_t n = s->axis.n;
  for (size_t i = 0; i < n; i++) {
    const int64_t key = top_k_key(x, from + i * inner);
    heap[i] = (struct top_k_item){.key = s->largest ? ~key : key, .index = i};  // ~ turns the order
  }
  for (size_t i = n / 2; i-- > 0;) top_k_sink(heap, n, i);
  for (size_t i = 0; i < s->k; i++) {
    const size_t index = heap[0].index;
    memcpy((char *)job->outputs[0]->data + (to + i * inner) * element,
           (const char *)x->data + (from + index * inner) * element, element);
    ((int64_t *)job->outputs[1]->data)[to + i * inner] = (int64_t)index;
    heap[0] = heap[--n];
    if (n) top_k_sink(heap, n, 0);
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
                                                .state_bytes = sizeof(struct top_k_state)};
