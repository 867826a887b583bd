// SPDX-License-Identifier: Apache-2.0
// The models: words to ids.
#include "base/fp.h"

#include <string.h>

#include "harness.h"
#include "text_build.h"

static struct text_build built;

// The ids of a text as digits, or the status as a letter.
static const char *ids_of(const char *text) {
  static char shown[64];
  int32_t ids[63];
  size_t count = 0;
  samara_error error;
  samara_tokenizer *tokenizer = text_build_open(&built);
  if (tokenizer == NULL) return "";
  const samara_status status =
      samara_tokenizer_encode(tokenizer, text, strlen(text), 0, ids, 63, &count, &error);
  for (size_t i = 0; i < count; i++) shown[i] = (char)('0' + ids[i]);
  shown[count] = '\0';
  samara_tokenizer_close(tokenizer);
  return status == SAMARA_OK ? shown : status == SAMARA_BAD_DATA ? "BAD_DATA" : "other";
}

static void with_flags(uint32_t flags) { built.words[SMR_TEXT_FLAGS] = flags; }

SMR_TEST(byte_pairs) {
  text_build_small(&built, SMR_TEXT_BPE);
  CHECK_STR(ids_of("abb ab bab"), "2131");
  CHECK_STR(ids_of("cac"), "404");
  CHECK_STR(ids_of("ccacc"), "44044");
  with_flags(SMR_TEXT_FUSE_UNKNOWN);
  CHECK_STR(ids_of("ccacc"), "404");
  built.words[SMR_TEXT_UNKNOWN] = SMR_TEXT_NONE;
  CHECK_STR(ids_of("ccacc"), "0");
}

SMR_TEST(byte_fallback) {
  uint32_t ids[256];
  for (int i = 0; i < 256; i++) ids[i] = i == 'c' ? 6 : SMR_TEXT_NONE;
  text_build_small(&built, SMR_TEXT_BPE);
  built.words[SMR_TEXT_BYTE_IDS] = text_build_words(&built, ids, 256) + 1;
  with_flags(SMR_TEXT_BYTE_FALLBACK);
  CHECK_STR(ids_of("cabd"), "614");
  text_build_small(&built, SMR_TEXT_UNIGRAM);
  built.words[SMR_TEXT_BYTE_IDS] = text_build_words(&built, ids, 256) + 1;
  with_flags(SMR_TEXT_BYTE_FALLBACK);
  CHECK_STR(ids_of("ccad"), "6604");
}

SMR_TEST(whole_words_before_merges) {
  text_build_small(&built, SMR_TEXT_BPE);
  CHECK_STR(ids_of("##b"), "443");
  with_flags(SMR_TEXT_IGNORE_MERGES);
  CHECK_STR(ids_of("##b"), "7");
}

SMR_TEST(prefixes_and_suffixes) {
  text_build_small(&built, SMR_TEXT_BPE);
  built.words[SMR_TEXT_PREFIX] = text_build_blob(&built, "##") + 1;
  CHECK_STR(ids_of("ab"), "07");
  text_build_small(&built, SMR_TEXT_BPE);
  built.words[SMR_TEXT_SUFFIX] = text_build_blob(&built, "b") + 1;
  CHECK_STR(ids_of("aa"), "01");
}

// The best sum of scores: abb -2.75, ab b -2.5, a b b -3.
SMR_TEST(unigrams) {
  text_build_small(&built, SMR_TEXT_UNIGRAM);
  CHECK_STR(ids_of("abb"), "13");
  CHECK_STR(ids_of("accb"), "043");
  CHECK_STR(ids_of("a?cb"), "043");
  built.words[SMR_TEXT_UNKNOWN] = SMR_TEXT_NONE;
  CHECK_STR(ids_of("ac"), "BAD_DATA");
}

SMR_TEST(word_pieces) {
  text_build_small(&built, SMR_TEXT_WORDPIECE);
  CHECK_STR(ids_of("abbb ab"), "271");
  CHECK_STR(ids_of("aa"), "4");
  CHECK_STR(ids_of("abbbbb"), "2777");
  CHECK_STR(ids_of("abbbbbb"), "4");
}

SMR_TEST(whole_words) {
  text_build_small(&built, SMR_TEXT_WORDLEVEL);
  CHECK_STR(ids_of("abb abbb b"), "243");
}

// A megabyte without a blank takes time in proportion to n log n: a quadratic one would take hours.
SMR_TEST(long_words) {
  enum { LONG = 1 << 20 };
  char *text = (char *)malloc(LONG);
  REQUIRE(text != NULL);
  for (size_t i = 0; i < LONG; i++) text[i] = i % 3 == 0 ? 'a' : 'b';
  for (uint32_t model = SMR_TEXT_BPE; model <= SMR_TEXT_WORDLEVEL; model++) {
    size_t count = 0;
    text_build_small(&built, (enum smr_text_model)model);
    samara_tokenizer *tokenizer = text_build_open(&built);
    CHECK_EQ_INT(samara_tokenizer_encode(tokenizer, text, LONG, 0, NULL, 0, &count, NULL),
                 SAMARA_OK);
    const size_t wanted = model == SMR_TEXT_BPE       ? (LONG + 2) / 3
                          : model == SMR_TEXT_UNIGRAM ? LONG / 3 * 2 + 1
                                                      : 1;
    CHECK_EQ_INT(count, wanted);
    samara_tokenizer_close(tokenizer);
  }
  free(text);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(byte_pairs);
  RUN(byte_fallback);
  RUN(whole_words_before_merges);
  RUN(prefixes_and_suffixes);
  RUN(unigrams);
  RUN(word_pieces);
  RUN(whole_words);
  RUN(long_words);
  return SMR_TEST_END();
}
