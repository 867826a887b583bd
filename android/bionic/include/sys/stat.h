/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <sys/stat.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_SYS_STAT_H_
#define SAMARA_BIONIC_SYS_STAT_H_

#include <sys/types.h>
#include <time.h>

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFDIR 0040000
#define S_IRUSR 0400
#define S_IWUSR 0200
#define S_IRWXU 0700
#define S_ISREG(mode) (((mode) & S_IFMT) == S_IFREG)
#define S_ISDIR(mode) (((mode) & S_IFMT) == S_IFDIR)

/* The kernel's layout. */
#if defined(__aarch64__)
struct stat {
  unsigned long st_dev, st_ino;
  unsigned int st_mode, st_nlink, st_uid, st_gid;
  unsigned long st_rdev, __pad1;
  long st_size;
  int st_blksize, __pad2;
  long st_blocks;
  struct timespec st_atim, st_mtim, st_ctim;
  unsigned int __unused4, __unused5;
};
#elif defined(__x86_64__)
struct stat {
  unsigned long st_dev, st_ino, st_nlink;
  unsigned int st_mode, st_uid, st_gid, __pad0;
  unsigned long st_rdev;
  long st_size, st_blksize, st_blocks;
  struct timespec st_atim, st_mtim, st_ctim;
  long __pad3[3];
};
#else
struct stat {
  unsigned long long st_dev;
  unsigned char __pad0[4];
  unsigned long __st_ino;
  unsigned int st_mode, st_nlink, st_uid, st_gid;
  unsigned long long st_rdev;
  unsigned char __pad3[4];
  long long st_size;
  unsigned long st_blksize;
  unsigned long long st_blocks;
  struct timespec st_atim, st_mtim, st_ctim;
  unsigned long long st_ino;
};
#endif

int mkdir(const char *path, mode_t mode);
int fstat(int fd, struct stat *facts);
int stat(const char *path, struct stat *facts);

#endif
