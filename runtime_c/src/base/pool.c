// SPDX-License-Identifier: Apache-2.0
// A pool of threads that spin for a moment and then sleep, and share one range of tiles at a time.
//
// The range is cut into chunks, and every thread has a part of them that lies together: it finds in
// its own cache what it wrote in the same place of the node before. Who is done with his own part
// takes from the ends of the others'.
//
// One atomic word says whether a job is open and how many workers are inside it:
//
//   63           32 31    30          0
//   [  generation  ][open][  inside   ]
//
// A worker enters an open job it has not seen by counting itself in; the caller closes the job when
// the tiles have run out and waits until nobody is inside. So a worker that wakes late is never
// waited for, and the job's plain fields change only while nobody can read them.
#include "base/fp.h"

#include "base/pool.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "base/os.h"
#include "base/parts.h"

enum {
  POOL_MAX_THREADS = 256,
  POOL_DEFAULT_THREADS = 4,    // beyond these, phones have slow cores only
  POOL_SPIN_US = 50,           // longer than the pause between two nodes, shorter than a time slice
  POOL_SPINS_PER_CLOCK = 16,   // looks at the word between two looks at the clock
  POOL_CHUNKS_PER_THREAD = 4,  // evens out threads that are slower or start late
  POOL_LINE = 64,              // bytes that the cores' caches pass on together
};

#define POOL_OPEN (UINT64_C(1) << 31)
#define POOL_INSIDE (POOL_OPEN - 1)
#define POOL_GENERATION(word) ((uint32_t)((word) >> 32))

// One of the threads; number 0 is the caller of run, which nobody started.
struct pool_thread {
  // Its part of a job: the job's generation in 32 bits, the first chunk that nobody has taken in 16
  // and the end in 16. Of another generation: untouched. On a line of its own.
  _Atomic uint64_t part;
  char apart[POOL_LINE];
  samara_pool *pool;
  size_t index;
  struct smr_os_thread thread;
};

struct samara_pool {
  samara_allocator allocator;
  int64_t process;
  size_t threads;  // the caller of run included
  size_t started;  // workers that run
  void (*join)(void *user);
  void *thread_user;

  atomic_int busy;  // whether a run is going on; a word, for RISC-V swaps no single bytes
  atomic_bool stopping;
  atomic_size_t asleep;  // workers that wait on `wake`
  atomic_bool waiting;   // the caller waits on `done`
  struct smr_os_mutex mutex;
  struct smr_os_cond wake, done;

  char apart[POOL_LINE];
  _Atomic uint64_t word;
  // The open job, on the line of its word.
  smr_pool_fn fn;
  void *context;
  size_t tiles, chunk, chunks;
  char apart_too[POOL_LINE];

  struct pool_thread all[];
};

static size_t pool_first_chunk(const samara_pool *pool, size_t thread) {
  return pool->chunks * thread / pool->threads;
}

// Chunks that belong together.
struct pool_piece {
  size_t begin, end;
};

// Take of a thread's part: half of what is left from its front, if it is one's own, or a chunk from
// its end. Empty when nothing is left.
static struct pool_piece pool_take(samara_pool *pool, uint32_t generation, size_t of, bool own) {
  _Atomic uint64_t *part = &pool->all[of].part;
  uint64_t was = atomic_load_explicit(part, memory_order_relaxed), is;
  struct pool_piece piece;
  do {
    size_t begin = (was >> 16) & UINT16_MAX, end = was & UINT16_MAX;
    if (POOL_GENERATION(was) != generation) {
      begin = pool_first_chunk(pool, of);
      end = pool_first_chunk(pool, of + 1);
    }
    if (begin >= end) return (struct pool_piece){0, 0};
    if (own) {
      piece = (struct pool_piece){begin, begin + (end - begin + 1) / 2};
      begin = piece.end;
    } else {
      piece = (struct pool_piece){end - 1, end};
      end = piece.begin;
    }
    is = (uint64_t)generation << 32 | (uint64_t)begin << 16 | end;
  } while (!atomic_compare_exchange_weak_explicit(part, &was, is, memory_order_relaxed,
                                                  memory_order_relaxed));
  return piece;
}

static void pool_take_chunks(samara_pool *pool, uint32_t generation, size_t thread) {
  size_t of = thread;
  for (size_t i = 0; i < pool->threads; i++) {
    for (;;) {
      const struct pool_piece piece = pool_take(pool, generation, of, of == thread);
      if (piece.begin == piece.end) break;
      const size_t begin = piece.begin * pool->chunk;
      pool->fn(pool->context, begin,
               piece.end < pool->chunks ? piece.end * pool->chunk : pool->tiles, thread);
    }
    of = of + 1 < pool->threads ? of + 1 : 0;
  }
}

// Enter the open job if there is one that is not `*seen`.
static bool pool_enter(samara_pool *pool, uint32_t *seen) {
  uint64_t word = atomic_load_explicit(&pool->word, memory_order_acquire);
  while ((word & POOL_OPEN) && POOL_GENERATION(word) != *seen) {
    if (atomic_compare_exchange_weak_explicit(&pool->word, &word, word + 1, memory_order_acquire,
                                              memory_order_acquire)) {
      *seen = POOL_GENERATION(word);
      return true;
    }
  }
  return false;
}

