// SPDX-License-Identifier: Apache-2.0
// A minimal program: open a model, set its first input, run, read the first output, and print the
// profile.
#include <samara/samara.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what, const char *text) {
  fprintf(stderr, "%s: %s\n", what, text);
  return 1;
}

static int run(const samara_model *model) {
  samara_error error;
  samara_session *session = NULL;
  const samara_session_options options = {.struct_size = sizeof options, .profile = true};
  if (samara_session_create(model, &options, &session, &error) != SAMARA_OK)
    return fail("session", error.text);

  // Fill the input in place; samara_session_set_input copies, samara_session_bind_input borrows.
  samara_tensor input, output;
  samara_status status = samara_session_input(session, 0, &input);
  if (status == SAMARA_OK) {
    memset(input.data, 0, input.size_bytes);
    status = samara_session_run(session);
  }
  if (status == SAMARA_OK) status = samara_session_output(session, 0, &output);
  if (status != SAMARA_OK) {
    fail("run", samara_session_error(session));
    samara_session_destroy(session);
    return 1;
  }

  printf("output: %zu bytes", output.size_bytes);
  if (output.dtype == SAMARA_FLOAT32 && output.size_bytes >= sizeof(float))
    printf(", first value %g", (double)((const float *)output.data)[0]);
  printf("\n");

  samara_profile_row rows[16];
  size_t count = 0;
  if (samara_session_profile(session, rows, 16, &count) == SAMARA_OK)
    for (size_t i = 0; i < count && i < 16; i++)
      printf("%9.3f ms  %-16s %-24s %s\n", (double)rows[i].total_ns / 1e6, rows[i].op,
             rows[i].kernel, rows[i].node);
  samara_session_destroy(session);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) return fail("usage", "minimal MODEL.samara");
  samara_model *model = NULL;
  samara_error error;
  if (samara_model_open_path(argv[1], NULL, &model, &error) != SAMARA_OK)
    return fail(argv[1], error.text);
  const int result = run(model);
  samara_model_close(model);
  return result;
}
