// SPDX-License-Identifier: Apache-2.0
// The operating system on Windows: file mappings, SRW locks, performance counter.
#include "base/fp.h"

#include "base/os.h"

#if SMR_OS_USE_WINDOWS

#include <windows.h>
// Macros for 16-bit pointers, whose names are used as variables elsewhere in a unity build.
#undef near
#undef far

#include <malloc.h>
#include <process.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format.h"

// ---- memory ----

void *smr_os_allocate(size_t size_bytes) { return _aligned_malloc(size_bytes, SMR_ALIGNMENT); }
void smr_os_release(void *pointer) { _aligned_free(pointer); }

void *smr_os_allocate_lazily(size_t size_bytes) {
  void *pointer = smr_os_allocate(size_bytes);
  if (pointer != NULL) memset(pointer, 0, size_bytes);
  return pointer;
}

void smr_os_map_stack(void) {}

// ---- files ----

static samara_status os_map_handle(HANDLE handle, struct smr_os_file *out, samara_error *error) {
  LARGE_INTEGER size;
  if (!GetFileSizeEx(handle, &size)) {
    SMR_FAIL(error, IO, "cannot stat: error %lu", (unsigned long)GetLastError());
  }
  if (size.QuadPart <= 0) SMR_FAIL(error, IO, "the file is empty");
  if ((uint64_t)size.QuadPart > SIZE_MAX / 2) {
    SMR_FAIL(error, OUT_OF_MEMORY, "%lld bytes are more than the address space",
             (long long)size.QuadPart);
  }
  const HANDLE mapping = CreateFileMappingW(handle, NULL, PAGE_READONLY, 0, 0, NULL);
  if (mapping == NULL) SMR_FAIL(error, IO, "cannot map: error %lu", (unsigned long)GetLastError());
  void *base = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  const unsigned long reason = (unsigned long)GetLastError();
  CloseHandle(mapping);  // the view keeps it
  if (base == NULL) SMR_FAIL(error, IO, "cannot map: error %lu", reason);
  out->data = out->base = base;
  out->size_bytes = out->base_bytes = (size_t)size.QuadPart;
  out->mapped = true;
  return SAMARA_OK;
}

// Read a mapped file into memory. A mapped file cannot be truncated.
static samara_status os_copy(const samara_allocator *allocator, struct smr_os_file *file,
                             samara_error *error) {
  void *view = file->base, *buffer = smr_allocate(allocator, file->size_bytes);
  if (buffer != NULL) memcpy(buffer, view, file->size_bytes);
  UnmapViewOfFile(view);
  file->data = file->base = buffer;
  file->mapped = false;
  return buffer != NULL ? SAMARA_OK : smr_no_memory(error, file->size_bytes);
}

// Converts a path to UTF-16; the caller releases it. NULL with an error.
static wchar_t *os_wide(const char *path, const char *suffix, const samara_allocator *allocator,
                        samara_error *error) {
  const int units = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
  const int more = MultiByteToWideChar(CP_UTF8, 0, suffix, -1, NULL, 0);
  if (units <= 0 || more <= 0) {
    (void)smr_fail(error, SAMARA_IO, "the path is not UTF-8");
    return NULL;
  }
  wchar_t *wide =
      (wchar_t *)smr_allocate(allocator, ((size_t)units + (size_t)more) * sizeof(wchar_t));
  if (wide == NULL) {
    (void)smr_fail(error, SAMARA_OUT_OF_MEMORY, "no memory for a path");
    return NULL;
  }
  MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, units);
  MultiByteToWideChar(CP_UTF8, 0, suffix, -1, wide + units - 1, more);
  return wide;
}

// Reports which of its two failures os_wide had.
static samara_status os_not_wide(const char *path) {
  return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0) <= 0
             ? SAMARA_IO
             : SAMARA_OUT_OF_MEMORY;
}

static samara_status os_open_wide(const char *path, bool copy, uint64_t max_bytes,
                                  const samara_allocator *allocator, struct smr_os_file *out,
                                  samara_error *error) {
  wchar_t *wide = os_wide(path, "", allocator, error);
  if (wide == NULL) return os_not_wide(path);
  const HANDLE handle = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING,
                                    FILE_ATTRIBUTE_NORMAL, NULL);
  const unsigned long reason = (unsigned long)GetLastError();
  smr_release(allocator, wide);
  if (handle == INVALID_HANDLE_VALUE) SMR_FAIL(error, IO, "cannot open: error %lu", reason);
  LARGE_INTEGER size;
  samara_status status = SAMARA_OK;
  if (GetFileSizeEx(handle, &size) && size.QuadPart > 0 && (uint64_t)size.QuadPart > max_bytes) {
    status = smr_fail(error, SAMARA_LIMIT, "a file of %lld bytes, more than %llu",
                      (long long)size.QuadPart, (unsigned long long)max_bytes);
  }
  if (status == SAMARA_OK) status = os_map_handle(handle, out, error);
  CloseHandle(handle);
  return status == SAMARA_OK && copy ? os_copy(allocator, out, error) : status;
}

