// SPDX-License-Identifier: Apache-2.0
// Files, clock and threads of the system this test runs on.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "base/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/stack_pages.h"
#include "harness.h"

enum { FILE_BYTES = 20000 };

static unsigned char expected(size_t i) { return (unsigned char)(i * 7 + i / 256); }

// A temporary file of FILE_BYTES bytes; -1 when it cannot be made. `path` has room for 64.
static int make_file(char *path) {
  strcpy(path, "/tmp/samara_os_test_XXXXXX");
  const int fd = mkstemp(path);
  unsigned char bytes[FILE_BYTES];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = expected(i);
  if (fd >= 0 && write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes) return -1;
  return fd;
}

static void check_bytes(const struct smr_os_file *file, size_t offset, size_t size) {
  CHECK_EQ_INT(file->size_bytes, size);
  const unsigned char *bytes = file->data;
  size_t wrong = 0;
  for (size_t i = 0; i < size; i++) wrong += bytes[i] != expected(offset + i);
  CHECK_EQ_INT(wrong, 0);
}

SMR_TEST(maps_paths) {
  const samara_allocator allocator = smr_allocator(NULL);
  char path[64];
  const int fd = make_file(path);
  REQUIRE(fd >= 0);
  close(fd);
  struct smr_os_file file = {0};
  samara_error error;
  CHECK_EQ_INT(smr_os_open_path(path, false, &allocator, &file, &error), SAMARA_OK);
  CHECK(file.mapped);
  unlink(path);
  check_bytes(&file, 0, FILE_BYTES);
  smr_os_close(&file, &allocator);
  CHECK(file.base == NULL);
  smr_os_close(&file, &allocator);
}

SMR_TEST(maps_parts_of_descriptors) {
  const samara_allocator allocator = smr_allocator(NULL);
  char path[64];
  const int fd = make_file(path);
  REQUIRE(fd >= 0);
  unlink(path);
  samara_error error;
  const struct {
    uint64_t offset, size;
  } parts[] = {{0, 0}, {4, 0}, {4096, 100}, {4100, 1000}, {8191, 4097}, {19999, 1}};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    struct smr_os_file file = {0};
    const samara_status status =
        smr_os_open_fd(fd, parts[i].offset, parts[i].size, false, &allocator, &file, &error);
    if (!CHECK_EQ_INT(status, SAMARA_OK)) continue;
    check_bytes(&file, (size_t)parts[i].offset,
                (size_t)(parts[i].size ? parts[i].size : FILE_BYTES - parts[i].offset));
    smr_os_close(&file, &allocator);
  }
  struct smr_os_file file = {0};
  CHECK_EQ_INT(smr_os_open_fd(fd, 20000, 0, false, &allocator, &file, &error), SAMARA_IO);
  CHECK_EQ_INT(smr_os_open_fd(fd, 20001, 0, false, &allocator, &file, &error), SAMARA_IO);
  CHECK_EQ_INT(smr_os_open_fd(fd, 19999, 2, false, &allocator, &file, &error), SAMARA_IO);
  CHECK_EQ_INT(smr_os_open_fd(fd, UINT64_MAX, 2, false, &allocator, &file, &error), SAMARA_IO);
  CHECK_EQ_INT(lseek(fd, 0, SEEK_CUR), FILE_BYTES);  // not moved
  close(fd);
}

// Files of /sys cannot be mapped: they are read.
SMR_TEST(reads_what_it_cannot_map) {
  const samara_allocator allocator = smr_allocator(NULL);
  const int fd = open("/sys/devices/system/cpu/online", O_RDONLY);
  if (fd < 0) SKIP("this system has no /sys");
  struct smr_os_file file = {0};
  samara_error error;
  if (CHECK_EQ_INT(smr_os_open_fd(fd, 0, 1, false, &allocator, &file, &error), SAMARA_OK)) {
    CHECK(!file.mapped && file.size_bytes == 1);
    CHECK(*(const char *)file.data >= '0' && *(const char *)file.data <= '9');
    smr_os_close(&file, &allocator);
  }
  // Its reported size is a page, but reading ends early.
  CHECK_EQ_INT(smr_os_open_fd(fd, 0, 0, false, &allocator, &file, &error), SAMARA_IO);
  CHECK_CONTAINS(error.text, "end of file");
  CHECK(file.base == NULL);
  close(fd);
}

