// SPDX-License-Identifier: Apache-2.0
// A pool of threads that share one range of tiles at a time. Idle threads spin for a moment, then
// sleep.
//
// The range is divided into chunks, and every thread starts with a contiguous share of them. So it
// finds in its own cache what it wrote at the same place in the node before. A thread that has
// finished its share takes chunks from the ends of the others' shares.
//
// Small jobs cost mainly the cache lines that move between cores, so there are few: the job's line
// with its generation, which workers watch; and one line per thread, with the rest of its share
// and, once it finds no more chunks, the number that it has done. The caller waits until all chunks
// are done. So a worker that wakes late and claims no chunk does not delay the job. It may still be
// reading the job while the next one is written; the generation, which is odd meanwhile, tells it.
#include "base/fp.h"

#include "base/pool.h"

#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/isa.h"
#include "base/os.h"
#include "base/parts.h"

#if !defined(SMR_NO_ATOMICS)

enum {
  POOL_MAX_THREADS = 256,
  POOL_DEFAULT_THREADS = 4,   // more threads would use the slow cores of phones
  POOL_SPIN_US = 50,          // longer than the pause between two nodes, shorter than a time slice
  POOL_ALONE_US = 4,          // microseconds of it without yielding the processor
  POOL_AWAY_US = 2,           // a yield that takes this long let another thread run
  POOL_UNHELPED = 4,          // consecutive jobs without help: the workers may lack a processor
  POOL_SPINS_PER_CLOCK = 16,  // reads of the word between two reads of the clock
  POOL_CHUNKS_PER_THREAD = 16,  // evens out threads that are slower or start late
  POOL_LINE = 64,               // bytes that caches exchange at once
};

#define POOL_GENERATION(word) ((uint32_t)((word) >> 32))

// One of the threads. Number 0 is the caller of run.
struct pool_thread {
  // Its share of a job: the job's generation (32 bits), the first chunk not yet taken (16) and the
  // end (16). With another generation: the whole share is left.
  _Atomic uint64_t part;
  // The job's generation (32 bits), and the number of its chunks that the thread has done.
  _Atomic uint64_t done;
  char apart[POOL_LINE];  // separates it from the next thread's line
  samara_pool *pool;
  size_t index;
  struct smr_os_thread thread;
};

// A copy of the job: the original may be overwritten by the next one at any time.
struct pool_job {
  uint32_t generation;
  smr_pool_fn fn;
  void *context;
  size_t tiles, chunk, chunks;
};

struct samara_pool {
  samara_allocator allocator;
  int64_t process;
  size_t threads;  // including the caller of run
  size_t started;  // running workers
  void (*join)(void *user);
  void *thread_user;

  char apart_1[POOL_LINE];
  atomic_int busy;    // whether a run is in progress; a word, because RISC-V has no byte swaps
  uint32_t unhelped;  // consecutive jobs that the caller did alone
  char apart_2[POOL_LINE];

  atomic_bool stopping;
  atomic_size_t asleep;       // workers waiting on `wake`
  atomic_bool waiting;        // the caller waits on `all_done`
  _Atomic int32_t processor;  // last known processor of the caller; -1: unknown
  struct smr_os_mutex mutex;
  struct smr_os_cond wake, all_done;

  char apart_3[POOL_LINE];
  _Atomic uint32_t generation;  // of the job below; odd while it is written, 0: no job yet
  _Atomic(smr_pool_fn) fn;
  _Atomic(void *) context;
  atomic_size_t tiles, chunk, chunks;
  char apart_4[POOL_LINE];

  struct pool_thread all[];
};

// ---- chunks ----

// Consecutive chunks.
struct pool_piece {
  size_t begin, end;
};

