// SPDX-License-Identifier: Apache-2.0
// Scores of boxes, one block of boxes and one channel at a time.
#include "base/fp.h"

#include "media/answer_score.h"

#include <math.h>

// Softmax over all channels of a block of boxes: the maximum and the sum.
struct answer_score_soft {
  float largest[SMR_ANSWER_BLOCK], total[SMR_ANSWER_BLOCK];
};

static void answer_score_soften(const struct smr_answer_rows *rows, size_t first, size_t n,
                                struct answer_score_soft *soft) {
  float x[SMR_ANSWER_BLOCK];
  for (size_t i = 0; i < n; i++) {
    soft->largest[i] = -INFINITY;
    soft->total[i] = 0;
  }
  for (size_t c = 0; c < rows->all_channels; c++) {
    smr_answer_rows_load(rows, c, first, n, x);
    for (size_t i = 0; i < n; i++)
      soft->largest[i] = x[i] > soft->largest[i] ? x[i] : soft->largest[i];
  }
  for (size_t c = 0; c < rows->all_channels; c++) {
    smr_answer_rows_load(rows, c, first, n, x);
    for (size_t i = 0; i < n; i++)
      if (!isnan(x[i])) soft->total[i] += smr_answer_power(x[i], soft->largest[i]);
  }
}

static void answer_score_activate(enum smr_answer_activation activation,
                                  const struct answer_score_soft *soft, size_t n, float *x) {
  if (activation == SMR_ANSWER_SIGMOID)
    for (size_t i = 0; i < n; i++) x[i] = smr_answer_sigmoid(x[i]);
  if (activation == SMR_ANSWER_SOFTMAX)
    for (size_t i = 0; i < n; i++)
      if (!isnan(x[i])) x[i] = smr_answer_power(x[i], soft->largest[i]) / soft->total[i];
}

void smr_answer_scores(const struct smr_answer_scoring *s, size_t first, size_t n, float *scores,
                       int32_t *classes) {
  struct answer_score_soft soft;
  float x[SMR_ANSWER_BLOCK];
  if (s->activation == SMR_ANSWER_SOFTMAX) answer_score_soften(&s->score, first, n, &soft);
  for (size_t i = 0; i < n; i++) {
    scores[i] = -INFINITY;
    classes[i] = 0;
  }
  for (size_t c = 0; c < s->score.channels; c++) {
    smr_answer_rows_load(&s->score, s->score.begin + c, first, n, x);
    answer_score_activate(s->activation, &soft, n, x);
    smr_answer_larger(n, x, (int32_t)c, scores, classes);
  }
  for (size_t i = 0; i < n; i++) scores[i] = scores[i] == -INFINITY ? NAN : scores[i];
  if (s->objectness.rows == 0) return;
  smr_answer_rows_load(&s->objectness, s->objectness.begin, first, n, x);
  if (s->activation == SMR_ANSWER_SIGMOID) answer_score_activate(s->activation, &soft, n, x);
  for (size_t i = 0; i < n; i++) {
    scores[i] *= x[i];
    if (s->root) scores[i] = sqrtf(scores[i]);
  }
}
