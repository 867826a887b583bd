// SPDX-License-Identifier: Apache-2.0
// The operating system on POSIX: mmap, pthreads, clock_gettime.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE  // POSIX names under -std=c11
#endif
#include "base/fp.h"

#include "base/os.h"

#if SMR_OS_USE_POSIX

#if !defined(__EMSCRIPTEN__)
#include <dlfcn.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/format.h"

// ---- memory ----

#if defined(MADV_HUGEPAGE)
// The system clears fresh memory page by page at the first access. With 4 KiB pages that takes four
// times as long as with huge pages.
enum { OS_HUGE_PAGE_BYTES = 2 * 1024 * 1024, OS_HUGE_PAGE_WASTE = 22 };

static void *os_allocate_huge(size_t size_bytes) {
  size_t huge = size_bytes / OS_HUGE_PAGE_BYTES * OS_HUGE_PAGE_BYTES;
  const size_t beyond = huge + OS_HUGE_PAGE_BYTES - size_bytes;
  // Use a huge page for the rest too, if that enlarges the block by less than 5 %.
  if (beyond <= size_bytes / OS_HUGE_PAGE_WASTE) huge = size_bytes += beyond;
  void *pointer = NULL;
  if (posix_memalign(&pointer, OS_HUGE_PAGE_BYTES, size_bytes) != 0) return NULL;
  (void)madvise(pointer, huge, MADV_HUGEPAGE);  // if refused, small pages are used
  return pointer;
}
#endif

void *smr_os_allocate(size_t size_bytes) {
  void *pointer = NULL;
#if defined(MADV_HUGEPAGE)
  if (size_bytes >= OS_HUGE_PAGE_BYTES && size_bytes < SIZE_MAX / 2)
    return os_allocate_huge(size_bytes);
#endif
  return posix_memalign(&pointer, SMR_ALIGNMENT, size_bytes) == 0 ? pointer : NULL;
}

void *smr_os_allocate_lazily(size_t size_bytes) {
#if defined(__linux__) && defined(MADV_NOHUGEPAGE)
  if (size_bytes >= OS_HUGE_PAGE_BYTES && size_bytes < SIZE_MAX / 2) {
    // calloc would clear, and so touch, a block that malloc has had before. Dropped pages read as
    // zeros; only the ends share theirs with other blocks.
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pointer = malloc(size_bytes);
    if (pointer == NULL) return NULL;
    const size_t before = (page - (uintptr_t)pointer % page) % page;
    const size_t pages = (size_bytes - before) / page * page;
    (void)madvise(pointer + before, pages, MADV_NOHUGEPAGE);
    if (madvise(pointer + before, pages, MADV_DONTNEED) != 0) memset(pointer + before, 0, pages);
    memset(pointer, 0, before);
    memset(pointer + before + pages, 0, size_bytes - before - pages);
    return pointer;
  }
#endif
  return calloc(1, size_bytes != 0 ? size_bytes : 1);  // large blocks are mostly fresh
}

void smr_os_release(void *pointer) { free(pointer); }

