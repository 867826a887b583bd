// SPDX-License-Identifier: Apache-2.0
// Parts of a record of boxes: channels of one output, or of several that follow each other.
#ifndef SMR_MEDIA_ANSWER_PART_H
#define SMR_MEDIA_ANSWER_PART_H

#include "media/answer_elements.h"

enum { SMR_ANSWER_MOST_OUTPUTS = 16 };  // of a part

/// Channels `begin` up to `end`, without it, of outputs; 0 as `end` takes all that follow. A part
/// of no outputs is none.
struct smr_answer_part {
  uint32_t count;
  uint32_t outputs[SMR_ANSWER_MOST_OUTPUTS];
  uint32_t begin, end;
};

/// A part of tensors that are there: `rows` boxes in all, `channels` of each, counted from `begin`.
struct smr_answer_rows {
  const samara_tensor *tensors[SMR_ANSWER_MOST_OUTPUTS];
  size_t counts[SMR_ANSWER_MOST_OUTPUTS];  ///< boxes of each
  bool channels_first;
  size_t rows, begin, channels, all_channels;
};

/// Find the part's tensors. `name` is for errors. All rows are 0 for a part of none. BAD_SHAPE
/// where an output is not [1, ..., C] or [N, C] (channels first: [1, C, ...] or [C, N]), or lacks
/// channels.
samara_status smr_answer_rows_open(const struct smr_answer_part *part,
                                   const struct smr_answer_outputs *outputs, bool channels_first,
                                   const char *name, struct smr_answer_rows *rows,
                                   samara_error *error);

/// y[i] = channel `channel`, of all of the tensor, of box first + i, for i < n.
void smr_answer_rows_load(const struct smr_answer_rows *rows, size_t channel, size_t first,
                          size_t n, float *y);

#endif
