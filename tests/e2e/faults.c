// SPDX-License-Identifier: Apache-2.0
// A library to preload: kills the process at the n-th call that changes a file system. If that is
// a write, half of its bytes are written.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static long calls, fatal = -1;

void fault_arm(long at) {
  calls = 0;
  fatal = at;
}

long fault_calls(void) { return calls; }

__attribute__((constructor)) static void from_environment(void) {
  const char *at = getenv("FAULT_AT");
  if (at != NULL) fault_arm(atol(at));
}

static int hit(void) { return calls++ == fatal; }
static void die(void) { kill(getpid(), SIGKILL); }

#define NEXT(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))
#define FAULTY(name, parameters, arguments, ...)   \
  int name parameters {                            \
    if (hit()) die();                              \
    return NEXT(int, name, __VA_ARGS__) arguments; \
  }

ssize_t write(int file, const void *data, size_t size) {
  ssize_t (*next)(int, const void *, size_t) = NEXT(ssize_t, write, int, const void *, size_t);
  if (file > 2 && hit()) {
    (void)!next(file, data, size / 2);
    die();
  }
  return next(file, data, size);
}

FAULTY(fsync, (int file), (file), int)
FAULTY(ftruncate64, (int file, off64_t size), (file, size), int, off64_t)
FAULTY(rename, (const char *from, const char *to), (from, to), const char *, const char *)
FAULTY(renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
       (a, from, b, to, flags), int, const char *, int, const char *, unsigned)
FAULTY(unlink, (const char *path), (path), const char *)
FAULTY(unlinkat, (int folder, const char *path, int flags), (folder, path, flags), int,
       const char *, int)
FAULTY(rmdir, (const char *path), (path), const char *)
FAULTY(mkdir, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
FAULTY(fchmod, (int file, mode_t mode), (file, mode), int, mode_t)
