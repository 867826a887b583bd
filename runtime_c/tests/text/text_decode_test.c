// SPDX-License-Identifier: Apache-2.0
// Ids to text, whole and one at a time.
#include "base/fp.h"

#include <string.h>

#include "harness.h"
#include "text_build.h"

static struct text_build built;

// A tokenizer of these tokens and stages.
static void with_tokens(const char *const *tokens, uint32_t count, const uint32_t *steps,
                        uint32_t stages) {
  static uint8_t flags[16];
  memset(flags, SMR_TEXT_EXISTS, sizeof flags);
  static const uint32_t zero = 0;
  built.words[SMR_TEXT_VOCABULARY] = count;
  built.words[SMR_TEXT_UNKNOWN] = SMR_TEXT_NONE;
  built.words[SMR_TEXT_TRIE] = text_build_trie(&built, tokens, &zero, 1, 1) + 1;
  built.words[SMR_TEXT_ADDED] = built.words[SMR_TEXT_RAW] = built.words[SMR_TEXT_NAMES] = 0;
  built.words[SMR_TEXT_TOKENS] = text_build_strings(&built, tokens, count) + 1;
  built.words[SMR_TEXT_TOKEN_FLAGS] =
      text_build_add(&built, SMR_TEXT_KIND_BYTES, flags, count, count, 0) + 1;
  built.words[SMR_TEXT_DECODER] = text_build_steps(&built, steps, stages) + 1;
}

static void begin(void) { text_build_small(&built, SMR_TEXT_UNIGRAM); }

// The parts that a stream gives for the ids 0 .. count - 1, with | between them. Checks that they
// are what decoding at once gives.
static const char *parts_of(size_t count) {
  static char shown[256];
  char whole[256];
  int32_t ids[16];
  size_t bytes = 0, at = 0, length = 0;
  const char *text;
  samara_text_stream *stream = NULL;
  samara_tokenizer *tokenizer = text_build_open(&built);
  if (tokenizer == NULL) return "";
  for (size_t i = 0; i < count; i++) ids[i] = (int32_t)i;
  CHECK_EQ_INT(
      samara_tokenizer_decode(tokenizer, ids, count, 0, whole, sizeof whole, &length, NULL),
      SAMARA_OK);
  CHECK_EQ_INT(samara_text_stream_create(tokenizer, 0, &stream, NULL), SAMARA_OK);
  size_t seen = 0;
  for (size_t i = 0; i <= count; i++) {
    CHECK_EQ_INT(i < count ? samara_text_stream_push(stream, (int32_t)i, &text, &bytes, NULL)
                           : samara_text_stream_finish(stream, &text, &bytes, NULL),
                 SAMARA_OK);
    if (i > 0) shown[at++] = '|';
    CHECK(seen + bytes <= length && (bytes == 0 || memcmp(whole + seen, text, bytes) == 0));
    if (bytes != 0) memcpy(shown + at, text, bytes);
    at += bytes, seen += bytes;
  }
  CHECK_EQ_INT(seen, length);
  shown[at] = '\0';
  samara_text_stream_destroy(stream);
  samara_tokenizer_close(tokenizer);
  return shown;
}

SMR_TEST(joined_by_spaces) {
  const char *const tokens[] = {"a", "b"};
  const uint32_t steps[] = {SMR_TEXT_STAGE_JOIN, 0, 0, 0};
  begin();
  with_tokens(tokens, 2, steps, 1);
  CHECK_STR(parts_of(2), "a| b|");
}

// U+00E9 comes in two tokens, and a byte without its end becomes U+FFFD. The token of a character
// outside of the alphabet stands for itself.
SMR_TEST(characters_as_bytes) {
  const char *const tokens[] = {"a\xc4\xa0\xc3\x83", "\xc2\xa9", "\xe4\xb8\xad", "\xc3\x83"};
  const uint32_t steps[] = {SMR_TEXT_STAGE_BYTES, 0, 0, 0};
  begin();
  with_tokens(tokens, 4, steps, 1);
  CHECK_STR(parts_of(4), "a |\xc3\xa9|\xe4\xb8\xad||\xef\xbf\xbd");
}