void smr_os_map_stack(void) {
#if defined(MADV_POPULATE_WRITE)
  // Kernels use the stack for copies. The pages below this frame keep their contents. If there are
  // none, or the system is too old, the call is refused.
  enum { OS_STACK_PAGE_BYTES = 4096, OS_STACK_BYTES = 40 * 1024 };
  const uintptr_t end =
      (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(OS_STACK_PAGE_BYTES - 1);
  (void)madvise((void *)(end - OS_STACK_BYTES), OS_STACK_BYTES, MADV_POPULATE_WRITE);
#endif
}

// ---- files ----

// `reason`: errno, or 0 at the end of the file.
static samara_status os_failed(samara_error *error, const char *what, int reason) {
  SMR_FAIL(error, IO, "cannot %s: %s", what, reason != 0 ? strerror(reason) : "end of file");
}

static samara_status os_read_all(int fd, uint64_t offset, struct smr_os_file *file,
                                 const samara_allocator *allocator, samara_error *error) {
  uint8_t *buffer = (uint8_t *)smr_allocate(allocator, file->size_bytes);
  if (buffer == NULL) return smr_no_memory(error, file->size_bytes);
  for (size_t done = 0; done < file->size_bytes;) {
    const size_t left = file->size_bytes - done;
    const size_t step = left < ((size_t)1 << 30) ? left : (size_t)1 << 30;
    const ssize_t got = pread(fd, buffer + done, step, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const int reason = got < 0 ? errno : 0;
      smr_release(allocator, buffer);
      return os_failed(error, "read", reason);
    }
    done += (size_t)got;
  }
  file->data = file->base = buffer;
  file->base_bytes = file->size_bytes;
  file->mapped = false;
  return SAMARA_OK;
}

samara_status smr_os_open_fd(int fd, uint64_t offset, uint64_t size_bytes, bool copy,
                             const samara_allocator *allocator, struct smr_os_file *out,
                             samara_error *error) {
  struct stat info;
  if (fstat(fd, &info) != 0) return os_failed(error, "stat", errno);
  if (!S_ISREG(info.st_mode)) SMR_FAIL(error, IO, "not a regular file");
  const uint64_t file_bytes = (uint64_t)info.st_size;
  if (size_bytes == 0 && offset < file_bytes) size_bytes = file_bytes - offset;
  if (size_bytes == 0 || offset > file_bytes || size_bytes > file_bytes - offset) {
    SMR_FAIL(error, IO, "offset and size are not within the file of %llu bytes",
             (unsigned long long)file_bytes);
  }

  // mmap requires page-aligned offsets; the file starts inside the first page.
  const long page = sysconf(_SC_PAGESIZE);
  const uint64_t before = offset % (uint64_t)(page > 0 ? page : 4096);
  if (sizeof(size_t) < 8 && size_bytes > (uint64_t)(SIZE_MAX / 2) - before) {
    return smr_no_memory(error, SIZE_MAX);
  }
  struct smr_os_file file = {.size_bytes = (size_t)size_bytes};
  file.base_bytes = (size_t)(size_bytes + before);
  file.base =
      copy ? MAP_FAILED
           : mmap(NULL, file.base_bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)(offset - before));
  if (file.base == MAP_FAILED) {
    SMR_TRY(os_read_all(fd, offset, &file, allocator, error));
  } else {
    file.data = (const uint8_t *)file.base + before;
    file.mapped = true;
  }
  *out = file;
  return SAMARA_OK;
}

