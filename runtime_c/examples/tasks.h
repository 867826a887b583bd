// SPDX-License-Identifier: Apache-2.0
// Shared by the tasks: a model with a session, and reading files.
#ifndef SAMARA_EXAMPLES_TASKS_H_
#define SAMARA_EXAMPLES_TASKS_H_

#include <samara/samara_media.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int fail(const char *what, const char *text) {
  fprintf(stderr, "%s: %s\n", what, text);
  return 1;
}

// ---- a model with a session ----

struct net {
  samara_model *model;
  samara_session *session;
};

static inline void close_net(struct net *net) {
  samara_session_destroy(net->session);
  samara_model_close(net->model);
}

static inline int open_net(const char *path, struct net *net) {
  samara_error error;
  *net = (struct net){0};
  if (samara_model_open_path(path, NULL, &net->model, &error) == SAMARA_OK &&
      samara_session_create(net->model, NULL, &net->session, &error) == SAMARA_OK)
    return 0;
  close_net(net);
  return fail(path, error.text);
}

// ---- files ----

struct bytes {
  unsigned char *data;
  size_t count;
};

static inline int read_bytes(const char *path, struct bytes *out) {
  *out = (struct bytes){0};
  FILE *file = fopen(path, "rb");
  if (file == NULL) return fail(path, "cannot be read");
  const long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (size > 0 && size <= 1L << 30 && fseek(file, 0, SEEK_SET) == 0) {
    out->data = malloc((size_t)size);
    if (out->data != NULL) out->count = fread(out->data, 1, (size_t)size, file);
  }
  fclose(file);
  if (size > 0 && out->count == (size_t)size) return 0;
  free(out->data);
  return fail(path, size == 0 ? "is empty" : "cannot be read");
}

#endif  // SAMARA_EXAMPLES_TASKS_H_
