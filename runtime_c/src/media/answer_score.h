// SPDX-License-Identifier: Apache-2.0
// The score and the class of each box: docs/guides/postprocessing.md, step 5.
#ifndef SMR_MEDIA_ANSWER_SCORE_H
#define SMR_MEDIA_ANSWER_SCORE_H

#include "media/answer_part.h"

/// Inputs of scores. Without objectness, it has 0 rows.
struct smr_answer_scoring {
  struct smr_answer_rows score, objectness;
  enum smr_answer_activation activation;
  bool root;
};

/// Score and class of boxes first .. first + n - 1, n <= SMR_ANSWER_BLOCK. The score is NaN if no
/// class has a score above -infinity.
void smr_answer_scores(const struct smr_answer_scoring *s, size_t first, size_t n, float *scores,
                       int32_t *classes);

#endif
