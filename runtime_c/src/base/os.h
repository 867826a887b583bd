// SPDX-License-Identifier: Apache-2.0
// The operating system: files, memory, threads, clock. Only os_*.c include its headers.
//
// Exactly one of os_posix.c, os_windows.c and os_none.c is active in a build; each has its own
// guard. For web pages os_none.c has files, and os_web.c memory and clock; where the module's
// memory is shared, threads too.
#ifndef SMR_BASE_OS_H
#define SMR_BASE_OS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(SMR_OS_NONE) || defined(SMR_BARE_METAL)
#define SMR_OS_USE_NONE 1  // on request; with SMR_BARE_METAL there is no malloc either
#elif defined(SMR_OS_WEB)
#define SMR_OS_USE_NONE 1
#define SMR_OS_USE_WEB 1
#if defined(__wasm_atomics__) || !defined(__wasm__)  // tests are for the host
#define SMR_OS_USE_WEB_THREADS 1
#endif
#elif defined(_WIN32)
#define SMR_OS_USE_WINDOWS 1
#elif defined(__unix__) || defined(__APPLE__) || defined(__EMSCRIPTEN__)
#define SMR_OS_USE_POSIX 1
#else
#define SMR_OS_USE_NONE 1
#endif

// ---- memory ----

/// SMR_ALIGNMENT-aligned memory or NULL. Large blocks use huge pages if the system has them.
void *smr_os_allocate(size_t size_bytes);
void smr_os_release(void *pointer);
/// Zeroed memory, aligned as malloc's, whose small pages the system gives when they are written.
/// Systems without such pages take all of it. smr_os_release frees it.
void *smr_os_allocate_lazily(size_t size_bytes);
/// Map the pages of this thread's stack that runs may need, on systems that map them on request.
/// Writes nothing; leaves smaller stacks alone.
void smr_os_map_stack(void);

// ---- files ----

/// Bytes of a file: mapped if the system can, otherwise read into memory of the allocator.
struct smr_os_file {
  const void *data;  // size_bytes bytes; aligned to 4 or more if the offset is
  size_t size_bytes;
  void *base;  // for unmapping or releasing
  size_t base_bytes;
  bool mapped;
};

/// Open a whole file. `copy`: read it instead of mapping it. IO if it cannot be read; UNSUPPORTED
/// on systems without files.
samara_status smr_os_open_path(const char *path, bool copy, const samara_allocator *allocator,
                               struct smr_os_file *out, samara_error *error);
/// Open `size_bytes` bytes at `offset` (0: to the end). Leaves the descriptor open and its position
/// unchanged.
samara_status smr_os_open_fd(int fd, uint64_t offset, uint64_t size_bytes, bool copy,
                             const samara_allocator *allocator, struct smr_os_file *out,
                             samara_error *error);
void smr_os_close(struct smr_os_file *file, const samara_allocator *allocator);
/// Read a whole regular file of at most `max_bytes` bytes into memory of the allocator. LIMIT if it
/// is larger; otherwise as smr_os_open_path.
samara_status smr_os_read_path(const char *path, uint64_t max_bytes,
                               const samara_allocator *allocator, struct smr_os_file *out,
                               samara_error *error);
/// Replace a file atomically: readers see the old or the new contents. Only this user may read or
/// write the new file. IO if it cannot be written; UNSUPPORTED on systems without files.
samara_status smr_os_write_path(const char *path, const void *data, size_t size_bytes,
                                const samara_allocator *allocator, samara_error *error);
/// Make a folder accessible only to this user, and its missing parents. It may already exist.
samara_status smr_os_make_folder(const char *path, const samara_allocator *allocator,
                                 samara_error *error);

// ---- shared libraries ----

typedef void (*smr_os_function)(void);

/// Load the library of that name or path. NULL if there is none, or if the system or this program
/// has no shared libraries. Every open needs a close. After it, the functions must not be called,
/// though the code stays in memory.
void *smr_os_library_open(const char *name);
/// A function of the library; NULL if it has none of that name.
smr_os_function smr_os_library_function(void *library, const char *name);
void smr_os_library_close(void *library);

// ---- environment, clock, process, processors ----

/// A variable of the environment; NULL if it is not set. Valid until the environment changes.
const char *smr_os_environment(const char *name);
/// Nanoseconds of a monotonic clock; 0 if there is none.
uint64_t smr_os_now_ns(void);
/// Identity of the process; changes in a fork.
int64_t smr_os_process_id(void);
/// Online processors, at least 1.
size_t smr_os_processor_count(void);

// ---- threads ----

/// Storage for the system's types; os_*.c check that it is large enough.
#if defined(SMR_OS_USE_NONE) && !defined(SMR_OS_USE_WEB_THREADS)
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

/// False if the system refuses.
bool smr_os_mutex_init(struct smr_os_mutex *mutex);
void smr_os_mutex_destroy(struct smr_os_mutex *mutex);
void smr_os_mutex_lock(struct smr_os_mutex *mutex);
void smr_os_mutex_unlock(struct smr_os_mutex *mutex);

bool smr_os_cond_init(struct smr_os_cond *cond);
void smr_os_cond_destroy(struct smr_os_cond *cond);
/// May return without a signal: always wait in a loop.
void smr_os_cond_wait(struct smr_os_cond *cond, struct smr_os_mutex *mutex);
void smr_os_cond_broadcast(struct smr_os_cond *cond);

/// Start function(argument). `thread` must not move until it is joined. False if there are no
/// threads, or no more.
bool smr_os_thread_start(struct smr_os_thread *thread, void (*function)(void *argument),
                         void *argument);
void smr_os_thread_join(struct smr_os_thread *thread);
#if defined(SMR_OS_USE_WEB_THREADS)
/// Run a thread. Its worker calls this.
void smr_web_thread(struct smr_os_thread *thread);
#endif
#if defined(SMR_OS_USE_WEB)
enum { SMR_OS_NUMBER_BYTES = 32 };
/// Write `value` with at most `digits` (1 to 9) digits to `text`, of SMR_OS_NUMBER_BYTES bytes, as
/// JavaScript prints numbers: its engine can, and 800 bytes of the module are saved.
void smr_os_format_number(char *text, double value, size_t digits);
#endif
/// Sleep for about `ns`. Returns at once on systems without threads.
void smr_os_thread_sleep_ns(uint64_t ns);
/// Let another thread that wants this processor run, if there is one.
void smr_os_thread_yield(void);
/// The processor of the calling thread; -1 where threads cannot change it.
int32_t smr_os_processor(void);
/// Move the calling thread to another processor than `processor`, if it may run on another. Its
/// affinity is the same afterwards.
void smr_os_leave_processor(int32_t processor);

#endif