samara_status smr_os_open_path(const char *path, bool copy, const samara_allocator *allocator,
                               struct smr_os_file *out, samara_error *error) {
  int fd;
  do {
    fd = open(path, O_RDONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return os_failed(error, "open", errno);
  const samara_status status = smr_os_open_fd(fd, 0, 0, copy, allocator, out, error);
  close(fd);
  return status;
}

void smr_os_close(struct smr_os_file *file, const samara_allocator *allocator) {
  if (file->base == NULL) return;
  if (file->mapped) {
    munmap(file->base, file->base_bytes);
  } else {
    smr_release(allocator, file->base);
  }
  memset(file, 0, sizeof *file);
}

samara_status smr_os_read_path(const char *path, uint64_t max_bytes,
                               const samara_allocator *allocator, struct smr_os_file *out,
                               samara_error *error) {
  int fd;
  do {
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe of that name must not block
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return os_failed(error, "open", errno);
  struct stat info;
  samara_status status = SAMARA_OK;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size > max_bytes) {
    status = smr_fail(error, SAMARA_LIMIT, "a file of %llu bytes, more than %llu",
                      (unsigned long long)info.st_size, (unsigned long long)max_bytes);
  }
  if (status == SAMARA_OK) status = smr_os_open_fd(fd, 0, 0, true, allocator, out, error);
  close(fd);
  return status;
}

static samara_status os_write_all(int fd, const void *data, size_t size_bytes,
                                  samara_error *error) {
  for (size_t done = 0; done < size_bytes;) {
    const size_t left = size_bytes - done;
    const size_t step = left < ((size_t)1 << 30) ? left : (size_t)1 << 30;
    const ssize_t put = write(fd, (const uint8_t *)data + done, step);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return os_failed(error, "write", put < 0 ? errno : 0);
    done += (size_t)put;
  }
  return SAMARA_OK;
}

samara_status smr_os_write_path(const char *path, const void *data, size_t size_bytes,
                                const samara_allocator *allocator, samara_error *error) {
  enum { OS_SUFFIX_BYTES = 48 };
  const size_t room = strlen(path) + OS_SUFFIX_BYTES;
  char *temporary = (char *)smr_allocate(allocator, room);
  if (temporary == NULL) return smr_no_memory(error, room);
  // A name that differs between processes and threads; if it exists all the same, open refuses it.
  (void)smr_format(temporary, room, "%s.%lld-%llx.tmp", path, (long long)smr_os_process_id(),
                   (unsigned long long)smr_os_now_ns());
  samara_status status = SAMARA_OK;
  const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    status = os_failed(error, "create", errno);
  } else {
    status = os_write_all(fd, data, size_bytes, error);
    if (close(fd) != 0 && status == SAMARA_OK) status = os_failed(error, "write", errno);
    if (status == SAMARA_OK && rename(temporary, path) != 0)
      status = os_failed(error, "rename", errno);
    if (status != SAMARA_OK) (void)unlink(temporary);
  }
  smr_release(allocator, temporary);
  return status;
}

samara_status smr_os_make_folder(const char *path, const samara_allocator *allocator,
                                 samara_error *error) {
  const size_t length = strlen(path);
  char *part = (char *)smr_allocate(allocator, length + 1);
  if (part == NULL) return smr_no_memory(error, length + 1);
  memcpy(part, path, length + 1);
  for (size_t i = 1; i < length; i++) {
    if (path[i] != '/') continue;
    part[i] = '\0';
    (void)mkdir(part, S_IRWXU);  // refused: it exists, or the last call reports the reason
    part[i] = '/';
  }
  samara_status status = SAMARA_OK;
  struct stat info;
  if (mkdir(part, S_IRWXU) != 0) {
    const int reason = errno;
    if (stat(part, &info) != 0 || !S_ISDIR(info.st_mode))
      status = os_failed(error, "make the folder", reason);
  }
  smr_release(allocator, part);
  return status;
}

// ---- shared libraries ----

#if defined(__EMSCRIPTEN__)

void *smr_os_library_open(const char *name) {
  (void)name;
  return NULL;
}
smr_os_function smr_os_library_function(void *library, const char *name) {
  (void)library, (void)name;
  return NULL;
}
void smr_os_library_close(void *library) { (void)library; }

#else

// Weak, so that programs link without libdl, which may hold these functions; without it there are
// no shared libraries.
#if defined(__ELF__)
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlclose
#define OS_HAS_LIBRARIES (dlopen != NULL && dlsym != NULL && dlclose != NULL)
#else
#define OS_HAS_LIBRARIES true
#endif

// Drivers start threads that outlive the close of their library, so its code must stay loaded.
#if defined(RTLD_NODELETE)
enum { OS_LIBRARY_FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };
#else
enum { OS_LIBRARY_FLAGS = RTLD_NOW | RTLD_LOCAL };
#endif

void *smr_os_library_open(const char *name) {
  return OS_HAS_LIBRARIES ? dlopen(name, OS_LIBRARY_FLAGS) : NULL;
}

#undef OS_HAS_LIBRARIES

smr_os_function smr_os_library_function(void *library, const char *name) {
  void *address = dlsym(library, name);
  smr_os_function function;
  _Static_assert(sizeof function == sizeof address, "POSIX: functions have addresses like data");
  memcpy(&function, &address, sizeof function);
  return function;
}

void smr_os_library_close(void *library) {
  if (library != NULL) (void)dlclose(library);
}

#endif

// ---- environment, clock, process, processors ----

const char *smr_os_environment(const char *name) { return getenv(name); }

uint64_t smr_os_now_ns(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

int64_t smr_os_process_id(void) { return (int64_t)getpid(); }

size_t smr_os_processor_count(void) {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (size_t)count : 1;
}

// ---- threads ----

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct smr_os_mutex) &&
                   _Alignof(pthread_mutex_t) <= _Alignof(struct smr_os_mutex),
               "a mutex fits its storage");
