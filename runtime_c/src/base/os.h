// SPDX-License-Identifier: Apache-2.0
// The operating system: files, memory, threads, clock. Only os_*.c include its headers.
//
// Exactly one of os_posix.c, os_windows.c and os_none.c is active in a build; each guards itself.
#ifndef SMR_BASE_OS_H
#define SMR_BASE_OS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(SMR_OS_NONE) || defined(SMR_BARE_METAL)
#define SMR_OS_USE_NONE 1  // on request; with SMR_BARE_METAL there is no malloc either
#elif defined(_WIN32)
#define SMR_OS_USE_WINDOWS 1
#elif defined(__unix__) || defined(__APPLE__) || defined(__EMSCRIPTEN__)
#define SMR_OS_USE_POSIX 1
#else
#define SMR_OS_USE_NONE 1
#endif

// ---- memory ----

/// SMR_ALIGNMENT-aligned memory or NULL. Large blocks lie in huge pages where the system has them.
void *smr_os_allocate(size_t size_bytes);
void smr_os_release(void *pointer);
/// Map the pages of this thread's stack that runs may need, where the system does that by request:
/// nothing is written, and a stack that is smaller is left alone.
void smr_os_map_stack(void);

// ---- files ----

/// Bytes of a file, mapped where the system can, else read into memory of the allocator.
struct smr_os_file {
  const void *data;  // size_bytes of them; aligned to 4 at least when the offset is
  size_t size_bytes;
  void *base;  // what to unmap or release
  size_t base_bytes;
  bool mapped;
};

/// Open all of a file. `copy`: read it, do not map it. IO when it cannot be read; UNSUPPORTED where
/// there are no files.
samara_status smr_os_open_path(const char *path, bool copy, const samara_allocator *allocator,
                               struct smr_os_file *out, samara_error *error);
/// Open `size_bytes` bytes at `offset` (0: to the end). The descriptor is not closed and not moved.
samara_status smr_os_open_fd(int fd, uint64_t offset, uint64_t size_bytes, bool copy,
                             const samara_allocator *allocator, struct smr_os_file *out,
                             samara_error *error);
void smr_os_close(struct smr_os_file *file, const samara_allocator *allocator);
/// Read all of a regular file of at most `max_bytes` bytes into memory of the allocator. LIMIT when
/// it is larger; else as smr_os_open_path.
samara_status smr_os_read_path(const char *path, uint64_t max_bytes,
                               const samara_allocator *allocator, struct smr_os_file *out,
                               samara_error *error);
/// Write a file as a whole: readers see the old one, or all of the new one, which only this user
/// may read or write. IO when it cannot be written; UNSUPPORTED where there are no files.
samara_status smr_os_write_path(const char *path, const void *data, size_t size_bytes,
                                const samara_allocator *allocator, samara_error *error);
/// Make a folder for this user alone, and those it lies in, unless they are there.
samara_status smr_os_make_folder(const char *path, const samara_allocator *allocator,
                                 samara_error *error);

// ---- shared libraries ----

typedef void (*smr_os_function)(void);

/// Load the library of that name or path; NULL where there is none, or where the system or this
/// program has no shared libraries. Each needs its own close,
/// after which its functions may not be called, though its code stays in memory.
void *smr_os_library_open(const char *name);
/// A function of the library; NULL when it has none of that name.
smr_os_function smr_os_library_function(void *library, const char *name);
void smr_os_library_close(void *library);

// ---- environment, clock, process, processors ----

/// A variable of the environment; NULL where there is none. Valid until the environment changes.
const char *smr_os_environment(const char *name);
/// Nanoseconds of a clock that never goes back; 0 where there is none.
uint64_t smr_os_now_ns(void);
/// Identity of the process, different after a fork.
int64_t smr_os_process_id(void);
/// Processors on line, at least 1.
size_t smr_os_processor_count(void);

// ---- threads ----

/// Storage for the system's own types, checked against them in os_*.c.
#if defined(SMR_OS_USE_NONE)
struct smr_os_mutex {
  unsigned char storage[1];
};
struct smr_os_cond {
  unsigned char storage[1];
};
#else
struct smr_os_mutex {
  _Alignas(16) unsigned char storage[64];
};
struct smr_os_cond {
  _Alignas(16) unsigned char storage[64];
};
#endif
struct smr_os_thread {
  void (*function)(void *argument);
  void *argument;
  _Alignas(16) unsigned char storage[16];
};

/// False when the system refuses.
bool smr_os_mutex_init(struct smr_os_mutex *mutex);
void smr_os_mutex_destroy(struct smr_os_mutex *mutex);
void smr_os_mutex_lock(struct smr_os_mutex *mutex);
void smr_os_mutex_unlock(struct smr_os_mutex *mutex);

bool smr_os_cond_init(struct smr_os_cond *cond);
void smr_os_cond_destroy(struct smr_os_cond *cond);
/// May return without a signal: always wait in a loop.
void smr_os_cond_wait(struct smr_os_cond *cond, struct smr_os_mutex *mutex);
void smr_os_cond_broadcast(struct smr_os_cond *cond);

/// Start function(argument). `thread` must stay where it is until joined. False where there are no
/// threads or no more.
bool smr_os_thread_start(struct smr_os_thread *thread, void (*function)(void *argument),
                         void *argument);
void smr_os_thread_join(struct smr_os_thread *thread);
/// Sleeps for about that long; returns at once where there are no threads.
void smr_os_thread_sleep_ns(uint64_t ns);
/// Lets another thread go on that wants this processor, if there is one.
void smr_os_thread_yield(void);
/// The processor that the calling thread runs on; -1 where threads cannot leave it.
int32_t smr_os_processor(void);
/// Moves the calling thread to another processor than this one, if it may run on another. It may
/// run afterwards where it might before.
void smr_os_leave_processor(int32_t processor);

#endif