SMR_TEST(bytes_of_fallback) {
  const char *const tokens[] = {"<0xC3>", "<0xA9>", "x", "<0xC3>", "<0x41>", "<0x4>"};
  const uint32_t steps[] = {SMR_TEXT_STAGE_BYTE_FALLBACK, 0, 0, 0, SMR_TEXT_STAGE_FUSE, 0, 0, 0};
  begin();
  with_tokens(tokens, 6, steps, 2);
  CHECK_STR(parts_of(6), "||\xc3\xa9x|||\xef\xbf\xbd\xef\xbf\xbd<0x4>|");
}

SMR_TEST(metaspace) {
  const char *const tokens[] = {"_a", "_b_c"};
  begin();
  const uint32_t mark = text_build_blob(&built, "_");
  uint32_t steps[] = {SMR_TEXT_STAGE_METASPACE, mark, 1, 0};
  with_tokens(tokens, 2, steps, 1);
  CHECK_STR(parts_of(2), "a| b c|");
  begin();
  steps[1] = text_build_blob(&built, "_");
  steps[2] = 0;
  with_tokens(tokens, 2, steps, 1);
  CHECK_STR(parts_of(2), " a| b c|");
}

SMR_TEST(word_pieces) {
  const char *const tokens[] = {"do", "##n", "n't", ".", "do not"};
  begin();
  const uint32_t prefix = text_build_blob(&built, "##");
  uint32_t steps[] = {SMR_TEXT_STAGE_WORDPIECE, prefix, 1, 0};
  with_tokens(tokens, 5, steps, 1);
  CHECK_STR(parts_of(5), "do|n|n't|.| don't|");
  begin();
  steps[1] = text_build_blob(&built, "##");
  steps[2] = 0;
  with_tokens(tokens, 5, steps, 1);
  CHECK_STR(parts_of(5), "do|n| n't| .| do not|");
}

// Of each token, or of the text as a whole, of which the end is held back.
SMR_TEST(stripping) {
  const char *const tokens[] = {" ", " a ", " b ", " "};
  begin();
  const uint32_t space = text_build_blob(&built, " ");
  const uint32_t each[] = {SMR_TEXT_STAGE_STRIP, space, 1, 1};
  with_tokens(tokens, 4, each, 1);
  CHECK_STR(parts_of(4), "|a|b||");
  begin();
  const uint32_t whole[] = {SMR_TEXT_STAGE_FUSE,          0, 0, 0, SMR_TEXT_STAGE_STRIP,
                            text_build_blob(&built, " "), 1, 1};
  with_tokens(tokens, 4, whole, 2);
  CHECK_STR(parts_of(4), "| a|  b| |");
}

// A token without text, which a stage sees before it has any memory.
SMR_TEST(empty_tokens) {
  const char *const tokens[] = {""};
  begin();
  const uint32_t steps[] = {SMR_TEXT_STAGE_STRIP, text_build_blob(&built, " "), 1, 1};
  with_tokens(tokens, 1, steps, 1);
  CHECK_STR(parts_of(1), "|");
}

SMR_TEST(replacing) {
  const char *const tokens[] = {"_a_", "b"};
  begin();
  const uint32_t steps[] = {SMR_TEXT_STAGE_REPLACE, text_build_set(&built, "_", 0),
                            text_build_blob(&built, "--"), 0};
  with_tokens(tokens, 2, steps, 1);
  CHECK_STR(parts_of(2), "--a--|b|");
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(joined_by_spaces);
  RUN(characters_as_bytes);
  RUN(bytes_of_fallback);
  RUN(metaspace);
  RUN(word_pieces);
  RUN(stripping);
  RUN(empty_tokens);
  RUN(replacing);
  return SMR_TEST_END();
}