_Static_assert(sizeof(pthread_cond_t) <= sizeof(struct smr_os_cond) &&
                   _Alignof(pthread_cond_t) <= _Alignof(struct smr_os_cond),
               "a condition variable fits its storage");
_Static_assert(sizeof(pthread_t) <= sizeof(((struct smr_os_thread *)0)->storage),
               "a thread fits its storage");

static pthread_mutex_t *os_mutex(struct smr_os_mutex *mutex) {
  return (pthread_mutex_t *)(void *)mutex->storage;
}

static pthread_cond_t *os_cond(struct smr_os_cond *cond) {
  return (pthread_cond_t *)(void *)cond->storage;
}

bool smr_os_mutex_init(struct smr_os_mutex *mutex) {
  return pthread_mutex_init(os_mutex(mutex), NULL) == 0;
}
void smr_os_mutex_destroy(struct smr_os_mutex *mutex) { pthread_mutex_destroy(os_mutex(mutex)); }
void smr_os_mutex_lock(struct smr_os_mutex *mutex) { pthread_mutex_lock(os_mutex(mutex)); }
void smr_os_mutex_unlock(struct smr_os_mutex *mutex) { pthread_mutex_unlock(os_mutex(mutex)); }

bool smr_os_cond_init(struct smr_os_cond *cond) {
  return pthread_cond_init(os_cond(cond), NULL) == 0;
}
void smr_os_cond_destroy(struct smr_os_cond *cond) { pthread_cond_destroy(os_cond(cond)); }
void smr_os_cond_wait(struct smr_os_cond *cond, struct smr_os_mutex *mutex) {
  pthread_cond_wait(os_cond(cond), os_mutex(mutex));
}
void smr_os_cond_broadcast(struct smr_os_cond *cond) { pthread_cond_broadcast(os_cond(cond)); }

static void *os_thread_main(void *argument) {
  struct smr_os_thread *thread = (struct smr_os_thread *)argument;
  thread->function(thread->argument);
  return NULL;
}

bool smr_os_thread_start(struct smr_os_thread *thread, void (*function)(void *argument),
                         void *argument) {
  thread->function = function;
  thread->argument = argument;
  pthread_t handle;
  if (pthread_create(&handle, NULL, os_thread_main, thread) != 0) return false;
  memcpy(thread->storage, &handle, sizeof handle);
  return true;
}

void smr_os_thread_join(struct smr_os_thread *thread) {
  pthread_t handle;
  memcpy(&handle, thread->storage, sizeof handle);
  pthread_join(handle, NULL);
}

void smr_os_thread_sleep_ns(uint64_t ns) {
  const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                                .tv_nsec = (long)(ns % 1000000000)};
  (void)nanosleep(&time, NULL);
}

void smr_os_thread_yield(void) { (void)sched_yield(); }

#if defined(__linux__) && defined(SYS_getcpu) && defined(SYS_sched_setaffinity)
// Direct system calls: the C library's functions would need _GNU_SOURCE before any other header.
enum { OS_PROCESSORS = 1024, OS_MASK_BITS = (int)(8 * sizeof(unsigned long)) };

int32_t smr_os_processor(void) {
  unsigned processor;
  return syscall(SYS_getcpu, &processor, NULL, NULL) == 0 ? (int32_t)processor : -1;
}

void smr_os_leave_processor(int32_t processor) {
  unsigned long all[OS_PROCESSORS / OS_MASK_BITS] = {0}, others[OS_PROCESSORS / OS_MASK_BITS];
  unsigned long left = 0;
  if (processor < 0 || processor >= OS_PROCESSORS ||
      syscall(SYS_sched_getaffinity, 0, sizeof all, all) <= 0)
    return;
  memcpy(others, all, sizeof all);
  others[processor / OS_MASK_BITS] &= ~(1UL << processor % OS_MASK_BITS);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) left |= others[i];
  if (left == 0 || syscall(SYS_sched_setaffinity, 0, sizeof others, others) != 0) return;
  (void)syscall(SYS_sched_setaffinity, 0, sizeof all, all);
}
#else
int32_t smr_os_processor(void) { return -1; }
void smr_os_leave_processor(int32_t processor) { (void)processor; }
#endif

#endif
