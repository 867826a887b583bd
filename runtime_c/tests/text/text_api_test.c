// SPDX-License-Identifier: Apache-2.0
// The public functions of tokenizers: room, names, memory, and what callers get wrong.
#include "base/fp.h"

#include <string.h>

#include "harness.h"
#include "text_build.h"

static struct text_build built;

static samara_tokenizer *opened(enum smr_text_model model) {
  text_build_small(&built, model);
  return text_build_open(&built);
}

SMR_TEST(room_for_ids_and_text) {
  samara_tokenizer *t = opened(SMR_TEXT_BPE);
  int32_t ids[] = {77, 77, 77};
  char text[] = "zzzzzz";
  size_t count = 0;
  CHECK_EQ_INT(samara_tokenizer_encode(t, "a b ab", 6, 0, ids, 2, &count, NULL), SAMARA_OK);
  CHECK(count == 3 && ids[0] == 0 && ids[1] == 3 && ids[2] == 77);
  CHECK_EQ_INT(samara_tokenizer_decode(t, ids, 2, 0, text, 2, &count, NULL), SAMARA_OK);
  CHECK_EQ_INT(count, 3);
  CHECK_STR(text, "a zzzz");
  CHECK_EQ_INT(samara_tokenizer_decode(t, ids, 2, 0, NULL, 0, &count, NULL), SAMARA_OK);
  CHECK_EQ_INT(count, 3);
  samara_tokenizer_close(t);
}

SMR_TEST(names) {
  samara_tokenizer *t = opened(SMR_TEXT_BPE);
  size_t bytes = 0;
  CHECK_EQ_INT(samara_tokenizer_vocabulary(t), TEXT_SMALL_COUNT);
  CHECK_EQ_INT(samara_tokenizer_id(t, "abb", 3), 2);
  CHECK_EQ_INT(samara_tokenizer_id(t, "<x>", 3), TEXT_SMALL_SPECIAL);
  CHECK_EQ_INT(samara_tokenizer_id(t, "<x", 2), -1);
  const char *token = samara_tokenizer_token(t, 2, &bytes);
  CHECK(bytes == 3 && token != NULL && memcmp(token, "abb", 3) == 0);
  CHECK(samara_tokenizer_token(t, 2, NULL) == token);
  CHECK(samara_tokenizer_token(t, TEXT_SMALL_COUNT, NULL) == NULL);
  CHECK(samara_tokenizer_token(t, -1, NULL) == NULL);
  samara_tokenizer_close(t);
}

SMR_TEST(special_tokens_in_text) {
  samara_tokenizer *t = opened(SMR_TEXT_BPE);
  const int32_t ids[] = {0, TEXT_SMALL_SPECIAL, -5, 99, 3};
  char text[16];
  size_t bytes = 0;
  CHECK_EQ_INT(samara_tokenizer_decode(t, ids, 5, 0, text, 16, &bytes, NULL), SAMARA_OK);
  CHECK(bytes == 7 && memcmp(text, "a <x> b", 7) == 0);
  CHECK_EQ_INT(samara_tokenizer_decode(t, ids, 5, SAMARA_TEXT_SKIP_SPECIAL, text, 16, &bytes, NULL),
               SAMARA_OK);
  CHECK(bytes == 3 && memcmp(text, "a b", 3) == 0);
  samara_tokenizer_close(t);
}

SMR_TEST(a_stream_begins_again) {
  samara_tokenizer *t = opened(SMR_TEXT_BPE);
  samara_text_stream *stream = NULL;
  const char *text = NULL;
  size_t bytes = 0;
  CHECK_EQ_INT(samara_text_stream_create(t, SAMARA_TEXT_SKIP_SPECIAL, &stream, NULL), SAMARA_OK);
  for (int turn = 0; turn < 2; turn++) {
    CHECK_EQ_INT(samara_text_stream_push(stream, TEXT_SMALL_SPECIAL, &text, &bytes, NULL),
                 SAMARA_OK);
    CHECK_EQ_INT(bytes, 0);
    CHECK_EQ_INT(samara_text_stream_push(stream, 0, &text, &bytes, NULL), SAMARA_OK);
    CHECK(bytes == 1 && text[0] == 'a');
    CHECK_EQ_INT(samara_text_stream_finish(stream, &text, &bytes, NULL), SAMARA_OK);
    CHECK_EQ_INT(bytes, 0);
  }
  samara_text_stream_destroy(stream);
  samara_text_stream_destroy(NULL);
  samara_tokenizer_close(t);
}

