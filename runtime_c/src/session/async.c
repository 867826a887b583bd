// SPDX-License-Identifier: Apache-2.0
// Asynchronous runs: one at a time, in a thread that belongs to the session.
#include "base/fp.h"

#include "session/session.h"

#include "base/os.h"

struct smr_async {
  struct smr_os_thread thread;
  struct smr_os_mutex lock;  // guards the fields below
  struct smr_os_cond changed;
  bool waiting;  // a run was begun, and the thread has not started it
  bool running;  // the thread executes a run
  bool telling;  // the thread calls `done`, which may begin the next run
  bool ends;
  samara_done_fn done;
  void *user;
};

// Until the session ends: wait for a run, execute it, call `done`.
static void async_loop(void *argument) {
  samara_session *session = argument;
  struct smr_async *async = session->async;
  smr_os_mutex_lock(&async->lock);
  for (;;) {
    while (!async->waiting && !async->ends) smr_os_cond_wait(&async->changed, &async->lock);
    if (!async->waiting) break;
    const samara_done_fn done = async->done;
    void *user = async->user;
    async->waiting = false;
    async->running = true;
    smr_os_mutex_unlock(&async->lock);
    const samara_status status = samara_session_run(session);
    smr_os_mutex_lock(&async->lock);
    SMR_ATOMIC_STORE(&session->common.run.state, SMR_RUN_IDLE);  // the run was rejected before it
                                                                 // started
    async->running = false;
    async->telling = done != NULL;
    smr_os_mutex_unlock(&async->lock);
    if (done != NULL) done(user, session, status);
    smr_os_mutex_lock(&async->lock);
    async->telling = false;
    smr_os_cond_broadcast(&async->changed);
  }
  smr_os_mutex_unlock(&async->lock);
}

static samara_status async_start(samara_session *session) {
  struct smr_async *async;
  SMR_TAKE(&session->common, async, 1);
  if (!smr_os_mutex_init(&async->lock))
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "the system cannot create a lock");
  bool started = smr_os_cond_init(&async->changed);
  if (started) {
    session->async = async;
    started = smr_os_thread_start(&async->thread, async_loop, session);
    if (!started) smr_os_cond_destroy(&async->changed);
  }
  if (started) return SAMARA_OK;
  session->async = NULL;
  smr_os_mutex_destroy(&async->lock);
  SMR_FAIL(&session->error, UNSUPPORTED,
           "the system cannot start a thread: use samara_session_run");
}

samara_status samara_session_run_async(samara_session *session, samara_done_fn done, void *user) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_NEED_IN(NULL, &session->error, async);
  if (session->async == NULL) SMR_TRY(async_start(session));
  struct smr_async *async = session->async;
  smr_os_mutex_lock(&async->lock);
  const bool busy = async->waiting || async->running;
  if (!busy) {
    async->waiting = true;
    SMR_ATOMIC_STORE(&session->common.run.state, SMR_RUN_BEGUN);
    async->done = done;
    async->user = user;
    smr_os_cond_broadcast(&async->changed);
  }
  smr_os_mutex_unlock(&async->lock);
  // Write no message: the session's error belongs to the current run.
  return busy ? SAMARA_BAD_STATE : SAMARA_OK;
}

void samara_session_wait(samara_session *session) {
  if (session == NULL || session->async == NULL) return;
  struct smr_async *async = session->async;
  smr_os_mutex_lock(&async->lock);
  while (async->waiting || async->running || async->telling)
    smr_os_cond_wait(&async->changed, &async->lock);
  smr_os_mutex_unlock(&async->lock);
}

void smr_async_end(samara_session *session) {
  struct smr_async *async = session->async;
  if (async == NULL) return;
  samara_session_wait(session);
  smr_os_mutex_lock(&async->lock);
  async->ends = true;
  smr_os_cond_broadcast(&async->changed);
  smr_os_mutex_unlock(&async->lock);
  smr_os_thread_join(&async->thread);
  smr_os_cond_destroy(&async->changed);
  smr_os_mutex_destroy(&async->lock);
}
