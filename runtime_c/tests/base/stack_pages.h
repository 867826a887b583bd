// SPDX-License-Identifier: Apache-2.0
// Which pages of a thread's stack are mapped, on Linux. Requires _DEFAULT_SOURCE.
#ifndef SMR_TESTS_BASE_STACK_PAGES_H
#define SMR_TESTS_BASE_STACK_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Below the frame that asks, next to which come those of what it called.
enum { STACK_PAGES = 9, STACK_PAGE_BYTES = 4096 };

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#if defined(__linux__) && defined(MADV_POPULATE_WRITE)

/// Of STACK_PAGES, those that are mapped.
static inline size_t stack_pages_mapped(void) {
  unsigned char mapped[STACK_PAGES] = {0};
  const uintptr_t end = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(STACK_PAGE_BYTES - 1);
  size_t count = 0;
  if (mincore((void *)(end - sizeof mapped * STACK_PAGE_BYTES), sizeof mapped * STACK_PAGE_BYTES,
              mapped) != 0)
    return 0;
  for (size_t i = 0; i < STACK_PAGES; i++) count += mapped[i] & 1;
  return count;
}

/// Whether this kernel maps pages on demand, and mincore shows it.
static inline bool stack_pages_known(void) {
  unsigned char before = 1, after = 0;
  if (sysconf(_SC_PAGESIZE) != STACK_PAGE_BYTES) return false;
  void *page =
      mmap(NULL, STACK_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  bool known = mincore(page, STACK_PAGE_BYTES, &before) == 0 &&
               madvise(page, STACK_PAGE_BYTES, MADV_POPULATE_WRITE) == 0 &&
               mincore(page, STACK_PAGE_BYTES, &after) == 0;
  known = known && (before & 1) == 0 && (after & 1) != 0;
  munmap(page, STACK_PAGE_BYTES);
  return known;
}

#else

static inline size_t stack_pages_mapped(void) { return 0; }
static inline bool stack_pages_known(void) { return false; }

#endif

#endif
