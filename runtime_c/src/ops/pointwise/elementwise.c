// SPDX-License-Identifier: Apache-2.0
// Iterating over broadcast operands.
#include "base/fp.h"

#include "ops/pointwise/elementwise.h"

void smr_broadcast_make(struct smr_broadcast *b, const struct smr_tensor *out,
                        const struct smr_tensor *const *operands, uint32_t count) {
  int64_t strides[SAMARA_MAX_RANK][SMR_BROADCAST_OPERANDS];
  int64_t dense[SMR_BROADCAST_OPERANDS] = {1, 1, 1};
  for (uint32_t i = 0; i < out->rank; i++) {  // axis i, counted from the end
    for (uint32_t k = 0; k < count; k++) {
      const int64_t own = i < operands[k]->rank ? operands[k]->dims[operands[k]->rank - 1 - i] : 1;
      strides[out->rank - 1 - i][k] = own == 1 ? 0 : dense[k];
      dense[k] *= own;
    }
  }
  // Drop axes of extent 1. Merge an axis with the one before if the strides of all operands allow
  // it.
  *b = (struct smr_broadcast){.operands = count};
  for (uint32_t i = 0; i < out->rank; i++) {
    const int64_t dim = out->dims[i];
    if (dim == 1) continue;
    bool merges = b->rank > 0;
    for (uint32_t k = 0; merges && k < count; k++)
      merges = b->strides[k][b->rank - 1] == strides[i][k] * dim;
    if (merges)
      b->dims[b->rank - 1] *= dim;
    else
      b->dims[b->rank++] = dim;
    for (uint32_t k = 0; k < count; k++) b->strides[k][b->rank - 1] = strides[i][k];
  }
  if (b->rank == 0) b->dims[b->rank++] = 1;
}

void smr_broadcast_start(const struct smr_broadcast *b, struct smr_broadcast_cursor *cursor,
                         size_t begin, size_t end) {
  *cursor = (struct smr_broadcast_cursor){.left = end > begin ? end - begin : 0};
  size_t rest = begin;
  for (uint32_t i = b->rank; i-- > 0;) {
    const size_t dim = (size_t)b->dims[i];
    if (dim == 0) return;
    const size_t at = rest % dim;
    rest /= dim;
    cursor->index[i] = (int64_t)at;
    for (uint32_t k = 0; k < b->operands; k++) cursor->offset[k] += at * (size_t)b->strides[k][i];
  }
}

// Reset axis i and advance the axis before it, with further carries as needed.
static void broadcast_carry(const struct smr_broadcast *b, struct smr_broadcast_cursor *cursor) {
  for (uint32_t i = b->rank - 1; i > 0 && cursor->index[i] == b->dims[i]; i--) {
    cursor->index[i] = 0;
    cursor->index[i - 1]++;
    for (uint32_t k = 0; k < b->operands; k++)
      cursor->offset[k] +=
          (size_t)b->strides[k][i - 1] - (size_t)b->strides[k][i] * (size_t)b->dims[i];
  }
}

size_t smr_broadcast_next(const struct smr_broadcast *b, struct smr_broadcast_cursor *cursor,
                          size_t most, size_t *offsets) {
  const uint32_t last = b->rank - 1;
  size_t n = (size_t)(b->dims[last] - cursor->index[last]);
  if (n > most) n = most;
  if (n > cursor->left) n = cursor->left;
  for (uint32_t k = 0; k < b->operands; k++) {
    offsets[k] = cursor->offset[k];
    cursor->offset[k] += n * (size_t)b->strides[k][last];
  }
  cursor->left -= n;
  cursor->index[last] += (int64_t)n;
  broadcast_carry(b, cursor);
  return n;
}
