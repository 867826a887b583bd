// SPDX-License-Identifier: Apache-2.0
// Finds the best classes of an output in one pass over blocks of scores.
#include "base/fp.h"

#include "media/answer_classify.h"

#include <inttypes.h>
#include <math.h>

// Softmax: the largest number and the sum of exponentials.
struct answer_classify_soft {
  float largest, total;
};

static struct answer_classify_soft answer_classify_soft(const samara_tensor *t, size_t n) {
  struct answer_classify_soft soft = {-INFINITY, 0.0f};
  float x[SMR_ANSWER_BLOCK];
  for (uint32_t pass = 0; pass < 2; pass++)
    for (size_t at = 0; at < n; at += SMR_ANSWER_BLOCK) {
      const size_t m = n - at < SMR_ANSWER_BLOCK ? n - at : SMR_ANSWER_BLOCK;
      smr_answer_load(t, at, 1, m, x);
      for (size_t i = 0; i < m; i++) {
        if (pass == 0 && x[i] > soft.largest) soft.largest = x[i];
        if (pass == 1 && !isnan(x[i])) soft.total += smr_answer_power(x[i], soft.largest);
      }
    }
  return soft;
}

static float answer_classify_score(float x, enum smr_answer_activation activation,
                                   const struct answer_classify_soft *soft) {
  if (activation == SMR_ANSWER_SIGMOID) return smr_answer_sigmoid(x);
  if (activation == SMR_ANSWER_SOFTMAX)
    return isnan(x) ? x : smr_answer_power(x, soft->largest) / soft->total;
  return x;
}

// Offer a class to a heap of the best so far, worst first.
static size_t answer_classify_offer(struct smr_answer_ranked *heap, size_t held, size_t most,
                                    const struct smr_answer_ranked *item) {
  if (held < most) {
    heap[held++] = *item;
    if (held == most) smr_answer_heap(heap, held, true);
  } else if (smr_answer_better(item, &heap[0])) {
    heap[0] = *item;
    smr_answer_sink(heap, held, 0, true);
  }
  return held;
}

static void answer_classify_sort(struct smr_answer_ranked *items, size_t n) {
  smr_answer_heap(items, n, true);
  for (; n > 1; n--) {
    const struct smr_answer_ranked worst = items[0];
    items[0] = items[n - 1];
    items[n - 1] = worst;
    smr_answer_sink(items, n - 1, 0, true);
  }
}

samara_status smr_answer_classify(const struct smr_answer_classify *record,
                                  const struct smr_answer_outputs *outputs,
                                  struct smr_answer_ranked *classes, size_t room, size_t *count,
                                  samara_error *error) {
  const samara_tensor *given;
  size_t n;
  SMR_TRY(smr_answer_output(outputs, record->output, &given, &n, error));
  samara_tensor scaled = *given;
  if (record->scale != 0) {
    scaled.scale = record->scale;
    scaled.zero_point = record->zero_point;
  }
  const samara_tensor *t = &scaled;
  int32_t axes = 0;
  for (int32_t i = 0; i < t->rank; i++) axes += t->shape[i] > 1;
  if (axes > 1 || n > UINT32_MAX)
    SMR_FAIL(error, BAD_SHAPE,
             "output %" PRIu32 " has %" PRId32 " axes longer than 1, expected one: the classes",
             record->output, axes);
  if (record->top == 0 || room == 0)
    SMR_FAIL(error, BAD_ARGUMENT,
             "the best %" PRIu32 " classes with room for %zu, expected at least 1", record->top,
             room);
  struct answer_classify_soft soft = {0, 1};
  if (record->activation == SMR_ANSWER_SOFTMAX) soft = answer_classify_soft(t, n);
  const size_t most = record->top < room ? record->top : room;
  size_t held = 0;
  float x[SMR_ANSWER_BLOCK];
  for (size_t at = 0; at < n; at += SMR_ANSWER_BLOCK) {
    const size_t m = n - at < SMR_ANSWER_BLOCK ? n - at : SMR_ANSWER_BLOCK;
    smr_answer_load(t, at, 1, m, x);
    for (size_t i = 0; i < m; i++) {
      const float score = answer_classify_score(x[i], record->activation, &soft);
      const uint32_t index = (uint32_t)(at + i);
      if (record->limited ? !(score > record->threshold) : isnan(score)) continue;
      const struct smr_answer_ranked item = {score, index, index};
      held = answer_classify_offer(classes, held, most, &item);
    }
  }
  answer_classify_sort(classes, held);
  *count = held;
  return SAMARA_OK;
}
