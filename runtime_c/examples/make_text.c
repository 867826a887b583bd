// SPDX-License-Identifier: Apache-2.0
// A text model in C: print what follows a prompt, as it is made, and the tokens.
#include <samara/samara_text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const char *text) {
  fprintf(stderr, "%s: %s\n", what, text);
  return 1;
}

static int make_text(samara_text_model *text, const char *prompt, size_t most, uint64_t seed) {
  const samara_sampler_options sampler = {
      .struct_size = sizeof sampler, .temperature = 0.8f, .top_k = 40, .seed = seed};
  const samara_text_options options = {
      .struct_size = sizeof options, .max_tokens = most, .sampler = seed != 0 ? &sampler : NULL};
  samara_status status =
      samara_text_model_prompt(text, prompt, strlen(prompt), SAMARA_TEXT_ADD_SPECIAL, NULL);
  if (status == SAMARA_OK) status = samara_text_model_begin(text, &options);
  samara_text_end end = SAMARA_TEXT_GOING;
  while (status == SAMARA_OK && end == SAMARA_TEXT_GOING) {
    int32_t token;
    const char *part;
    size_t size_bytes;
    status = samara_text_model_step(text, &token, &part, &size_bytes, &end);
    if (status != SAMARA_OK) break;
    fwrite(part, 1, size_bytes, stdout);
    fflush(stdout);
  }
  if (status != SAMARA_OK) return fail("generate", samara_text_model_error(text));

  size_t count = 0;
  const int32_t *tokens = samara_text_model_tokens(text, &count);
  fprintf(stderr, "\ntokens:");
  for (size_t i = 0; i < count; i++) fprintf(stderr, " %d", (int)tokens[i]);
  fprintf(stderr, "\n");
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 5) return fail("usage", "make_text MODEL.samara PROMPT [TOKENS [SEED]]");
  const size_t most = argc > 3 ? (size_t)strtoull(argv[3], NULL, 10) : 50;
  const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;  // 0: the likeliest tokens
  samara_model *model = NULL;
  samara_text_model *text = NULL;
  samara_error error;
  if (samara_model_open_path(argv[1], NULL, &model, &error) != SAMARA_OK)
    return fail(argv[1], error.text);
  int result = 0;
  if (samara_text_model_create(model, NULL, &text, &error) != SAMARA_OK)
    result = fail(argv[1], error.text);
  else
    result = make_text(text, argv[2], most, seed);
  samara_text_model_destroy(text);
  samara_model_close(model);
  return result;
}
