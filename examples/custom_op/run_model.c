// SPDX-License-Identifier: Apache-2.0
// Run a model with custom operators from C: pass the operators in the session's options.
//
//   cc -O2 -std=c11 -I runtime_c/include run_model.c swish_beta.c -lsamara -lm -o run_model
//   ./run_model model.samara input.raw      (float32, as many as the model's input has)
#include <samara/samara.h>

#include <stdio.h>
#include <stdlib.h>

extern const samara_custom_op swish_beta, above;

static int fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

static int run(samara_session *session, const char *input) {
  samara_tensor x, y;
  if (samara_session_input(session, 0, &x) != SAMARA_OK) return fail(samara_session_error(session));
  FILE *file = fopen(input, "rb");
  if (file == NULL) return fail("the input cannot be opened");
  const size_t got = fread(x.data, 1, x.size_bytes, file);
  fclose(file);
  if (got != x.size_bytes) return fail("the input is too short");
  if (samara_session_run(session) != SAMARA_OK ||
      samara_session_output(session, 0, &y) != SAMARA_OK)
    return fail(samara_session_error(session));
  for (size_t i = 0; i < y.size_bytes / sizeof(float); i++)
    printf("%.9g\n", (double)((const float *)y.data)[i]);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return fail("usage: run_model MODEL INPUT.raw [--without]");
  samara_error error;
  samara_model *model = NULL;
  if (samara_model_open_path(argv[1], NULL, &model, &error) != SAMARA_OK) return fail(error.text);
  const samara_custom_op ops[] = {swish_beta, above};
  samara_session_options options = {
      .struct_size = sizeof options, .custom_ops = ops, .custom_op_count = argc > 3 ? 0 : 2};
  samara_session *session = NULL;
  int failed = 1;
  if (samara_session_create(model, &options, &session, &error) != SAMARA_OK)
    fail(error.text);
  else
    failed = run(session, argv[2]);
  samara_session_destroy(session);
  samara_model_close(model);
  return failed;
}
