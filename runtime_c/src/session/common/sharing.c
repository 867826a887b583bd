// SPDX-License-Identifier: Apache-2.0
// Whether a job is worth several threads.
#include "base/fp.h"

#include "session/common/common.h"

size_t smr_job_bytes(const struct smr_job *job, bool constants) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < job->input_count && bytes < SMR_INLINE_BYTES; i++) {
    const struct smr_tensor *x = job->inputs[i];
    if (x != NULL && (constants || x->constant < 0)) bytes += x->size_bytes;
  }
  for (uint32_t i = 0; i < job->output_count && bytes < SMR_INLINE_BYTES; i++)
    bytes += job->outputs[i]->size_bytes;
  return bytes;
}

bool smr_job_is_worth_sharing(const struct smr_job *job, bool follows) {
  if (job->tiles <= 1) return false;
  if (job->work >= (smr_work)SMR_INLINE_WORK || smr_job_bytes(job, true) >= SMR_INLINE_BYTES)
    return true;
  return follows && smr_job_bytes(job, false) >= SMR_FOLLOW_BYTES;
}
