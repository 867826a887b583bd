// SPDX-License-Identifier: Apache-2.0
// Choosing among the algorithms of a node: by the operator's cost model, or by a measurement on
// this device if there is one.
//
// An operator with several algorithms lists those that can compute the node, each with its work,
// and takes the one that smr_choose returns. Work is the number of multiply-adds (in the node's
// element type) that would take as long at the kernels' full rate. It does not depend on the
// instruction set, and so the parts that a node needs do not either.
#ifndef SMR_OPS_CHOICE_H
#define SMR_OPS_CHOICE_H

#include "base/parts.h"

#include <stdbool.h>
#include <stdint.h>

struct smr_job;

// Multiply-adds. Small cores compute doubles in software, and 24 bits are precise enough.
#if defined(SMR_BARE_METAL)
typedef float smr_work;
/// Converts a count to work.
static inline smr_work smr_work_of(int64_t n) {
  return (smr_work)(int32_t)(n < INT32_MAX ? n : INT32_MAX);  // no conversion through doubles
}
#else
typedef double smr_work;
/// Converts a count to work.
static inline smr_work smr_work_of(int64_t n) { return (smr_work)n; }
#endif

/// One way to compute a node.
struct smr_candidate {
  const char *algorithm;  // static string without spaces, e.g. "direct"
  smr_work work;          // multiply-adds, see above
  int32_t code;           // meaning is private to the operator
};

enum { SMR_MAX_CANDIDATES = SMR_HAS(choices) ? 6 : 1 };

/// The choice made for a node. candidates[0] runs; the others follow by rising work. Empty if there
/// was nothing to choose.
struct smr_choice {
  uint8_t count;
  bool tuned;  // a measurement selected or confirmed candidates[0]
  struct smr_candidate candidates[SMR_MAX_CANDIDATES];
};

/// In prepare: return the code of the candidate with the least work (the first among equals), or of
/// the one that job->tuned names. accuracy=strict and =bfloat16 ignore job->tuned. Records the
/// candidates in job->choice. `count` is 1 to 6; names must differ.
int32_t smr_choose(struct smr_job *job, const struct smr_candidate *candidates, uint32_t count);

#endif /* SMR_OPS_CHOICE_H */
