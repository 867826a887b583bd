// SPDX-License-Identifier: Apache-2.0
// Choosing among the algorithms of a node.
#include "base/fp.h"

#include "ops/choice.h"

#include "ops/op.h"

#include <string.h>

// Whether the first line of `tuned` is `name`.
static bool choice_is(const char *tuned, const char *name) {
  const size_t length = strlen(name);
  return strncmp(tuned, name, length) == 0 && (tuned[length] == '\n' || tuned[length] == '\0');
}

// Records all candidates and returns the one that runs: the one named by job->tuned, else the best.
static uint32_t choice_note(struct smr_job *job, const struct smr_candidate *candidates,
                            uint32_t count, uint32_t best) {
  struct smr_choice *choice = &job->choice;
  *choice = (struct smr_choice){.count = 0};
  for (uint32_t i = 0;
       i < count && job->tuned != NULL && !job->strict && !job->bfloat16 && !job->exact; i++) {
    if (!choice_is(job->tuned, candidates[i].algorithm)) continue;
    best = i;
    choice->tuned = true;
  }
  choice->candidates[choice->count++] = candidates[best];
  for (uint32_t i = 0; i < count && choice->count < SMR_MAX_CANDIDATES; i++) {
    if (i == best) continue;
    uint32_t at = choice->count++;
    for (; at > 1 && choice->candidates[at - 1].work > candidates[i].work; at--)
      choice->candidates[at] = choice->candidates[at - 1];
    choice->candidates[at] = candidates[i];
  }
  return best;
}

int32_t smr_choose(struct smr_job *job, const struct smr_candidate *candidates, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; i++)
    if (candidates[i].work < candidates[best].work) best = i;
  if (SMR_HAS(choices)) best = choice_note(job, candidates, count, best);
  job->work = candidates[best].work;
  return candidates[best].code;
}
