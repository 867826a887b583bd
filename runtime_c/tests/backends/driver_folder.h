// SPDX-License-Identifier: Apache-2.0
// A folder of a test, and the files in it.
#ifndef SMR_TESTS_BACKENDS_DRIVER_FOLDER_H
#define SMR_TESTS_BACKENDS_DRIVER_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/// The path of the folder's first file, if there is one; returns how many there are.
static inline int folder_files(const char *folder, char *path, size_t size) {
  int count = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    if (count++ == 0) (void)snprintf(path, size, "%s/%s", folder, entry->d_name);
  }
  if (dir != NULL) closedir(dir);
  return count;
}

static inline void folder_remove(const char *folder) {
  char path[512];
  while (folder_files(folder, path, sizeof path) > 0 && unlink(path) == 0) {
  }
  (void)rmdir(folder);
}

/// Read at most `size` bytes of a file; returns how many there were.
static inline size_t folder_read(const char *path, unsigned char *bytes, size_t size) {
  FILE *file = fopen(path, "rb");
  const size_t got = file != NULL ? fread(bytes, 1, size, file) : 0;
  if (file != NULL) fclose(file);
  return got;
}
static inline int folder_write(const char *path, const unsigned char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) return 0;
  const size_t put = fwrite(bytes, 1, size, file);
  return fclose(file) == 0 && put == size;
}

#endif
