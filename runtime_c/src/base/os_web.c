// SPDX-License-Identifier: Apache-2.0
// A page of the web: WebAssembly without WASI. Memory comes from the module's own heap; JavaScript
// has the clock and starts threads as workers (web/source/engine.js). os_none.c has the rest.
#include "base/fp.h"

#include "base/os.h"

#if SMR_OS_USE_WEB

#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/checked.h"

// ---- what JavaScript and the engine provide ----

#if defined(__wasm__)
#define WEB_NAMED(name) __attribute__((import_module("samara"), import_name(#name)))
#else
#define WEB_NAMED(name)  // tests bring these functions
#endif
#define SMR_IMPORT extern  // external where a whole library is one file

// Milliseconds of a monotonic clock.
SMR_IMPORT double smr_web_now(void) WEB_NAMED(now);
// Write `value`, rounded to `digits` digits, and a NUL to `text`.
SMR_IMPORT void smr_web_number(char *text, double value, size_t digits) WEB_NAMED(number);
#if SMR_OS_USE_WEB_THREADS
// Start `smr_web_thread(thread)` in another worker, with a stack that ends at `stack_end`. 0 if
// there is no worker left.
SMR_IMPORT int smr_web_spawn(struct smr_os_thread *thread, void *stack_end) WEB_NAMED(spawn);
// Wait until `*word` may differ from `value`; returns at once in a thread that must not block.
SMR_IMPORT void smr_web_wait(const void *word, int value) WEB_NAMED(wait);
// Wake all threads that wait for `word`.
SMR_IMPORT void smr_web_notify(const void *word) WEB_NAMED(notify);
#endif

#if defined(__wasm__)
SMR_IMPORT unsigned char __heap_base;  // the linker's
static uintptr_t web_heap_start(void) { return (uintptr_t)&__heap_base; }
static uintptr_t web_memory_bytes(void) { return (uintptr_t)__builtin_wasm_memory_size(0) << 16; }
static bool web_memory_grow(size_t pages) {
  return __builtin_wasm_memory_grow(0, pages) != SIZE_MAX;
}
#else
uintptr_t web_heap_start(void);
uintptr_t web_memory_bytes(void);
bool web_memory_grow(size_t pages);
#endif

// ---- memory ----

enum { WEB_PAGE_BYTES = 65536, WEB_STACK_BYTES = 128 * 1024 };

// In front of a block; the free ones are listed by address. Of SMR_ALIGNMENT bytes, so that the
// memory of a block is aligned where the block is.
struct web_block {
  _Alignas(SMR_ALIGNMENT) size_t size_bytes;  // with this header, a multiple of SMR_ALIGNMENT
  struct web_block *next;
};

static struct web_block *web_free;  // one thread allocates: that of the page, or of its worker
static uintptr_t web_end;           // of the heap; 0: it is empty

static uintptr_t web_block_end(const struct web_block *block) {
  return (uintptr_t)block + block->size_bytes;
}

// Put a block into the list, joined with its neighbours.
static void web_insert(struct web_block *block) {
  struct web_block **at = &web_free, *before = NULL;
  while (*at != NULL && *at < block) before = *at, at = &before->next;
  block->next = *at;
  *at = block;
  if (block->next != NULL && web_block_end(block) == (uintptr_t)block->next) {
    block->size_bytes += block->next->size_bytes;
    block->next = block->next->next;
  }
  if (before != NULL && web_block_end(before) == (uintptr_t)block) {
    before->size_bytes += block->size_bytes;
    before->next = block->next;
  }
}

// Add what is missing for a block of `bytes` to the end of the heap, in whole pages.
static bool web_grow(size_t bytes) {
  if (web_end == 0) {
    web_end = web_heap_start();
    web_end += (SMR_ALIGNMENT - web_end % SMR_ALIGNMENT) % SMR_ALIGNMENT;
  }
  const struct web_block *last = web_free;
  while (last != NULL && last->next != NULL) last = last->next;
  const bool at_end = last != NULL && web_block_end(last) == web_end;
  const size_t missing = at_end ? bytes - last->size_bytes : bytes;
  // Bytes that are there already: the rest of the module's first memory.
  const size_t there = web_memory_bytes() - web_end;
  if (missing > there) {
    const size_t pages = (missing - there - 1) / WEB_PAGE_BYTES + 1;
    if (!web_memory_grow(pages)) return false;
  }
  struct web_block *block = (struct web_block *)(void *)web_end;
  block->size_bytes = web_memory_bytes() - web_end;
  web_end = web_memory_bytes();
  web_insert(block);
  return true;
}

