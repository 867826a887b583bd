// SPDX-License-Identifier: Apache-2.0
// A text to ids: added tokens, and what splits do with their matches.
#include "base/fp.h"

#include <string.h>

#include "harness.h"
#include "text_build.h"

static struct text_build built;

// The ids of a text as digits.
static const char *ids_of(const char *text, uint32_t flags) {
  static char shown[64];
  int32_t ids[63];
  size_t count = 0;
  samara_tokenizer *tokenizer = text_build_open(&built);
  if (tokenizer == NULL) return "";
  CHECK_EQ_INT(samara_tokenizer_encode(tokenizer, text, strlen(text), flags, ids, 63, &count, NULL),
               SAMARA_OK);
  for (size_t i = 0; i < count && i < 63; i++) shown[i] = (char)('0' + ids[i]);
  shown[count < 63 ? count : 63] = '\0';
  samara_tokenizer_close(tokenizer);
  return shown;
}

// Words are looked up whole, so that ids show the pieces.
static const char *pieces_of(uint32_t behaviour, uint32_t inverted, const char *text) {
  text_build_small(&built, SMR_TEXT_WORDLEVEL);
  static const char *const tokens[] = {"#", "##", "#a", "a", "a#", "b"};
  static const uint32_t ids[] = {0, 1, 2, 3, 6, 7};
  built.words[SMR_TEXT_TRIE] = text_build_trie(&built, tokens, ids, 6, TEXT_SMALL_COUNT) + 1;
  const uint32_t step[] = {SMR_TEXT_OP_SPLIT, text_build_set(&built, "#", 0), behaviour, inverted};
  built.words[SMR_TEXT_PRETOKENIZER] = text_build_steps(&built, step, 1) + 1;
  return ids_of(text, 0);
}

SMR_TEST(behaviours) {
  CHECK_STR(pieces_of(SMR_TEXT_REMOVED, 0, "a##b"), "37");
  CHECK_STR(pieces_of(SMR_TEXT_REMOVED, 1, "a##b"), "00");
  CHECK_STR(pieces_of(SMR_TEXT_ISOLATED, 0, "a##b#"), "30070");
  CHECK_STR(pieces_of(SMR_TEXT_CONTIGUOUS, 0, "##a##b#"), "13170");
  CHECK_STR(pieces_of(SMR_TEXT_WITH_PREVIOUS, 0, "#a##b"), "0607");
  CHECK_STR(pieces_of(SMR_TEXT_WITH_NEXT, 0, "a##a#"), "3020");
}

SMR_TEST(special_tokens) {
  text_build_small(&built, SMR_TEXT_BPE);
  CHECK_STR(ids_of("ab<x>ab <x>", 0), "1515");
  CHECK_STR(ids_of("<x><x", 0), "544");
  CHECK_STR(ids_of("a<x>", SAMARA_TEXT_NO_SPECIAL), "0444");
}

SMR_TEST(ids_around) {
  const uint32_t before[] = {5, 4}, after[] = {6};
  text_build_small(&built, SMR_TEXT_BPE);
  built.words[SMR_TEXT_BEFORE] = text_build_words(&built, before, 2) + 1;
  built.words[SMR_TEXT_AFTER] = text_build_words(&built, after, 1) + 1;
  CHECK_STR(ids_of("a", 0), "0");
  CHECK_STR(ids_of("a", SAMARA_TEXT_ADD_SPECIAL), "5406");
  CHECK_STR(ids_of("", SAMARA_TEXT_ADD_SPECIAL), "546");
}

static void added_with(uint32_t flags) {
  const uint32_t rows[] = {TEXT_SMALL_SPECIAL, flags};
  static const char *const key[] = {"ab"};
  static const uint32_t zero = 0;
  text_build_small(&built, SMR_TEXT_WORDLEVEL);
  built.words[SMR_TEXT_ADDED] = text_build_words(&built, rows, 2) + 1;
  built.words[SMR_TEXT_RAW] = text_build_trie(&built, key, &zero, 1, 1) + 1;
  // No pre-tokenizer: spaces stay in the words.
  built.words[SMR_TEXT_PRETOKENIZER] = 0;
}

SMR_TEST(spaces_beside_added_tokens) {
  added_with(0);
  CHECK_STR(ids_of("a ab b", 0), "454");
  added_with(SMR_TEXT_LSTRIP);
  CHECK_STR(ids_of("a ab b", 0), "054");
  added_with(SMR_TEXT_RSTRIP);
  CHECK_STR(ids_of("a ab \nb", 0), "453");
  added_with(SMR_TEXT_LSTRIP | SMR_TEXT_RSTRIP);
  CHECK_STR(ids_of(" ab  ab ", 0), "55");
}

SMR_TEST(single_words) {
  added_with(SMR_TEXT_SINGLE_WORD);
  CHECK_STR(ids_of("ab", 0), "5");
  CHECK_STR(ids_of("abb", 0), "2");
  CHECK_STR(ids_of("bab", 0), "4");
  CHECK_STR(ids_of("?ab?", 0), "454");
}

// The normalizer writes b for "?"; added tokens are then searched in its text.
SMR_TEST(added_tokens_in_normalized_text) {
  static const char *const key[] = {"bb"};
  static const uint32_t zero = 0;
  text_build_small(&built, SMR_TEXT_WORDLEVEL);
  built.words[SMR_TEXT_RAW] = 0;
  built.words[SMR_TEXT_NORMAL] = text_build_trie(&built, key, &zero, 1, 1) + 1;
  const uint32_t step[] = {SMR_TEXT_OP_REPLACE, text_build_set(&built, "?", 0),
                           text_build_blob(&built, "b"), 0};
  built.words[SMR_TEXT_NORMALIZER] = text_build_steps(&built, step, 1) + 1;
  CHECK_STR(ids_of("a?b a", 0), "050");
}

// A mark goes before the first piece of the text, and before no other.
SMR_TEST(the_start_of_the_text) {
  text_build_small(&built, SMR_TEXT_WORDLEVEL);
  const uint32_t steps[] = {SMR_TEXT_OP_SPLIT,   text_build_set(&built, " ", 1), 0, 0,
                            SMR_TEXT_OP_PREPEND, text_build_blob(&built, "a"),   2, 0};
  built.words[SMR_TEXT_PRETOKENIZER] = text_build_steps(&built, steps, 2) + 1;
  CHECK_STR(ids_of("b b", 0), "13");
  CHECK_STR(ids_of("<x>b", 0), "53");
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(behaviours);
  RUN(special_tokens);
  RUN(ids_around);
  RUN(spaces_beside_added_tokens);
  RUN(single_words);
  RUN(added_tokens_in_normalized_text);
  RUN(the_start_of_the_text);
  return SMR_TEST_END();
}
