// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over saved inputs, so that an ordinary build without libFuzzer replays a
// corpus: replay [--names] FILE|FOLDER|@LIST ...
//
// @LIST names a file with a path per line. --names prints each path before it runs, to identify the
// input of a crash. An input that takes more than a minute ends the run.

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_names;

static int replay_file(const char *path) {
  if (replay_names) fprintf(stderr, "%s\n", path);
  (void)alarm(60);
  FILE *file = fopen(path, "rb");
  if (file == NULL) return 0;
  uint8_t *data = NULL;
  long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  int ok = size >= 0 && fseek(file, 0, SEEK_SET) == 0;
  // An exact-size block, so that AddressSanitizer sees a read past the end of the input.
  if (ok) ok = (data = malloc(size > 0 ? (size_t)size : 1)) != NULL;
  if (ok) ok = fread(data, 1, (size_t)size, file) == (size_t)size;
  if (ok) (void)LLVMFuzzerTestOneInput(data, (size_t)size);
  free(data);
  fclose(file);
  if (!ok) fprintf(stderr, "cannot read %s\n", path);
  return ok;
}

/// Replay `path`, or every plain file in it. Returns how many inputs ran, -1 on a read error.
static long replay(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) {
    fprintf(stderr, "no such file or folder: %s\n", path);
    return -1;
  }
  if (!S_ISDIR(info.st_mode)) return replay_file(path) ? 1 : -1;
  DIR *folder = opendir(path);
  if (folder == NULL) return -1;
  long n_run = 0;
  for (struct dirent *entry; n_run >= 0 && (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char inner[4096];
    int length = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
    long n_inner = length > 0 && (size_t)length < sizeof inner ? replay(inner) : -1;
    n_run = n_inner < 0 ? -1 : n_run + n_inner;
  }
  closedir(folder);
  return n_run;
}

/// Replay the paths in the lines of file `list`.
static long replay_list(const char *list) {
  FILE *file = fopen(list, "r");
  if (file == NULL) return -1;
  long n_run = 0;
  char line[4096];
  while (n_run >= 0 && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    long n_inner = replay(line);
    n_run = n_inner < 0 ? -1 : n_run + n_inner;
  }
  fclose(file);
  return n_run;
}

int main(int argc, char **argv) {
  long n_run = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--names") == 0) {
      replay_names = 1;
      continue;
    }
    long n = argv[i][0] == '@' ? replay_list(argv[i] + 1) : replay(argv[i]);
    if (n < 0) return 1;
    n_run += n;
  }
  fprintf(stderr, "%ld inputs replayed\n", n_run);
  return n_run > 0 ? 0 : 1;  // an empty corpus proves nothing
}
