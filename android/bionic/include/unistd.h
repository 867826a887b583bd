/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <unistd.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_UNISTD_H_
#define SAMARA_BIONIC_UNISTD_H_

#include <sys/types.h>

#define _SC_PAGESIZE 39
#define _SC_NPROCESSORS_CONF 96
#define _SC_NPROCESSORS_ONLN 97

int close(int fd);
ssize_t read(int fd, void *to, size_t n);
ssize_t write(int fd, const void *from, size_t n);
ssize_t pread(int fd, void *to, size_t n, off_t offset) __asm__("pread64");
off_t lseek(int fd, off_t offset, int whence) __asm__("lseek64");
int fsync(int fd);
int unlink(const char *path);
long sysconf(int name);
pid_t getpid(void);
long syscall(long number, ...);

#endif
