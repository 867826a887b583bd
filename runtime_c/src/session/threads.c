// SPDX-License-Identifier: Apache-2.0
// Runs a node's tiles on the session's pool.
#include "base/fp.h"

#include "session/threads.h"

#include "base/pool.h"
#include "ops/deadline.h"

struct run_tiles {
  const struct smr_team *team;
  const struct smr_job *job;
  uint8_t *scratch;
  size_t stride;
  size_t first;  // tile of the phase
};

// Each thread has its own copy of the job, for the error message, and records its lowest failure.
static void run_range(void *context, size_t begin, size_t end, size_t thread) {
  const struct run_tiles *tiles = context;
  const struct smr_team *team = tiles->team;
  samara_error error = {.status = SAMARA_OK};
  struct smr_job job = *tiles->job;
  job.error = &error;
  begin += tiles->first;
  end += tiles->first;
  const samara_status status =
      smr_deadline_run(&job, begin, end, tiles->scratch + thread * tiles->stride, job.run);
  if (status == SAMARA_OK) return;
  samara_error *slot = &team->errors[thread];
  if (slot->status != SAMARA_OK && team->begins[thread] < begin) return;
  error.status = status;
  *slot = error;
  team->begins[thread] = begin;
}

// Report the failure of the lowest range, so that the message does not depend on timing.
static samara_status run_collect(const struct smr_common *common, const struct smr_team *team) {
  size_t worst = common->threads;
  for (size_t t = 0; t < common->threads; t++)
    if (team->errors[t].status != SAMARA_OK &&
        (worst == common->threads || team->begins[t] < team->begins[worst]))
      worst = t;
  if (worst == common->threads) return SAMARA_OK;
  *common->error = team->errors[worst];
  return common->error->status;
}

samara_status smr_session_share(const struct smr_common *common, const struct smr_team *team,
                                const struct smr_job *job, uint8_t *scratch) {
  struct run_tiles tiles = {.team = team,
                            .job = job,
                            .scratch = scratch,
                            .stride = smr_align64(job->thread_scratch_bytes)};
  for (size_t t = 0; t < common->threads; t++) team->errors[t].status = SAMARA_OK;
  for (size_t end; tiles.first < job->tiles; tiles.first = end) {
    end = smr_phase_end(job, tiles.first);
    smr_pool_run(team->pool, end - tiles.first, run_range, &tiles);
    SMR_TRY(run_collect(common, team));
  }
  return SAMARA_OK;
}