samara_status smr_os_open_path(const char *path, bool copy, const samara_allocator *allocator,
                               struct smr_os_file *out, samara_error *error) {
  return os_open_wide(path, copy, UINT64_MAX, allocator, out, error);
}

samara_status smr_os_read_path(const char *path, uint64_t max_bytes,
                               const samara_allocator *allocator, struct smr_os_file *out,
                               samara_error *error) {
  return os_open_wide(path, true, max_bytes, allocator, out, error);
}

static samara_status os_write_wide(const wchar_t *temporary, const wchar_t *path, const void *data,
                                   size_t size_bytes, samara_error *error) {
  const HANDLE handle =
      CreateFileW(temporary, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
  if (handle == INVALID_HANDLE_VALUE) {
    SMR_FAIL(error, IO, "cannot create: error %lu", (unsigned long)GetLastError());
  }
  bool good = true;
  for (size_t done = 0; good && done < size_bytes;) {
    const size_t left = size_bytes - done;
    const DWORD step = (DWORD)(left < ((size_t)1 << 30) ? left : (size_t)1 << 30);
    DWORD put = 0;
    good = WriteFile(handle, (const uint8_t *)data + done, step, &put, NULL) && put > 0;
    done += put;
  }
  unsigned long reason = (unsigned long)GetLastError();
  CloseHandle(handle);
  if (good && MoveFileExW(temporary, path, MOVEFILE_REPLACE_EXISTING)) return SAMARA_OK;
  if (good) reason = (unsigned long)GetLastError();
  (void)DeleteFileW(temporary);
  SMR_FAIL(error, IO, "cannot write: error %lu", reason);
}

samara_status smr_os_write_path(const char *path, const void *data, size_t size_bytes,
                                const samara_allocator *allocator, samara_error *error) {
  char suffix[64];
  (void)smr_format(suffix, sizeof suffix, ".%llx-%llx.tmp", (unsigned long long)smr_os_process_id(),
                   (unsigned long long)smr_os_now_ns());
  wchar_t *wide = os_wide(path, "", allocator, error);
  if (wide == NULL) return os_not_wide(path);
  wchar_t *temporary = os_wide(path, suffix, allocator, error);
  samara_status status = SAMARA_OUT_OF_MEMORY;
  if (temporary != NULL) status = os_write_wide(temporary, wide, data, size_bytes, error);
  smr_release(allocator, temporary);
  smr_release(allocator, wide);
  return status;
}

samara_status smr_os_make_folder(const char *path, const samara_allocator *allocator,
                                 samara_error *error) {
  wchar_t *wide = os_wide(path, "", allocator, error);
  if (wide == NULL) return os_not_wide(path);
  for (size_t i = 1; wide[0] != 0 && wide[i] != 0; i++) {
    const wchar_t separator = wide[i];
    if (separator != L'/' && separator != L'\\') continue;
    wide[i] = 0;
    (void)CreateDirectoryW(wide, NULL);  // refused: it exists, or the last call reports the reason
    wide[i] = separator;
  }
  const bool made = CreateDirectoryW(wide, NULL);
  const unsigned long reason = (unsigned long)GetLastError();
  const DWORD kind = made ? 0 : GetFileAttributesW(wide);
  smr_release(allocator, wide);
  if (made || (kind != INVALID_FILE_ATTRIBUTES && (kind & FILE_ATTRIBUTE_DIRECTORY) != 0))
    return SAMARA_OK;
  SMR_FAIL(error, IO, "cannot make the folder: error %lu", reason);
}

samara_status smr_os_open_fd(int fd, uint64_t offset, uint64_t size_bytes, bool copy,
                             const samara_allocator *allocator, struct smr_os_file *out,
                             samara_error *error) {
  (void)fd, (void)offset, (void)size_bytes, (void)copy, (void)allocator, (void)out;
  SMR_FAIL(error, UNSUPPORTED, "no file descriptors on this system; open by path");
}

void smr_os_close(struct smr_os_file *file, const samara_allocator *allocator) {
  if (file->base == NULL) return;
  if (file->mapped) {
    UnmapViewOfFile(file->base);
  } else {
    smr_release(allocator, file->base);
  }
  memset(file, 0, sizeof *file);
}

// ---- shared libraries ----

void *smr_os_library_open(const char *name) {
  wchar_t wide[MAX_PATH];
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name, -1, wide, MAX_PATH) <= 0)
    return NULL;
  const HMODULE library = LoadLibraryW(wide);
  // Drivers start threads that outlive the close of their library, so its code must stay loaded.
  HMODULE kept;
  if (library != NULL) (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN, wide, &kept);
  return (void *)library;
}

