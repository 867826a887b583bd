// SPDX-License-Identifier: Apache-2.0
// One session with inputs of changing size: resize plans again and allocates only if the plan is
// larger than every earlier one.
//
//   resize MODEL.samara 1x3x320x320 in0.raw 1x3x480x640 in1.raw ...
//
// Reads the first input of each step from a file of raw elements, writes output K of step N to
// outN_K.raw beside it, and prints what the session holds.
#include <samara/samara.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(const char *what, const char *text) {
  fprintf(stderr, "%s: %s\n", what, text);
  return 1;
}

static int parse_shape(const char *text, int64_t shape[SAMARA_MAX_RANK]) {
  int rank = 0;
  while (rank < SAMARA_MAX_RANK) {
    char *end;
    shape[rank++] = strtoll(text, &end, 10);
    if (*end == '\0') return rank;
    if (*end != 'x') return -1;
    text = end + 1;
  }
  return -1;
}

static int write_outputs(const samara_session *session, size_t count, int step) {
  for (size_t k = 0; k < count; k++) {
    samara_tensor output;
    if (samara_session_output(session, k, &output) != SAMARA_OK) return 1;
    char name[64];
    snprintf(name, sizeof name, "out%d_%zu.raw", step, k);
    FILE *file = fopen(name, "wb");
    if (file == NULL) return fail(name, "cannot be written");
    const size_t written = fwrite(output.data, 1, output.size_bytes, file);
    if (fclose(file) != 0 || written != output.size_bytes) return fail(name, "cannot be written");
  }
  return 0;
}

static int step(samara_session *session, const char *shape_text, const char *path) {
  int64_t shape[SAMARA_MAX_RANK];
  samara_tensor input;
  if (parse_shape(shape_text, shape) < 0) return fail(shape_text, "a shape is written 1x3x320x320");
  const int64_t *const shapes[] = {shape};
  if (samara_session_resize(session, shapes, 1) != SAMARA_OK ||
      samara_session_input(session, 0, &input) != SAMARA_OK)
    return fail(shape_text, samara_session_error(session));
  FILE *file = fopen(path, "rb");
  if (file == NULL) return fail(path, "cannot be read");
  const size_t got = fread(input.data, 1, input.size_bytes, file);
  fclose(file);
  if (got != input.size_bytes) return fail(path, "holds fewer bytes than the input takes");
  if (samara_session_run(session) != SAMARA_OK)
    return fail(shape_text, samara_session_error(session));
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 4 || argc % 2 != 0)
    return fail("usage", "resize MODEL.samara SHAPE FILE [SHAPE FILE ...]");
  samara_model *model = NULL;
  samara_session *session = NULL;
  samara_error error;
  if (samara_model_open_path(argv[1], NULL, &model, &error) != SAMARA_OK)
    return fail(argv[1], error.text);
  int result = 1;
  if (samara_session_create(model, NULL, &session, &error) != SAMARA_OK) {
    fail("session", error.text);
  } else {
    result = 0;
    for (int i = 2; i + 1 < argc && result == 0; i += 2) {
      result = step(session, argv[i], argv[i + 1]);
      if (result == 0)
        result = write_outputs(session, samara_model_output_count(model, NULL), i / 2 - 1);
      if (result == 0)
        printf("%s: arena %zu bytes\n", argv[i], samara_session_arena_bytes(session));
    }
  }
  samara_session_destroy(session);
  samara_model_close(model);
  return result;
}