// Take chunks from a thread's share: three quarters of the rest, from its front, if the share is
// the caller's own; otherwise one chunk from its end. Empty if nothing is left, or if the job is
// over and a later one is running.
static struct pool_piece pool_take(samara_pool *pool, const struct pool_job *job, size_t of,
                                   bool own) {
  _Atomic uint64_t *part = &pool->all[of].part;
  uint64_t was = atomic_load_explicit(part, memory_order_relaxed), is;
  struct pool_piece piece;
  do {
    size_t begin = (was >> 16) & UINT16_MAX, end = was & UINT16_MAX;
    if (POOL_GENERATION(was) != job->generation) {
      if ((int32_t)(POOL_GENERATION(was) - job->generation) > 0) return (struct pool_piece){0, 0};
      begin = job->chunks * of / pool->threads;
      end = job->chunks * (of + 1) / pool->threads;
    }
    if (begin >= end) return (struct pool_piece){0, 0};
    if (own) {
      piece = (struct pool_piece){begin, end - (end - begin) / 4};
      begin = piece.end;
    } else {
      piece = (struct pool_piece){end - 1, end};
      end = piece.begin;
    }
    is = (uint64_t)job->generation << 32 | (uint64_t)begin << 16 | end;
    // If nobody has taken these chunks, the fields read before belong to this job.
  } while (!atomic_compare_exchange_weak_explicit(part, &was, is, memory_order_acq_rel,
                                                  memory_order_relaxed));
  return piece;
}

// Run chunks until none is left. Returns the number run.
static size_t pool_do_chunks(samara_pool *pool, const struct pool_job *job, size_t thread) {
  size_t of = thread, done = 0;
  for (size_t i = 0; i < pool->threads; i++) {
    for (;;) {
      const struct pool_piece piece = pool_take(pool, job, of, of == thread);
      if (piece.begin == piece.end) break;
      job->fn(job->context, piece.begin * job->chunk,
              piece.end < job->chunks ? piece.end * job->chunk : job->tiles, thread);
      done += piece.end - piece.begin;
    }
    of = of + 1 < pool->threads ? of + 1 : 0;
  }
  return done;
}

// ---- workers ----

// Whether there is, or was, a job other than `seen`.
static bool pool_has_news(const samara_pool *pool, uint32_t seen) {
  const uint32_t generation = atomic_load_explicit(&pool->generation, memory_order_acquire);
  return generation != seen && generation % 2 == 0;
}

// Copies the job; false while it is being written. Acquiring loads keep their order.
static bool pool_read(const samara_pool *pool, struct pool_job *job) {
  job->generation = atomic_load_explicit(&pool->generation, memory_order_acquire);
  job->fn = atomic_load_explicit(&pool->fn, memory_order_acquire);
  job->context = atomic_load_explicit(&pool->context, memory_order_acquire);
  job->tiles = atomic_load_explicit(&pool->tiles, memory_order_acquire);
  job->chunk = atomic_load_explicit(&pool->chunk, memory_order_acquire);
  job->chunks = atomic_load_explicit(&pool->chunks, memory_order_acquire);
  return job->generation % 2 == 0 &&
         job->generation == atomic_load_explicit(&pool->generation, memory_order_relaxed);
}

static void pool_worker_job(samara_pool *pool, const struct pool_job *job, size_t thread) {
  const size_t done = pool_do_chunks(pool, job, thread);
  if (done == 0) return;
  // Sequentially consistent, like `waiting`: at least one side sees the other's store.
  atomic_store(&pool->all[thread].done, (uint64_t)job->generation << 32 | done);
  if (!atomic_load(&pool->waiting)) return;
  smr_os_mutex_lock(&pool->mutex);
  smr_os_cond_broadcast(&pool->all_done);
  smr_os_mutex_unlock(&pool->mutex);
}

// Whether a thread that has waited since `start` continues to spin. The thread that it waits for
// may have been scheduled on the same processor, although others are free, and would stay there for
// tens of milliseconds. The yield lets it run, and `*away` reports that.
static bool pool_spins_on(uint64_t start, bool *away) {
  const uint64_t now = smr_os_now_ns(), waited = now - start;
  if (waited >= POOL_ALONE_US * UINT64_C(1000)) {
    smr_os_thread_yield();
    *away = smr_os_now_ns() - now > POOL_AWAY_US * UINT64_C(1000);
  }
  return waited < POOL_SPIN_US * UINT64_C(1000);
}

