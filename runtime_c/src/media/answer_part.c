// SPDX-License-Identifier: Apache-2.0
// Channels of consecutive outputs.
#include "base/fp.h"

#include "media/answer_part.h"

#include "base/checked.h"

#include <inttypes.h>

// Whether the tensor has rows of channels, and their number.
static bool answer_part_channels(const samara_tensor *t, bool channels_first, size_t *channels) {
  if (t->rank < 2 || (t->rank > 2 && t->shape[0] != 1)) return false;
  const int32_t axis = !channels_first ? t->rank - 1 : t->rank == 2 ? 0 : 1;
  *channels = (size_t)t->shape[axis];
  return true;
}

static samara_status answer_part_add(const struct smr_answer_part *part,
                                     const struct smr_answer_outputs *outputs, uint32_t k,
                                     const char *name, struct smr_answer_rows *rows,
                                     samara_error *error) {
  const samara_tensor *t;
  size_t n, channels = 0;
  SMR_TRY(smr_answer_output(outputs, part->outputs[k], &t, &n, error));
  if (!answer_part_channels(t, rows->channels_first, &channels))
    SMR_FAIL(error, BAD_SHAPE,
             "%s: output %" PRIu32 " has rank %" PRId32
             ", expected [1, ..., channels] or [boxes, channels] (channels-first: [1, channels, "
             "...]), a batch of 1",
             name, part->outputs[k], t->rank);
  const size_t end = part->end == 0 ? channels : part->end;
  if (part->begin >= end || end > channels || channels > INT32_MAX ||
      (k > 0 && channels != rows->all_channels))
    SMR_FAIL(error, BAD_SHAPE,
             "%s: output %" PRIu32 " has %zu channels, expected those from %" PRIu32
             " up to %zu, and as many as the part's other outputs",
             name, part->outputs[k], channels, part->begin, end);
  rows->all_channels = channels;
  rows->channels = end - part->begin;
  rows->tensors[k] = t;
  rows->counts[k] = n / channels;
  if (!smr_add_size(rows->rows, n / channels, &rows->rows) || rows->rows > UINT32_MAX)
    SMR_FAIL(error, BAD_SHAPE, "%s: more than 2^32 boxes", name);
  return SAMARA_OK;
}

samara_status smr_answer_rows_open(const struct smr_answer_part *part,
                                   const struct smr_answer_outputs *outputs, bool channels_first,
                                   const char *name, struct smr_answer_rows *rows,
                                   samara_error *error) {
  rows->channels_first = channels_first;
  rows->rows = rows->channels = rows->all_channels = 0;
  rows->begin = part->begin;
  if (part->count > SMR_ANSWER_MOST_OUTPUTS)
    SMR_FAIL(error, BAD_ARGUMENT, "%s has %" PRIu32 " outputs, expected up to 16", name,
             part->count);
  for (uint32_t k = 0; k < part->count; k++)
    SMR_TRY(answer_part_add(part, outputs, k, name, rows, error));
  return SAMARA_OK;
}

void smr_answer_rows_load(const struct smr_answer_rows *rows, size_t channel, size_t first,
                          size_t n, float *y) {
  for (uint32_t k = 0; n > 0; k++) {
    const size_t count = rows->counts[k];
    if (first >= count) {
      first -= count;
      continue;
    }
    const size_t m = n < count - first ? n : count - first;
    const size_t row_step = rows->channels_first ? 1 : rows->all_channels;
    const size_t channel_step = rows->channels_first ? count : 1;
    smr_answer_load(rows->tensors[k], first * row_step + channel * channel_step, row_step, m, y);
    y += m;
    n -= m;
    first = 0;
  }
}
