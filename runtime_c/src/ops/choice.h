// SPDX-License-Identifier: Apache-2.0
// Choosing among the ways of computing a node: what an operator's cost model says, unless this
// device was measured.
//
// An operator that knows several algorithms lists those that are right for the node at hand, each
// with its work, and takes the one that smr_choose returns. Work is counted in multiply-adds of the
// node's element type that would take as long at the kernels' full rate. So it does not depend on
// the instruction sets, and neither do the parts that a node needs.
#ifndef SMR_OPS_CHOICE_H
#define SMR_OPS_CHOICE_H

#include "base/parts.h"

#include <stdbool.h>
#include <stdint.h>

struct smr_job;

// Multiply-adds. Small cores compute with doubles in software, and 24 bits tell enough.
#if defined(SMR_BARE_METAL)
typedef float smr_work;
/// A count as work.
static inline smr_work smr_work_of(int64_t n) {
  return (smr_work)(int32_t)(n < INT32_MAX ? n : INT32_MAX);  // not by way of doubles either
}
#else
typedef double smr_work;
/// A count as work.
static inline smr_work smr_work_of(int64_t n) { return (smr_work)n; }
#endif

/// One way of computing a node.
struct smr_candidate {
  const char *algorithm;  // static string without spaces, e.g. "direct"
  smr_work work;          // multiply-adds, see above
  int32_t code;           // the operator's own
};

enum { SMR_MAX_CANDIDATES = SMR_HAS(choices) ? 6 : 1 };

/// What was chosen for a node. candidates[0] runs, the others follow by rising work; none where
/// there was nothing to choose.
struct smr_choice {
  uint8_t count;
  bool tuned;  // candidates[0] was not the cheapest by work, or was confirmed, by a measurement
  struct smr_candidate candidates[SMR_MAX_CANDIDATES];
};

/// In prepare: the code of the candidate with the least work (the first of equals), or of the one
/// that job->tuned names, which accuracy=strict and =bfloat16 ignore. Notes them in job->choice.
/// `count` is 1 to 6; names differ.
int32_t smr_choose(struct smr_job *job, const struct smr_candidate *candidates, uint32_t count);

#endif /* SMR_OPS_CHOICE_H */