SMR_TEST(says_why_not) {
  const samara_allocator allocator = smr_allocator(NULL);
  struct smr_os_file file = {0};
  samara_error error;
  CHECK_EQ_INT(smr_os_open_path("/nowhere/at/all", false, &allocator, &file, &error), SAMARA_IO);
  CHECK_CONTAINS(error.text, "No such file");
  CHECK_EQ_INT(smr_os_open_path("/tmp", false, &allocator, &file, &error), SAMARA_IO);
  CHECK_EQ_INT(smr_os_open_fd(-1, 0, 0, false, &allocator, &file, &error), SAMARA_IO);
  char path[64];
  close(make_file(path));
  const int fd = open(path, O_WRONLY);
  CHECK_EQ_INT(smr_os_open_fd(fd, 0, 0, false, &allocator, &file, &error), SAMARA_IO);
  CHECK_CONTAINS(error.text, "cannot read");
  close(fd);
  unlink(path);
  CHECK(file.base == NULL);
}

SMR_TEST(clock_and_process) {
  const uint64_t before = smr_os_now_ns();
  CHECK(smr_os_now_ns() >= before);
  CHECK_EQ_INT(smr_os_process_id(), getpid());
  CHECK(smr_os_processor_count() >= 1);
}

// A thread leaves its processor if it may run on another one, and may return.
SMR_TEST(leaves_processors) {
  smr_os_thread_yield();
  smr_os_leave_processor(-1);
  smr_os_leave_processor(INT32_MAX);
  const int32_t before = smr_os_processor();
  if (before < 0 || smr_os_processor_count() < 2) {
    fprintf(stderr,
            "NOT RUN: leaves_processors (the system does not say where, or has only one)\n");
    return;
  }
  size_t left = 0, returned = 0;
  for (int i = 0; i < 100; i++) {
    const int32_t processor = smr_os_processor();
    smr_os_leave_processor(processor);
    left += smr_os_processor() != processor;
    returned += smr_os_processor() == before;
  }
  CHECK(left > 50);  // it may be moved back at any time
  CHECK(returned > 0);
}

struct shared {
  struct smr_os_mutex mutex;
  struct smr_os_cond cond;
  int count, turn;
};

static void add_many(void *argument) {
  struct shared *shared = argument;
  for (int i = 0; i < 10000; i++) {
    smr_os_mutex_lock(&shared->mutex);
    shared->count++;
    smr_os_mutex_unlock(&shared->mutex);
  }
  smr_os_mutex_lock(&shared->mutex);
  while (shared->turn == 0) smr_os_cond_wait(&shared->cond, &shared->mutex);
  shared->count += shared->turn;
  smr_os_mutex_unlock(&shared->mutex);
}

SMR_TEST(threads_locks_and_signals) {
  struct shared shared = {.count = 0};
  REQUIRE(smr_os_mutex_init(&shared.mutex) && smr_os_cond_init(&shared.cond));
  struct smr_os_thread threads[3];
  for (int i = 0; i < 3; i++) REQUIRE(smr_os_thread_start(&threads[i], add_many, &shared));
  smr_os_mutex_lock(&shared.mutex);
  shared.turn = 5;
  smr_os_cond_broadcast(&shared.cond);
  smr_os_mutex_unlock(&shared.mutex);
  for (int i = 0; i < 3; i++) smr_os_thread_join(&threads[i]);
  CHECK_EQ_INT(shared.count, 3 * 10000 + 3 * 5);
  smr_os_cond_destroy(&shared.cond);
  smr_os_mutex_destroy(&shared.mutex);
}

// Below, at and above multiples of a huge page, with a last one that is nearly full and one that is
// nearly empty: all bytes are usable, and freed memory can be allocated again.
SMR_TEST(large_blocks) {
  const size_t huge = 2 * 1024 * 1024;
  const size_t sizes[] = {huge - 1, huge, huge + 1, 3 * huge - 100000, 3 * huge, 5 * huge / 2};
  for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
    const size_t size = sizes[i / 2];
    unsigned char *p = smr_os_allocate(size);
    REQUIRE(p != NULL);
    CHECK_EQ_INT((uintptr_t)p % SMR_ALIGNMENT, 0);
    memset(p, 0x5a, size);
    CHECK(p[0] == 0x5a && p[size / 2] == 0x5a && p[size - 1] == 0x5a);
    smr_os_release(p);
  }
}

// Sanitizers have allocators of their own, which write what they give.
#if defined(__linux__) && defined(__GLIBC__) && !defined(SMR_SANITIZED)
#define COUNTS_PAGES
// Pages of [p, p + size) that are in memory.
static size_t resident_pages(unsigned char *p, size_t size) {
  static unsigned char pages[16384];
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), first = (page - (uintptr_t)p % page) % page;
  const size_t count = (size - first) / page;
  size_t resident = 0;
  if (count > sizeof pages || mincore(p + first, count * page, pages) != 0) return SIZE_MAX;
  for (size_t i = 0; i < count; i++) resident += pages[i] & 1;
  return resident;
}
#endif