// Leave the caller's processor.
static void pool_worker_leave(const samara_pool *pool) {
  const int32_t processor = atomic_load_explicit(&pool->processor, memory_order_relaxed);
  if (processor >= 0 && processor == smr_os_processor()) smr_os_leave_processor(processor);
}

static void pool_worker_wait(samara_pool *pool, uint32_t seen) {
  bool away = false;
  const uint64_t start = smr_os_now_ns();
  do {
    if (away) pool_worker_leave(pool);
    for (int i = 0; i < POOL_SPINS_PER_CLOCK; i++) {
      if (pool_has_news(pool, seen) || atomic_load(&pool->stopping)) return;
      smr_cpu_relax();
    }
  } while (pool_spins_on(start, &away));
  smr_os_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->asleep, 1);
  while (!pool_has_news(pool, seen) && !atomic_load(&pool->stopping))
    smr_os_cond_wait(&pool->wake, &pool->mutex);
  atomic_fetch_sub(&pool->asleep, 1);
  smr_os_mutex_unlock(&pool->mutex);
}

static void pool_worker_main(void *argument) {
  struct pool_thread *worker = (struct pool_thread *)argument;
  samara_pool *pool = worker->pool;
  uint32_t seen = 0;
  smr_os_map_stack();
  while (!atomic_load(&pool->stopping)) {
    struct pool_job job;
    if (pool_has_news(pool, seen) && pool_read(pool, &job)) {
      seen = job.generation;
      pool_worker_job(pool, &job, worker->index);
    } else {
      pool_worker_wait(pool, seen);
    }
  }
}

static void pool_wake_workers(samara_pool *pool) {
  smr_os_mutex_lock(&pool->mutex);
  smr_os_cond_broadcast(&pool->wake);
  smr_os_mutex_unlock(&pool->mutex);
}

// ---- the caller ----

// Whether the workers have done all chunks that the caller has not.
static bool pool_is_done(samara_pool *pool, const struct pool_job *job, size_t own) {
  size_t done = own;
  for (size_t i = 1; i < pool->threads && done < job->chunks; i++) {
    const uint64_t said = atomic_load(&pool->all[i].done);
    if (POOL_GENERATION(said) == job->generation) done += (uint32_t)said;
  }
  return done == job->chunks;
}

// Publish the caller's processor for the workers.
static void pool_say_where(samara_pool *pool) {
  atomic_store_explicit(&pool->processor, smr_os_processor(), memory_order_relaxed);
}

static void pool_wait_until_done(samara_pool *pool, const struct pool_job *job, size_t own) {
  bool away = false;
  pool->unhelped = 0;  // in a line that only callers touch
  if (pool_is_done(pool, job, own)) return;
  const uint64_t start = smr_os_now_ns();
  do {
    if (away) pool_say_where(pool);
    for (int i = 0; i < POOL_SPINS_PER_CLOCK; i++) {
      if (pool_is_done(pool, job, own)) return;
      smr_cpu_relax();
    }
  } while (pool_spins_on(start, &away));
  smr_os_mutex_lock(&pool->mutex);
  atomic_store(&pool->waiting, true);
  while (!pool_is_done(pool, job, own)) smr_os_cond_wait(&pool->all_done, &pool->mutex);
  atomic_store(&pool->waiting, false);
  smr_os_mutex_unlock(&pool->mutex);
}

// The generation after that of the last job. Never 0, which new workers start from. When it wraps
// around, all old generations are cleared.
static uint32_t pool_next_generation(samara_pool *pool) {
  const uint32_t next = atomic_load_explicit(&pool->generation, memory_order_relaxed) + 2;
  if (next != 0) return next;
  for (size_t i = 0; i < pool->threads; i++) {
    atomic_store(&pool->all[i].part, 0);
    atomic_store(&pool->all[i].done, 0);
  }
  return 2;
}

