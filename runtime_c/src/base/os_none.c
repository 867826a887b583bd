// SPDX-License-Identifier: Apache-2.0
// No operating system: no files, no threads, and memory from the C library's malloc or, with
// SMR_BARE_METAL, only from the caller.
//
// Locks spin, so that pools work even if a caller supplies threads through their hooks. os_web.c
// has what is different in web pages.
#include "base/fp.h"

#include "base/os.h"

#if SMR_OS_USE_NONE

#include <string.h>
#if !defined(SMR_BARE_METAL)
#include <stdlib.h>
#endif

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/checked.h"

// ---- memory ----

#if defined(SMR_BARE_METAL)

void *smr_os_allocate(size_t size_bytes) {
  (void)size_bytes;
  return NULL;
}
void *smr_os_allocate_lazily(size_t size_bytes) {
  (void)size_bytes;
  return NULL;
}
void smr_os_release(void *pointer) { (void)pointer; }

#elif !SMR_OS_USE_WEB

void *smr_os_allocate(size_t size_bytes) {
  size_t total;
  if (!smr_add_size(size_bytes, SMR_ALIGNMENT + sizeof(void *), &total)) return NULL;
  unsigned char *block = (unsigned char *)malloc(total);
  if (block == NULL) return NULL;
  unsigned char *aligned = block + sizeof(void *);
  aligned += (SMR_ALIGNMENT - (uintptr_t)aligned % SMR_ALIGNMENT) % SMR_ALIGNMENT;
  memcpy(aligned - sizeof(void *), &block, sizeof block);  // the address to free
  return aligned;
}

void *smr_os_allocate_lazily(size_t size_bytes) {
  void *pointer = smr_os_allocate(size_bytes);
  if (pointer != NULL) memset(pointer, 0, size_bytes);
  return pointer;
}

void smr_os_release(void *pointer) {
  if (pointer == NULL) return;
  void *block;
  memcpy(&block, (unsigned char *)pointer - sizeof(void *), sizeof block);
  free(block);
}

#endif

void smr_os_map_stack(void) {}

// ---- files ----

samara_status smr_os_open_path(const char *path, bool copy, const samara_allocator *allocator,
                               struct smr_os_file *out, samara_error *error) {
  (void)path, (void)copy, (void)allocator, (void)out;
  SMR_FAIL(error, UNSUPPORTED, "no files on this system; open from memory or callbacks");
}

samara_status smr_os_open_fd(int fd, uint64_t offset, uint64_t size_bytes, bool copy,
                             const samara_allocator *allocator, struct smr_os_file *out,
                             samara_error *error) {
  (void)fd, (void)offset, (void)size_bytes, (void)copy, (void)allocator, (void)out;
  SMR_FAIL(error, UNSUPPORTED, "no file descriptors on this system; open from memory or callbacks");
}

void smr_os_close(struct smr_os_file *file, const samara_allocator *allocator) {
  (void)allocator;
  memset(file, 0, sizeof *file);
}

samara_status smr_os_read_path(const char *path, uint64_t max_bytes,
                               const samara_allocator *allocator, struct smr_os_file *out,
                               samara_error *error) {
  (void)path, (void)max_bytes, (void)allocator, (void)out;
  SMR_FAIL(error, UNSUPPORTED, "no files on this system");
}

samara_status smr_os_write_path(const char *path, const void *data, size_t size_bytes,
                                const samara_allocator *allocator, samara_error *error) {
  (void)path, (void)data, (void)size_bytes, (void)allocator;
  SMR_FAIL(error, UNSUPPORTED, "no files on this system");
}

samara_status smr_os_make_folder(const char *path, const samara_allocator *allocator,
                                 samara_error *error) {
  (void)path, (void)allocator;
  SMR_FAIL(error, UNSUPPORTED, "no folders on this system");
}

// ---- shared libraries ----

void *smr_os_library_open(const char *name) {
  (void)name;
  return NULL;
}
smr_os_function smr_os_library_function(void *library, const char *name) {
  (void)library, (void)name;
  return NULL;
}
void smr_os_library_close(void *library) { (void)library; }

// ---- environment, clock, process, processors ----

const char *smr_os_environment(const char *name) {
  (void)name;
  return NULL;
}
int64_t smr_os_process_id(void) { return 1; }
size_t smr_os_processor_count(void) { return 1; }
void smr_os_thread_sleep_ns(uint64_t ns) { (void)ns; }
void smr_os_thread_yield(void) {}
int32_t smr_os_processor(void) { return -1; }
void smr_os_leave_processor(int32_t processor) { (void)processor; }

#if !SMR_OS_USE_WEB
uint64_t smr_os_now_ns(void) { return 0; }
#endif

// ---- threads ----

#if !SMR_OS_USE_WEB_THREADS

#if defined(SMR_NO_ATOMICS)

// There is nobody to wait for, and small cores lack the instructions.
bool smr_os_mutex_init(struct smr_os_mutex *mutex) {
  (void)mutex;
  return true;
}
void smr_os_mutex_lock(struct smr_os_mutex *mutex) { (void)mutex; }
void smr_os_mutex_unlock(struct smr_os_mutex *mutex) { (void)mutex; }

#else

_Static_assert(sizeof(atomic_flag) <= sizeof(struct smr_os_mutex), "a flag fits its storage");

static atomic_flag *os_mutex(struct smr_os_mutex *mutex) {
  return (atomic_flag *)(void *)mutex->storage;
}

bool smr_os_mutex_init(struct smr_os_mutex *mutex) {
  atomic_flag_clear(os_mutex(mutex));
  return true;
}
void smr_os_mutex_lock(struct smr_os_mutex *mutex) {
  while (atomic_flag_test_and_set_explicit(os_mutex(mutex), memory_order_acquire)) {
  }
}
void smr_os_mutex_unlock(struct smr_os_mutex *mutex) {
  atomic_flag_clear_explicit(os_mutex(mutex), memory_order_release);
}

#endif

void smr_os_mutex_destroy(struct smr_os_mutex *mutex) { (void)mutex; }

bool smr_os_cond_init(struct smr_os_cond *cond) {
  (void)cond;
  return true;
}
void smr_os_cond_destroy(struct smr_os_cond *cond) { (void)cond; }
void smr_os_cond_wait(struct smr_os_cond *cond, struct smr_os_mutex *mutex) {
  (void)cond;  // waiting is spinning: every wake-up may be spurious
  smr_os_mutex_unlock(mutex);
  smr_os_mutex_lock(mutex);
}
void smr_os_cond_broadcast(struct smr_os_cond *cond) { (void)cond; }

bool smr_os_thread_start(struct smr_os_thread *thread, void (*function)(void *argument),
                         void *argument) {
  (void)thread, (void)function, (void)argument;
  return false;
}
void smr_os_thread_join(struct smr_os_thread *thread) { (void)thread; }

#endif

#endif