SMR_TEST(what_callers_get_wrong) {
  samara_tokenizer *t = opened(SMR_TEXT_BPE), *none = t;
  samara_error error;
  size_t count = 5;
  int32_t id;
  CHECK_EQ_INT(samara_tokenizer_encode(t, "a\xff", 2, 0, &id, 1, &count, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_STR(error.text, "the text is not UTF-8 at byte 1");
  CHECK_EQ_INT(samara_tokenizer_encode(NULL, "a", 1, 0, &id, 1, &count, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_tokenizer_encode(t, NULL, 1, 0, &id, 1, &count, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_tokenizer_encode(t, "a", 1, 0, NULL, 1, &count, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_tokenizer_decode(t, NULL, 1, 0, NULL, 0, &count, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_tokenizer_normalize(t, "a", 1, NULL, 1, &count, NULL), SAMARA_BAD_ARGUMENT);
  static const uint32_t words[SMR_TEXT_HEADER] = {1, 2, 3};
  CHECK_EQ_INT(samara_tokenizer_open(words, sizeof words, NULL, &none, &error), SAMARA_BAD_MODEL);
  CHECK(none == NULL && count == 5);
  CHECK_EQ_INT(samara_text_stream_create(NULL, 0, NULL, NULL), SAMARA_BAD_ARGUMENT);
  samara_tokenizer_close(t);
  samara_tokenizer_close(NULL);
}

// An allocator that fails at its n-th call.
struct short_memory {
  size_t left, live;
};

static void *short_allocate(void *user, size_t bytes) {
  struct short_memory *m = (struct short_memory *)user;
  if (m->left == 0) return NULL;
  m->left--;
  void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
  m->live += block != NULL;
  return block;
}

static void short_release(void *user, void *block) {
  struct short_memory *m = (struct short_memory *)user;
  if (block != NULL) m->live--;
  free(block);
}

static samara_status everything(const samara_allocator *memory, samara_error *error) {
  size_t bytes, count = 0;
  samara_tokenizer *t = NULL;
  samara_text_stream *stream = NULL;
  const char *text;
  const void *table = text_build_finish(&built, &bytes);
  samara_status status = samara_tokenizer_open(table, bytes, memory, &t, error);
  if (status == SAMARA_OK)
    status = samara_tokenizer_encode(t, "abb ab <x> accb", 15, 0, NULL, 0, &count, error);
  if (status == SAMARA_OK) status = samara_text_stream_create(t, 0, &stream, error);
  if (status == SAMARA_OK) status = samara_text_stream_push(stream, 2, &text, &count, error);
  samara_text_stream_destroy(stream);
  samara_tokenizer_close(t);
  return status;
}

SMR_TEST(no_memory) {
  for (uint32_t model = SMR_TEXT_BPE; model <= SMR_TEXT_WORDLEVEL; model++) {
    samara_status status = SAMARA_OUT_OF_MEMORY;
    text_build_small(&built, (enum smr_text_model)model);
    for (size_t k = 0; status != SAMARA_OK && k < 100; k++) {
      struct short_memory m = {k, 0};
      const samara_allocator memory = {
          .allocate = short_allocate, .release = short_release, .user = &m};
      samara_error error = {SAMARA_OK, ""};
      status = everything(&memory, &error);
      CHECK_EQ_INT(m.live, 0);
      CHECK(status == SAMARA_OK || status == SAMARA_OUT_OF_MEMORY);
      CHECK_EQ_INT(status, error.status);
    }
    CHECK_EQ_INT(status, SAMARA_OK);
  }
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(room_for_ids_and_text);
  RUN(names);
  RUN(special_tokens_in_text);
  RUN(a_stream_begins_again);
  RUN(what_callers_get_wrong);
  RUN(no_memory);
  return SMR_TEST_END();
}
