// SPDX-License-Identifier: Apache-2.0
// Parts of a record of boxes: channels of one output or of several consecutive ones.
#ifndef SMR_MEDIA_ANSWER_PART_H
#define SMR_MEDIA_ANSWER_PART_H

#include "media/answer_elements.h"

enum { SMR_ANSWER_MOST_OUTPUTS = 16 };  // most outputs of a part

/// Channels [begin, end) of outputs; `end` 0: up to the last. A part without outputs is absent.
struct smr_answer_part {
  uint32_t count;
  uint32_t outputs[SMR_ANSWER_MOST_OUTPUTS];
  uint32_t begin, end;
};

/// An opened part: `rows` boxes with `channels` each, from `begin` on.
struct smr_answer_rows {
  const samara_tensor *tensors[SMR_ANSWER_MOST_OUTPUTS];
  size_t counts[SMR_ANSWER_MOST_OUTPUTS];  /// boxes of each output
  bool channels_first;
  size_t rows, begin, channels, all_channels;
};

/// Find the part's tensors. `name` is for errors. `rows` is 0 for an absent part. BAD_SHAPE if an
/// output is not [1, ..., C] or [N, C] (channels first: [1, C, ...] or [C, N]), or lacks channels.
samara_status smr_answer_rows_open(const struct smr_answer_part *part,
                                   const struct smr_answer_outputs *outputs, bool channels_first,
                                   const char *name, struct smr_answer_rows *rows,
                                   samara_error *error);

/// y[i] = channel `channel` (counted from the tensor's first) of box first + i, for i < n.
void smr_answer_rows_load(const struct smr_answer_rows *rows, size_t channel, size_t first,
                          size_t n, float *y);

#endif