static struct web_block *web_take(size_t bytes) {
  for (struct web_block **at = &web_free; *at != NULL; at = &(*at)->next) {
    struct web_block *block = *at;
    if (block->size_bytes < bytes) continue;
    if (block->size_bytes - bytes > sizeof *block) {
      struct web_block *rest = (struct web_block *)(void *)((unsigned char *)block + bytes);
      rest->size_bytes = block->size_bytes - bytes;
      rest->next = block->next;
      *at = rest;
      block->size_bytes = bytes;
    } else {
      *at = block->next;
    }
    return block;
  }
  return NULL;
}

void *smr_os_allocate(size_t size_bytes) {
  size_t bytes;
  if (!smr_add_size(size_bytes, sizeof(struct web_block) + SMR_ALIGNMENT - 1, &bytes)) return NULL;
  bytes -= bytes % SMR_ALIGNMENT;
  struct web_block *block = web_take(bytes);
  if (block == NULL && web_grow(bytes)) block = web_take(bytes);
  return block == NULL ? NULL : block + 1;
}

void smr_os_release(void *pointer) {
  if (pointer != NULL) web_insert((struct web_block *)pointer - 1);
}

void *smr_os_allocate_lazily(size_t size_bytes) {
  void *pointer = smr_os_allocate(size_bytes);
  if (pointer != NULL) memset(pointer, 0, size_bytes);
  return pointer;
}

// ---- clock ----

uint64_t smr_os_now_ns(void) { return (uint64_t)(smr_web_now() * 1e6); }

// ---- numbers ----

void smr_os_format_number(char *text, double value, size_t digits) {
  smr_web_number(text, value, digits);
}

// ---- threads ----

#if SMR_OS_USE_WEB_THREADS

// A mutex is 0, 1 when it is locked, 2 when others wait. A condition counts its broadcasts.
static atomic_int *web_word(void *storage) { return (atomic_int *)storage; }

bool smr_os_mutex_init(struct smr_os_mutex *mutex) {
  atomic_init(web_word(mutex->storage), 0);
  return true;
}
void smr_os_mutex_destroy(struct smr_os_mutex *mutex) { (void)mutex; }

void smr_os_mutex_lock(struct smr_os_mutex *mutex) {
  atomic_int *word = web_word(mutex->storage);
  int was = 0;
  if (atomic_compare_exchange_strong(word, &was, 1)) return;
  while (atomic_exchange(word, 2) != 0) smr_web_wait(word, 2);
}

void smr_os_mutex_unlock(struct smr_os_mutex *mutex) {
  atomic_int *word = web_word(mutex->storage);
  if (atomic_exchange(word, 0) == 2) smr_web_notify(word);
}

bool smr_os_cond_init(struct smr_os_cond *cond) {
  atomic_init(web_word(cond->storage), 0);
  return true;
}
void smr_os_cond_destroy(struct smr_os_cond *cond) { (void)cond; }

void smr_os_cond_wait(struct smr_os_cond *cond, struct smr_os_mutex *mutex) {
  atomic_int *word = web_word(cond->storage);
  const int seen = atomic_load(word);
  smr_os_mutex_unlock(mutex);
  smr_web_wait(word, seen);
  smr_os_mutex_lock(mutex);
}

void smr_os_cond_broadcast(struct smr_os_cond *cond) {
  atomic_fetch_add(web_word(cond->storage), 1);
  smr_web_notify(cond->storage);
}

// In the storage of a thread.
struct web_thread {
  void *stack;
  atomic_int ended;
};
_Static_assert(sizeof(struct web_thread) <= sizeof((struct smr_os_thread *)0)->storage,
               "a thread fits its storage");

static struct web_thread *web_thread_of(struct smr_os_thread *thread) {
  return (struct web_thread *)(void *)thread->storage;
}

bool smr_os_thread_start(struct smr_os_thread *thread, void (*function)(void *argument),
                         void *argument) {
  struct web_thread *own = web_thread_of(thread);
  thread->function = function;
  thread->argument = argument;
  atomic_init(&own->ended, 0);
  own->stack = smr_os_allocate(WEB_STACK_BYTES);
  if (own->stack == NULL) return false;
  if (smr_web_spawn(thread, (unsigned char *)own->stack + WEB_STACK_BYTES) != 0) return true;
  smr_os_release(own->stack);
  return false;
}

void smr_web_thread(struct smr_os_thread *thread) {
  struct web_thread *own = web_thread_of(thread);
  thread->function(thread->argument);
  atomic_store(&own->ended, 1);
  smr_web_notify(&own->ended);
}

void smr_os_thread_join(struct smr_os_thread *thread) {
  struct web_thread *own = web_thread_of(thread);
  while (atomic_load(&own->ended) == 0) smr_web_wait(&own->ended, 0);
  smr_os_release(own->stack);
}

#endif

#endif
