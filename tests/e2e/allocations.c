// SPDX-License-Identifier: Apache-2.0
// Preloaded into a process, counts what the C runtime allocates, and fails the k-th of it.
//
// Counting is on only inside the calls at the end of this file, in whatever thread allocates.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { EARLY_BYTES = 1 << 16, BLOCKS = 1 << 12 };

static atomic_int on;
static atomic_long count, live, fail_at;  // fail_at 0: none fails

// Blocks with the alignment that the runtime asks for, and the bytes that were asked for.
static struct {
  void *at;
  size_t size;
} blocks[BLOCKS];
static atomic_flag blocks_busy = ATOMIC_FLAG_INIT;

// dlsym allocates before the real functions are known.
static _Alignas(64) char early[EARLY_BYTES];
static atomic_size_t early_used;

static void *early_take(size_t size) {
  const size_t at = atomic_fetch_add(&early_used, (size + 63) / 64 * 64);
  return at + size <= EARLY_BYTES ? early + at : NULL;
}

static int is_early(const void *p) {
  return (const char *)p >= early && (const char *)p < early + EARLY_BYTES;
}

// Declares `real`, the function that this one stands in front of; NULL while it is looked up.
#define REAL(function)                                       \
  static __typeof__(function) *real;                         \
  static atomic_int resolving;                               \
  if (real == NULL && atomic_exchange(&resolving, 1) == 0) { \
    void *found = dlsym(RTLD_NEXT, #function);               \
    memcpy(&real, &found, sizeof real);                      \
    atomic_store(&resolving, 0);                             \
  }

// Whether this allocation fails.
static int counted(void) {
  if (!atomic_load(&on)) return 0;
  const long k = atomic_fetch_add(&count, 1) + 1;
  return k == atomic_load(&fail_at);
}

static void *taken(void *p) {
  if (p != NULL && atomic_load(&on)) atomic_fetch_add(&live, 1);
  return p;
}

// Remember a block (`from` NULL), or forget one.
static void note(void *from, void *to, size_t size) {
  if (!atomic_load(&on)) return;
  while (atomic_flag_test_and_set(&blocks_busy)) continue;
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].at == from) {
      blocks[i].at = to;
      blocks[i].size = size;
      break;
    }
  atomic_flag_clear(&blocks_busy);
}

void *malloc(size_t size) {
  REAL(malloc);
  if (real == NULL) return early_take(size);
  if (counted()) return errno = ENOMEM, (void *)0;
  return taken(real(size));
}

void *calloc(size_t n, size_t size) {
  REAL(calloc);
  if (real == NULL) return early_take(n * size);
  if (counted()) return errno = ENOMEM, (void *)0;
  return taken(real(n, size));
}

void *realloc(void *old, size_t size) {
  REAL(realloc);
  if (real == NULL || is_early(old)) {
    void *p = malloc(size);
    if (p != NULL && old != NULL) memcpy(p, old, size);
    return p;
  }
  if (counted()) return errno = ENOMEM, (void *)0;
  void *p = real(old, size);
  return old == NULL ? taken(p) : p;
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  REAL(posix_memalign);
  if (counted()) return ENOMEM;
  const int status = real(out, alignment, size);
  if (status == 0) (void)taken(*out);
  if (status == 0) note(NULL, *out, size);
  return status;
}

void *aligned_alloc(size_t alignment, size_t size) {
  REAL(aligned_alloc);
  if (counted()) return errno = ENOMEM, (void *)0;
  return taken(real(alignment, size));
}

void *memalign(size_t alignment, size_t size) {
  REAL(memalign);
  if (counted()) return errno = ENOMEM, (void *)0;
  return taken(real(alignment, size));
}

void free(void *p) {
  REAL(free);
  if (p == NULL || is_early(p) || real == NULL) return;
  if (atomic_load(&on)) atomic_fetch_sub(&live, 1);
  note(p, NULL, 0);
  real(p);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  REAL(mmap);
  if (counted()) return errno = ENOMEM, MAP_FAILED;
  void *p = real(at, size, protection, flags, fd, offset);
  if (p != MAP_FAILED) (void)taken(p);
  return p;
}

int munmap(void *p, size_t size) {
  REAL(munmap);
  if (atomic_load(&on)) atomic_fetch_sub(&live, 1);
  return real(p, size);
}

// Bytes that the last counted call asked posix_memalign for and did not give back.
size_t counted_bytes(void) {
  size_t total = 0;
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].at != NULL) total += blocks[i].size;
  return total;
}

static void begin(long fail) {
  memset(blocks, 0, sizeof blocks);
  atomic_store(&count, 0);
  atomic_store(&live, 0);
  atomic_store(&fail_at, fail);
  atomic_store(&on, 1);
}

static void end(long *out_count, long *out_live) {
  atomic_store(&on, 0);
  *out_count = atomic_load(&count);
  *out_live = atomic_load(&live);
}

// `function` is one of samara.h's, called with these arguments while counting; `*out_live` gets
// allocations without their release.
int counted_call1(int (*function)(void *), void *a, long fail, long *out_count, long *out_live) {
  begin(fail);
  const int status = function(a);
  end(out_count, out_live);
  return status;
}

int counted_call3(int (*function)(void *, void *, void *), void *a, void *b, void *c, long fail,
                  long *out_count, long *out_live) {
  begin(fail);
  const int status = function(a, b, c);
  end(out_count, out_live);
  return status;
}

int counted_call4(int (*function)(void *, void *, void *, void *), void *a, void *b, void *c,
                  void *d, long fail, long *out_count, long *out_live) {
  begin(fail);
  const int status = function(a, b, c, d);
  end(out_count, out_live);
  return status;
}
