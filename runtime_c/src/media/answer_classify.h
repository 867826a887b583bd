// SPDX-License-Identifier: Apache-2.0
// The best classes of an output: docs/guides/postprocessing.md, step 4.
#ifndef SMR_MEDIA_ANSWER_CLASSIFY_H
#define SMR_MEDIA_ANSWER_CLASSIFY_H

#include "media/answer_elements.h"
#include "media/answer_rank.h"

struct smr_answer_classify {
  uint32_t output;
  enum smr_answer_activation activation;
  uint32_t top;  /// most classes, at least 1
  bool limited;  ///< only scores above `threshold`
  float threshold;
  float scale;  ///< not 0: of an output of plain integers; replaces that of the tensor
  int32_t zero_point;
};

/// Write at most `top` and `room` classes, best first, to `classes`, and their number to *count.
/// Uses no other memory. BAD_SHAPE if more than one axis of the output is longer than 1.
samara_status smr_answer_classify(const struct smr_answer_classify *record,
                                  const struct smr_answer_outputs *outputs,
                                  struct smr_answer_ranked *classes, size_t room, size_t *count,
                                  samara_error *error);

#endif
