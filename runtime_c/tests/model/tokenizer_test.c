// SPDX-License-Identifier: Apache-2.0
// Tokenizers in model files: read in place, absent, damaged, and without memory.
#include "base/fp.h"

#include <samara/samara_text.h>

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "model/sample.h"
#include "text/text_build.h"

static struct text_build built;

// A file with the sample's model and `count` tokenizers; `shorter` bytes of each table are missing.
static uint8_t *file_with(uint32_t count, bool sealed, size_t shorter, size_t *size) {
  struct mb_model *m = mb_sample();
  m->sealed = sealed;
  m->segments[0].size = m->data.size;
  text_build_small(&built, SMR_TEXT_BPE);
  size_t bytes;
  const void *table = text_build_finish(&built, &bytes);
  for (uint32_t i = 0; i < count; i++) {
    const size_t at = fbb_grow(&m->data, bytes, 64);
    fbb_put(&m->data, at, table, bytes);
    m->segments[m->segment_count++] =
        (struct mb_segment){.offset = at, .size = bytes - shorter, .name = SMR_TOKENIZER_SEGMENT};
  }
  uint8_t *file = mb_write(m, size);
  mb_free(m);
  return file;
}

static samara_model *opened(const uint8_t *file, size_t size, const samara_allocator *memory) {
  const samara_model_options options = {.struct_size = sizeof options, .allocator = memory};
  samara_model *model = NULL;
  samara_error error = {SAMARA_OK, ""};
  if (!CHECK_EQ_INT(samara_model_open_memory(file, size, &options, &model, &error), SAMARA_OK))
    fprintf(stderr, "%s\n", error.text);
  return model;
}

static samara_status status_of(uint8_t *file, size_t size, samara_error *error) {
  samara_model *model = opened(file, size, NULL);
  samara_tokenizer *tokenizer = (samara_tokenizer *)&built;
  const samara_status status = samara_tokenizer_of_model(model, &tokenizer, error);
  CHECK((status == SAMARA_OK) == (tokenizer != NULL));
  samara_tokenizer_close(tokenizer);
  samara_model_close(model);
  free(file);
  return status;
}

SMR_TEST(reads_in_place) {
  for (int sealed = 0; sealed < 2; sealed++) {
    size_t size, count = 0, bytes = 0;
    uint8_t *file = file_with(1, sealed != 0, 0, &size);
    samara_model *model = opened(file, size, NULL);
    samara_tokenizer *tokenizer = NULL;
    CHECK_EQ_INT(samara_tokenizer_of_model(model, &tokenizer, NULL), SAMARA_OK);
    const uint8_t *table = samara_tokenizer_table(tokenizer, &bytes);
    CHECK(table > file && table + bytes <= file + size);
    CHECK(memcmp(table, built.out, bytes) == 0);
    int32_t ids[3];
    CHECK_EQ_INT(samara_tokenizer_encode(tokenizer, "a b ab", 6, 0, ids, 3, &count, NULL),
                 SAMARA_OK);
    CHECK(count == 3 && ids[0] == 0 && ids[1] == 3 && ids[2] == 1);
    samara_tokenizer_close(tokenizer);
    samara_model_close(model);
    free(file);
  }
}

// An image needs only 4-byte alignment.
SMR_TEST(reads_at_four_bytes) {
  size_t size;
  uint8_t *file = file_with(1, true, 0, &size);
  uint8_t *moved = (uint8_t *)malloc(size + 4);
  CHECK(moved != NULL);
  memcpy(moved + 4, file, size);
  free(file);
  samara_model *model = opened(moved + 4, size, NULL);
  samara_tokenizer *tokenizer = NULL;
  CHECK_EQ_INT(samara_tokenizer_of_model(model, &tokenizer, NULL), SAMARA_OK);
  CHECK_EQ_INT(samara_tokenizer_vocabulary(tokenizer), TEXT_SMALL_COUNT);
  samara_tokenizer_close(tokenizer);
  samara_model_close(model);
  free(moved);
}

SMR_TEST(files_without_one) {
  for (int sealed = 0; sealed < 2; sealed++) {
    samara_error error = {SAMARA_OK, ""};
    size_t size;
    uint8_t *file = file_with(0, sealed != 0, 0, &size);
    CHECK_EQ_INT(status_of(file, size, &error), SAMARA_NOT_FOUND);
    CHECK(strstr(error.text, "no tokenizer") != NULL);
  }
}

SMR_TEST(damaged_ones_are_refused) {
  samara_error error = {SAMARA_OK, ""};
  size_t size;
  uint8_t *file = file_with(2, true, 0, &size);
  CHECK_EQ_INT(status_of(file, size, &error), SAMARA_BAD_MODEL);
  CHECK(strstr(error.text, "two tokenizers") != NULL);
  file = file_with(1, false, 4, &size);
  CHECK_EQ_INT(status_of(file, size, &error), SAMARA_BAD_MODEL);
  CHECK(strstr(error.text, "tokenizer table") != NULL);
  // Without checksums, the table's own verification finds it.
  file = file_with(1, false, 0, &size);
  const uint32_t magic = SMR_TEXT_MAGIC, wrong = 99;
  size_t at = 0;
  while (memcmp(file + at, &magic, 4) != 0) at += 4;
  memcpy(file + at + 4 * (size_t)SMR_TEXT_TOKENS, &wrong, 4);
  CHECK_EQ_INT(status_of(file, size, &error), SAMARA_BAD_MODEL);
}

SMR_TEST(what_callers_get_wrong) {
  samara_tokenizer *tokenizer = (samara_tokenizer *)&built;
  CHECK_EQ_INT(samara_tokenizer_of_model(NULL, &tokenizer, NULL), SAMARA_BAD_ARGUMENT);
  CHECK(tokenizer == NULL);
  CHECK_EQ_INT(samara_tokenizer_of_model(NULL, NULL, NULL), SAMARA_BAD_ARGUMENT);
}

static bool failing;

static void *failing_allocate(void *user, size_t bytes) {
  (void)user;
  return failing ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void failing_release(void *user, void *block) {
  (void)user;
  free(block);
}

SMR_TEST(no_memory) {
  const samara_allocator memory = {.allocate = failing_allocate, .release = failing_release};
  samara_error error = {SAMARA_OK, ""};
  size_t size;
  uint8_t *file = file_with(1, true, 0, &size);
  failing = false;
  samara_model *model = opened(file, size, &memory);
  samara_tokenizer *tokenizer = NULL;
  failing = true;
  CHECK_EQ_INT(samara_tokenizer_of_model(model, &tokenizer, &error), SAMARA_OUT_OF_MEMORY);
  CHECK(tokenizer == NULL && error.status == SAMARA_OUT_OF_MEMORY);
  samara_model_close(model);
  free(file);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(reads_in_place);
  RUN(reads_at_four_bytes);
  RUN(files_without_one);
  RUN(damaged_ones_are_refused);
  RUN(what_callers_get_wrong);
  RUN(no_memory);
  return SMR_TEST_END();
}
