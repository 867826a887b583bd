/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <sys/mman.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_SYS_MMAN_H_
#define SAMARA_BIONIC_SYS_MMAN_H_

#include <sys/types.h>

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 0x20
#define MAP_FAILED ((void *)-1)
#define MADV_HUGEPAGE 14

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) __asm__("mmap64");
int munmap(void *at, size_t n);
int madvise(void *at, size_t n, int advice);

#endif
