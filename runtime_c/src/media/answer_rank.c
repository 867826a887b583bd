// SPDX-License-Identifier: Apache-2.0
// Heaps of scores.
#include "base/fp.h"

#include "media/answer_rank.h"

bool smr_answer_better(const struct smr_answer_ranked *a, const struct smr_answer_ranked *b) {
  return a->score != b->score ? a->score > b->score : a->index < b->index;
}

void smr_answer_sink(struct smr_answer_ranked *heap, size_t n, size_t i, bool worst_first) {
  const struct smr_answer_ranked item = heap[i];
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && smr_answer_better(&heap[child + 1], &heap[child]) != worst_first) child++;
    if (smr_answer_better(&heap[child], &item) == worst_first) break;
    heap[i] = heap[child];
  }
  heap[i] = item;
}

void smr_answer_heap(struct smr_answer_ranked *items, size_t n, bool worst_first) {
  for (size_t i = n / 2; i-- > 0;) smr_answer_sink(items, n, i, worst_first);
}
