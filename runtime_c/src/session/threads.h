// SPDX-License-Identifier: Apache-2.0
// Shares the tiles of one node among a session's threads.
#ifndef SMR_SESSION_THREADS_H
#define SMR_SESSION_THREADS_H

#include "session/common/common.h"

struct smr_team {
  samara_pool *pool;
  samara_error *errors;  // by thread
  size_t *begins;        // by thread: start of the first range that failed
  bool shares;           // whether the last job's tiles went to the pool
};

/// Run a job's tiles on the team's pool. `scratch` is the first thread's.
samara_status smr_session_share(const struct smr_common *common, const struct smr_team *team,
                                const struct smr_job *job, uint8_t *scratch);

#endif
