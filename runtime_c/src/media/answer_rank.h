// SPDX-License-Identifier: Apache-2.0
// Ranking: the larger score first, then the smaller index. Heaps in this order.
#ifndef SMR_MEDIA_ANSWER_RANK_H
#define SMR_MEDIA_ANSWER_RANK_H

#include "base/fp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A class or a box with its score, which is not NaN.
struct smr_answer_ranked {
  float score;
  uint32_t index;
  uint32_t class_index;  /// class of a box; for a class the same as `index`
};

bool smr_answer_better(const struct smr_answer_ranked *a, const struct smr_answer_ranked *b);

/// Sift down item i of a heap of n, whose root is the best, or with `worst_first` the worst.
void smr_answer_sink(struct smr_answer_ranked *heap, size_t n, size_t i, bool worst_first);

/// Make n items a heap.
void smr_answer_heap(struct smr_answer_ranked *items, size_t n, bool worst_first);

#endif