// Also where malloc gives memory again that was written before.
SMR_TEST(lazy_memory) {
  const size_t sizes[] = {0, 1, 100, 5000, 300000, 2 << 20, 5 << 20, 12345678, 12345678, 40 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const size_t size = sizes[i];
    size_t wrong = 0;
    unsigned char *p = smr_os_allocate_lazily(size);
    REQUIRE(p != NULL);
#ifdef COUNTS_PAGES
    if (size >= 2 << 20) {
      CHECK(resident_pages(p, size) <= 2);
      p[size / 2] = 1;
      CHECK(resident_pages(p, size) >= 1 && resident_pages(p, size) <= 3);
      p[size / 2] = 0;
    }
#endif
    for (size_t k = 0; k < size; k++) wrong += p[k] != 0;
    CHECK_EQ_INT(wrong, 0);
    if (size != 0) memset(p, 0x5a, size);
    smr_os_release(p);
  }
  CHECK(smr_os_allocate_lazily(SIZE_MAX / 2) == NULL);
}

SMR_TEST(writes_and_reads_whole_files) {
  const samara_allocator allocator = smr_allocator(NULL);
  samara_error error;
  struct smr_os_file file = {0};
  char folder[] = "/tmp/samara_os_test_XXXXXX", below[64], path[80];
  REQUIRE(mkdtemp(folder) != NULL);
  (void)snprintf(below, sizeof below, "%s/a/b", folder);
  (void)snprintf(path, sizeof path, "%s/file", below);
  CHECK_EQ_INT(smr_os_write_path(path, "x", 1, &allocator, &error), SAMARA_IO);
  CHECK_EQ_INT(smr_os_make_folder(below, &allocator, &error), SAMARA_OK);
  CHECK_EQ_INT(smr_os_make_folder(below, &allocator, &error), SAMARA_OK);
  for (size_t size = 5; size > 1; size -= 2) {
    CHECK_EQ_INT(smr_os_write_path(path, "bytes", size, &allocator, &error), SAMARA_OK);
    REQUIRE(smr_os_read_path(path, size, &allocator, &file, &error) == SAMARA_OK);
    CHECK(!file.mapped);
    CHECK_EQ_INT(file.size_bytes, size);
    CHECK_MEM(file.data, "bytes", size);
    smr_os_close(&file, &allocator);
    CHECK_EQ_INT(smr_os_read_path(path, size - 1, &allocator, &file, &error), SAMARA_LIMIT);
  }
  CHECK_EQ_INT(smr_os_make_folder(path, &allocator, &error), SAMARA_IO);
  CHECK_EQ_INT(smr_os_read_path(below, 100, &allocator, &file, &error), SAMARA_IO);
  CHECK_EQ_INT(unlink(path), 0);
  CHECK_EQ_INT(mkfifo(path, 0600), 0);  // nobody writes: must not wait
  CHECK_EQ_INT(smr_os_read_path(path, 100, &allocator, &file, &error), SAMARA_IO);
  CHECK_EQ_INT(unlink(path), 0);
  CHECK_EQ_INT(rmdir(below), 0);  // nothing else is left
  below[strlen(below) - 2] = '\0';
  CHECK_EQ_INT(rmdir(below), 0);
  CHECK_EQ_INT(rmdir(folder), 0);
}

SMR_TEST(loads_libraries) {
  CHECK(smr_os_library_open("no_such_library.so") == NULL);
#if defined(__linux__) && defined(__GLIBC__)
  void *library = smr_os_library_open("libm.so.6");
  REQUIRE(library != NULL);
  const smr_os_function function = smr_os_library_function(library, "sqrt");
  REQUIRE(function != NULL);
  CHECK_NEAR(((double (*)(double))function)(2.25), 1.5, 0);
  CHECK(smr_os_library_function(library, "no_such_function") == NULL);
  smr_os_library_close(library);
#endif
  smr_os_library_close(NULL);
}

SMR_TEST(sleeps) {
  const uint64_t start = smr_os_now_ns();
  smr_os_thread_sleep_ns(2000000);
  CHECK(smr_os_now_ns() - start >= 2000000);
}

static void map_stack(void *argument) {
  smr_os_map_stack();
  *(size_t *)argument = stack_pages_mapped();
}

SMR_TEST(maps_the_stack_of_a_thread) {
  struct smr_os_thread thread;
  size_t mapped = 0;
  if (!stack_pages_known()) SKIP("the system does not map pages by request");
  REQUIRE(smr_os_thread_start(&thread, map_stack, &mapped));
  smr_os_thread_join(&thread);
  CHECK_EQ_INT(mapped, STACK_PAGES);
}

SMR_TEST_MAIN(RUN(large_blocks); RUN(lazy_memory); RUN(maps_the_stack_of_a_thread); RUN(maps_paths);
              RUN(maps_parts_of_descriptors); RUN(reads_what_it_cannot_map); RUN(says_why_not);
              RUN(clock_and_process); RUN(writes_and_reads_whole_files); RUN(loads_libraries);
              RUN(sleeps); RUN(leaves_processors); RUN(threads_locks_and_signals))
