// SPDX-License-Identifier: Apache-2.0
// A node's tiles over the session's pool.
#include "base/fp.h"

#include "session/session.h"

#include "base/pool.h"
#include "ops/deadline.h"

struct run_tiles {
  samara_session *session;
  const struct smr_job *job;
  uint8_t *scratch;
  size_t stride;
  size_t first;  // tile of the phase
};

// Each thread has its own copy of the job, for the error text, and remembers its lowest failure.
static void run_range(void *context, size_t begin, size_t end, size_t thread) {
  const struct run_tiles *tiles = context;
  samara_session *session = tiles->session;
  samara_error error = {.status = SAMARA_OK};
  struct smr_job job = *tiles->job;
  job.error = &error;
  begin += tiles->first;
  end += tiles->first;
  const samara_status status =
      smr_run_paced(&job, begin, end, tiles->scratch + thread * tiles->stride, job.op->funcs->run);
  if (status == SAMARA_OK) return;
  samara_error *slot = &session->thread_errors[thread];
  if (slot->status != SAMARA_OK && session->thread_begins[thread] < begin) return;
  error.status = status;
  *slot = error;
  session->thread_begins[thread] = begin;
}

// The failure of the lowest range, so that the text is the same whatever the threads did.
static samara_status run_collect(samara_session *session) {
  size_t worst = session->threads;
  for (size_t t = 0; t < session->threads; t++)
    if (session->thread_errors[t].status != SAMARA_OK &&
        (worst == session->threads || session->thread_begins[t] < session->thread_begins[worst]))
      worst = t;
  if (worst == session->threads) return SAMARA_OK;
  session->error = session->thread_errors[worst];
  return session->error.status;
}

samara_status smr_session_share(samara_session *session, const struct smr_job *job,
                                uint8_t *scratch) {
  struct run_tiles tiles = {.session = session,
                            .job = job,
                            .scratch = scratch,
                            .stride = smr_align64(job->thread_scratch_bytes)};
  for (size_t t = 0; t < session->threads; t++) session->thread_errors[t].status = SAMARA_OK;
  for (size_t end; tiles.first < job->tiles; tiles.first = end) {
    end = smr_phase_end(job, tiles.first);
    smr_pool_run(session->pool, end - tiles.first, run_range, &tiles);
    SMR_TRY(run_collect(session));
  }
  return SAMARA_OK;
}