static void pool_leave(samara_pool *pool) {
  const uint64_t word = atomic_fetch_sub(&pool->word, 1) - 1;
  if ((word & (POOL_OPEN | POOL_INSIDE)) == 0 && atomic_load(&pool->waiting)) {
    smr_os_mutex_lock(&pool->mutex);
    smr_os_cond_broadcast(&pool->done);
    smr_os_mutex_unlock(&pool->mutex);
  }
}

// Whether a worker has something to do; sequentially consistent, paired with pool_open.
static bool pool_has_news(samara_pool *pool, uint32_t seen) {
  const uint64_t word = atomic_load(&pool->word);
  return atomic_load(&pool->stopping) || ((word & POOL_OPEN) && POOL_GENERATION(word) != seen);
}

static bool pool_idle(samara_pool *pool) { return (atomic_load(&pool->word) & POOL_INSIDE) == 0; }

static void pool_worker_wait(samara_pool *pool, uint32_t seen) {
  const uint64_t start = smr_os_now_ns();
  do {
    for (int i = 0; i < POOL_SPINS_PER_CLOCK; i++) {
      if (pool_has_news(pool, seen)) return;
      smr_cpu_relax();
    }
  } while (smr_os_now_ns() - start < POOL_SPIN_US * UINT64_C(1000));
  smr_os_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->asleep, 1);
  while (!pool_has_news(pool, seen)) smr_os_cond_wait(&pool->wake, &pool->mutex);
  atomic_fetch_sub(&pool->asleep, 1);
  smr_os_mutex_unlock(&pool->mutex);
}

static void pool_worker_main(void *argument) {
  struct pool_thread *worker = (struct pool_thread *)argument;
  samara_pool *pool = worker->pool;
  uint32_t seen = 0;
  smr_os_map_stack();
  while (!atomic_load(&pool->stopping)) {
    if (pool_enter(pool, &seen)) {
      pool_take_chunks(pool, seen, worker->index);
      pool_leave(pool);
    } else {
      pool_worker_wait(pool, seen);
    }
  }
}

static void pool_wake_workers(samara_pool *pool) {
  if (atomic_load(&pool->asleep) == 0) return;
  smr_os_mutex_lock(&pool->mutex);
  smr_os_cond_broadcast(&pool->wake);
  smr_os_mutex_unlock(&pool->mutex);
}

static void pool_wait_until_idle(samara_pool *pool) {
  const uint64_t start = smr_os_now_ns();
  do {
    for (int i = 0; i < POOL_SPINS_PER_CLOCK; i++) {
      if (pool_idle(pool)) return;
      smr_cpu_relax();
    }
  } while (smr_os_now_ns() - start < POOL_SPIN_US * UINT64_C(1000));
  smr_os_mutex_lock(&pool->mutex);
  atomic_store(&pool->waiting, true);
  while (!pool_idle(pool)) smr_os_cond_wait(&pool->done, &pool->mutex);
  atomic_store(&pool->waiting, false);
  smr_os_mutex_unlock(&pool->mutex);
}

// After the last generation: parts that were not touched since the first would look taken.
static uint32_t pool_forget_parts(samara_pool *pool) {
  for (size_t i = 0; i < pool->threads; i++)
    atomic_store_explicit(&pool->all[i].part, 0, memory_order_relaxed);
  return 1;
}

void smr_pool_run(samara_pool *pool, size_t tiles, smr_pool_fn fn, void *context) {
  if (tiles == 0) return;
  if (!SMR_HAS(threads) || pool == NULL || pool->started == 0 || tiles == 1 ||
      pool->process != smr_os_process_id() ||
      atomic_exchange_explicit(&pool->busy, 1, memory_order_acquire)) {
    fn(context, 0, tiles, 0);
    return;
  }
  pool->fn = fn;
  pool->context = context;
  pool->tiles = tiles;
  pool->chunk = (tiles - 1) / (pool->threads * POOL_CHUNKS_PER_THREAD) + 1;
  pool->chunks = (tiles - 1) / pool->chunk + 1;
  // Generation 0 is what a new worker has seen; a job's own is never 0.
  uint32_t generation =
      POOL_GENERATION(atomic_load_explicit(&pool->word, memory_order_relaxed)) + 1;
  if (generation == 0) generation = pool_forget_parts(pool);
  atomic_store(&pool->word, (uint64_t)generation << 32 | POOL_OPEN);
  pool_wake_workers(pool);

  pool_take_chunks(pool, generation, 0);

  atomic_fetch_and(&pool->word, ~POOL_OPEN);
  pool_wait_until_idle(pool);
  atomic_store_explicit(&pool->busy, 0, memory_order_release);
}

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
    if (smr_os_cond_init(&pool->done)) return true;
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
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "pool: no place for the result");
  *out = NULL;
  samara_pool_options options;
  SMR_TRY(smr_options_read(given, &options, sizeof options, "pool options", error));
  if ((options.spawn == NULL) != (options.join == NULL)) {
    SMR_FAIL(error, BAD_ARGUMENT, "pool options: spawn and join come together");
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
  // After a fork the child has the pool's memory but none of its threads, and locks in any state.
  if (pool->process == smr_os_process_id()) {
    pool_stop(pool);
    smr_os_cond_destroy(&pool->done);
    smr_os_cond_destroy(&pool->wake);
    smr_os_mutex_destroy(&pool->mutex);
  }
  const samara_allocator allocator = pool->allocator;
  smr_release(&allocator, pool);
}

size_t samara_pool_threads(const samara_pool *pool) { return pool != NULL ? pool->threads : 1; }

#undef POOL_OPEN
#undef POOL_INSIDE
#undef POOL_GENERATION