smr_os_function smr_os_library_function(void *library, const char *name) {
  const FARPROC address = GetProcAddress((HMODULE)library, name);
  smr_os_function function;
  _Static_assert(sizeof function == sizeof address, "functions have one kind of address");
  memcpy(&function, &address, sizeof function);
  return function;
}

void smr_os_library_close(void *library) {
  if (library != NULL) (void)FreeLibrary((HMODULE)library);
}

// ---- environment, clock, process, processors ----

const char *smr_os_environment(const char *name) { return getenv(name); }

uint64_t smr_os_now_ns(void) {
  LARGE_INTEGER ticks, rate;
  if (!QueryPerformanceCounter(&ticks) || !QueryPerformanceFrequency(&rate)) return 0;
  const uint64_t now = (uint64_t)ticks.QuadPart, per_second = (uint64_t)rate.QuadPart;
  return now / per_second * UINT64_C(1000000000) +
         now % per_second * UINT64_C(1000000000) / per_second;
}

int64_t smr_os_process_id(void) { return (int64_t)GetCurrentProcessId(); }

size_t smr_os_processor_count(void) {
  const DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return count > 0 ? (size_t)count : 1;
}

// ---- threads ----

_Static_assert(sizeof(SRWLOCK) <= sizeof(struct smr_os_mutex), "a lock fits its storage");
_Static_assert(sizeof(CONDITION_VARIABLE) <= sizeof(struct smr_os_cond),
               "a condition variable fits its storage");
_Static_assert(sizeof(HANDLE) <= sizeof(((struct smr_os_thread *)0)->storage),
               "a thread fits its storage");

static SRWLOCK *os_mutex(struct smr_os_mutex *mutex) { return (SRWLOCK *)(void *)mutex->storage; }
static CONDITION_VARIABLE *os_cond(struct smr_os_cond *cond) {
  return (CONDITION_VARIABLE *)(void *)cond->storage;
}

bool smr_os_mutex_init(struct smr_os_mutex *mutex) {
  InitializeSRWLock(os_mutex(mutex));
  return true;
}
void smr_os_mutex_destroy(struct smr_os_mutex *mutex) { (void)mutex; }
void smr_os_mutex_lock(struct smr_os_mutex *mutex) { AcquireSRWLockExclusive(os_mutex(mutex)); }
void smr_os_mutex_unlock(struct smr_os_mutex *mutex) { ReleaseSRWLockExclusive(os_mutex(mutex)); }

bool smr_os_cond_init(struct smr_os_cond *cond) {
  InitializeConditionVariable(os_cond(cond));
  return true;
}
void smr_os_cond_destroy(struct smr_os_cond *cond) { (void)cond; }
void smr_os_cond_wait(struct smr_os_cond *cond, struct smr_os_mutex *mutex) {
  SleepConditionVariableSRW(os_cond(cond), os_mutex(mutex), INFINITE, 0);
}
void smr_os_cond_broadcast(struct smr_os_cond *cond) { WakeAllConditionVariable(os_cond(cond)); }

static unsigned __stdcall os_thread_main(void *argument) {
  struct smr_os_thread *thread = (struct smr_os_thread *)argument;
  thread->function(thread->argument);
  return 0;
}

bool smr_os_thread_start(struct smr_os_thread *thread, void (*function)(void *argument),
                         void *argument) {
  thread->function = function;
  thread->argument = argument;
  const uintptr_t handle = _beginthreadex(NULL, 0, os_thread_main, thread, 0, NULL);
  if (handle == 0) return false;
  memcpy(thread->storage, &handle, sizeof handle);
  return true;
}

void smr_os_thread_join(struct smr_os_thread *thread) {
  HANDLE handle;
  memcpy(&handle, thread->storage, sizeof handle);
  WaitForSingleObject(handle, INFINITE);
  CloseHandle(handle);
}

void smr_os_thread_sleep_ns(uint64_t ns) { Sleep((DWORD)((ns + 999999) / 1000000)); }
void smr_os_thread_yield(void) { (void)SwitchToThread(); }
int32_t smr_os_processor(void) { return -1; }
void smr_os_leave_processor(int32_t processor) { (void)processor; }

#endif