static void pool_write(samara_pool *pool, const struct pool_job *job) {
  atomic_store_explicit(&pool->generation, job->generation - 1, memory_order_relaxed);
  // Releasing stores stay after the one that makes the generation odd.
  atomic_store_explicit(&pool->fn, job->fn, memory_order_release);
  atomic_store_explicit(&pool->context, job->context, memory_order_release);
  atomic_store_explicit(&pool->tiles, job->tiles, memory_order_release);
  atomic_store_explicit(&pool->chunk, job->chunk, memory_order_release);
  atomic_store_explicit(&pool->chunks, job->chunks, memory_order_release);
  atomic_store_explicit(&pool->generation, job->generation, memory_order_release);
}

// The caller did a job alone. Now and then it lets a worker run that waits for this very processor;
// the worker then moves to another.
static void pool_unhelped(samara_pool *pool) {
  if (++pool->unhelped < POOL_UNHELPED) return;
  pool->unhelped = 0;
  pool_say_where(pool);
  smr_os_thread_yield();
}

void smr_pool_run(samara_pool *pool, size_t tiles, smr_pool_fn fn, void *context) {
  if (tiles == 0) return;
  if (!SMR_HAS(threads) || pool == NULL || pool->started == 0 || tiles == 1 ||
      pool->process != smr_os_process_id() ||
      atomic_exchange_explicit(&pool->busy, 1, memory_order_acquire)) {
    fn(context, 0, tiles, 0);
    return;
  }
  const size_t chunk = (tiles - 1) / (pool->threads * POOL_CHUNKS_PER_THREAD) + 1;
  const struct pool_job job = {.generation = pool_next_generation(pool),
                               .fn = fn,
                               .context = context,
                               .tiles = tiles,
                               .chunk = chunk,
                               .chunks = (tiles - 1) / chunk + 1};
  pool_write(pool, &job);
  // A worker that falls asleep at this moment may be missed; others then run its share.
  if (atomic_load_explicit(&pool->asleep, memory_order_relaxed) != 0) pool_wake_workers(pool);
  const size_t own = pool_do_chunks(pool, &job, 0);
  if (own == job.chunks)
    pool_unhelped(pool);
  else
    pool_wait_until_done(pool, &job, own);
  atomic_store_explicit(&pool->busy, 0, memory_order_release);
}

// ---- making and destroying ----

static void pool_stop(samara_pool *pool) {
  atomic_store(&pool->stopping, true);
  pool_wake_workers(pool);
  if (pool->join != NULL) {
    if (pool->started != 0) pool->join(pool->thread_user);
  } else {
    for (size_t i = 1; i <= pool->started; i++) smr_os_thread_join(&pool->all[i].thread);
  }
  pool->started = 0;
}

static bool pool_init_locks(samara_pool *pool) {
  if (!smr_os_mutex_init(&pool->mutex)) return false;
  if (smr_os_cond_init(&pool->wake)) {
    if (smr_os_cond_init(&pool->all_done)) return true;
    smr_os_cond_destroy(&pool->wake);
  }
  smr_os_mutex_destroy(&pool->mutex);
  return false;
}

static bool pool_start_worker(samara_pool *pool, const samara_pool_options *options, size_t i) {
  struct pool_thread *worker = &pool->all[i];
  worker->pool = pool;
  worker->index = i;
  if (options->spawn != NULL) {
    return options->spawn(options->thread_user, pool_worker_main, worker) == 0;
  }
  return smr_os_thread_start(&worker->thread, pool_worker_main, worker);
}

samara_status samara_pool_create(const samara_pool_options *given, samara_pool **out,
                                 samara_error *error) {
  if (out == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "pool: out is NULL, expected an address for the pool");
  *out = NULL;
  samara_pool_options options;
  SMR_TRY(smr_options_read(given, &options, sizeof options, "pool options", error));
  if ((options.spawn == NULL) != (options.join == NULL)) {
    SMR_FAIL(error, BAD_ARGUMENT, "pool options: set both spawn and join, or neither");
  }
  size_t threads = options.threads;
  if (threads == 0) {
    threads = smr_os_processor_count();
    if (threads > POOL_DEFAULT_THREADS) threads = POOL_DEFAULT_THREADS;
  }
  if (threads > POOL_MAX_THREADS) {
    SMR_FAIL(error, BAD_ARGUMENT, "pool options: %zu threads, at most %d", threads,
             (int)POOL_MAX_THREADS);
  }
  const samara_allocator allocator = smr_allocator(options.allocator);
  samara_pool *pool = (samara_pool *)smr_allocate_zeroed(
      &allocator, 1, sizeof *pool + threads * sizeof pool->all[0]);
  if (pool == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "pool: no memory");
  pool->allocator = allocator;
  pool->process = smr_os_process_id();
  pool->threads = threads;
  atomic_init(&pool->processor, -1);
  pool->join = options.join;
  pool->thread_user = options.thread_user;
  if (!pool_init_locks(pool)) {
    smr_release(&allocator, pool);
    SMR_FAIL(error, OUT_OF_MEMORY, "pool: the system refuses a lock");
  }
  while (pool->started < threads - 1) {
    if (!pool_start_worker(pool, &options, pool->started + 1)) {
      const size_t started = pool->started;
      samara_pool_destroy(pool);
      SMR_FAIL(error, UNSUPPORTED, "pool: thread %zu of %zu could not be started", started + 2,
               threads);
    }
    pool->started++;
  }
  *out = pool;
  return SAMARA_OK;
}

void samara_pool_destroy(samara_pool *pool) {
  if (pool == NULL) return;
  // After a fork the child has the pool's memory but none of its threads; locks are in an unknown
  // state.
  if (pool->process == smr_os_process_id()) {
    pool_stop(pool);
    smr_os_cond_destroy(&pool->all_done);
    smr_os_cond_destroy(&pool->wake);
    smr_os_mutex_destroy(&pool->mutex);
  }
  const samara_allocator allocator = pool->allocator;
  smr_release(&allocator, pool);
}

size_t samara_pool_threads(const samara_pool *pool) { return pool != NULL ? pool->threads : 1; }

#undef POOL_GENERATION

#else

// Without atomics a pool consists of its caller.
struct samara_pool {
  samara_allocator allocator;
};

void smr_pool_run(samara_pool *pool, size_t tiles, smr_pool_fn fn, void *context) {
  (void)pool;
  if (tiles != 0) fn(context, 0, tiles, 0);
}

samara_status samara_pool_create(const samara_pool_options *given, samara_pool **out,
                                 samara_error *error) {
  if (out == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "pool: out is NULL, expected an address for the pool");
  *out = NULL;
  samara_pool_options options;
  SMR_TRY(smr_options_read(given, &options, sizeof options, "pool options", error));
  if (options.threads > 1)
    SMR_FAIL(error, UNSUPPORTED,
             "pool: %zu threads: this library was built without atomics and has one",
             options.threads);
  const samara_allocator allocator = smr_allocator(options.allocator);
  samara_pool *pool = (samara_pool *)smr_allocate_zeroed(&allocator, 1, sizeof *pool);
  if (pool == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "pool: no memory");
  pool->allocator = allocator;
  *out = pool;
  return SAMARA_OK;
}

void samara_pool_destroy(samara_pool *pool) {
  if (pool == NULL) return;
  const samara_allocator allocator = pool->allocator;
  smr_release(&allocator, pool);
}

size_t samara_pool_threads(const samara_pool *pool) {
  (void)pool;
  return 1;
}

#endif
