// SPDX-License-Identifier: Apache-2.0
// Steps that change a text. Those that need much of Unicode are tested by the recorded tokenizers
// (tests/exporter/text/test_tokenizer.py).
#include "base/fp.h"

#include <string.h>

#include "harness.h"
#include "text_build.h"

static struct text_build built;

static const char *normal_of(const uint32_t *step, const char *text) {
  static char out[256];
  size_t size = 0;
  built.words[SMR_TEXT_NORMALIZER] = text_build_steps(&built, step, 1) + 1;
  samara_tokenizer *tokenizer = text_build_open(&built);
  if (tokenizer == NULL) return "";
  CHECK_EQ_INT(
      samara_tokenizer_normalize(tokenizer, text, strlen(text), out, sizeof out - 1, &size, NULL),
      SAMARA_OK);
  out[size < sizeof out ? size : sizeof out - 1] = '\0';
  samara_tokenizer_close(tokenizer);
  return out;
}

SMR_TEST(replacing) {
  text_build_small(&built, SMR_TEXT_BPE);
  const uint32_t step[] = {SMR_TEXT_OP_REPLACE, text_build_set(&built, " ", 1),
                           text_build_blob(&built, "__"), 0};
  CHECK_STR(normal_of(step, " a  b "), "__a__b__");
  CHECK_STR(normal_of(step, ""), "");
}

SMR_TEST(prepending) {
  text_build_small(&built, SMR_TEXT_BPE);
  uint32_t step[] = {SMR_TEXT_OP_PREPEND, text_build_blob(&built, "_"), 0, 0};
  CHECK_STR(normal_of(step, "_a"), "__a");
  CHECK_STR(normal_of(step, ""), "");
  step[2] = 1;
  CHECK_STR(normal_of(step, "_a"), "_a");
  CHECK_STR(normal_of(step, "a"), "_a");
}

SMR_TEST(stripping) {
  static const char *const white[] = {" \n"};
  text_build_small(&built, SMR_TEXT_BPE);
  uint32_t step[] = {SMR_TEXT_OP_STRIP, text_build_classes(&built, white, 1), 1, 1};
  CHECK_STR(normal_of(step, " \na \xc3\xa9 "), "a \xc3\xa9");
  CHECK_STR(normal_of(step, "  "), "");
  step[3] = 0;
  CHECK_STR(normal_of(step, " a "), "a ");
  step[2] = 0, step[3] = 1;
  CHECK_STR(normal_of(step, " a "), " a");
}

SMR_TEST(spaces_around) {
  static const char *const apart[] = {"+"};
  text_build_small(&built, SMR_TEXT_BPE);
  const uint32_t step[] = {SMR_TEXT_OP_AROUND, text_build_classes(&built, apart, 1), 0, 0};
  CHECK_STR(normal_of(step, "a+b"), "a + b");
}

SMR_TEST(bytes_as_characters) {
  text_build_small(&built, SMR_TEXT_BPE);
  const uint32_t step[] = {SMR_TEXT_OP_BYTES, 0, 0, 0};
  CHECK_STR(normal_of(step, "a \n\x7f\xc2\xad"), "a\xc4\xa0\xc4\x8a\xc4\xa1\xc3\x82\xc5\x83");
}

// Hangul needs no data: syllables are taken apart and put together by arithmetic.
SMR_TEST(hangul) {
  static uint8_t map[2 * SMR_TEXT_FIRST + 512];
  static const char *const none[] = {""};
  static const uint8_t nothing = 0;
  text_build_small(&built, SMR_TEXT_BPE);
  const uint32_t strings = text_build_strings(&built, none, 0);
  const uint32_t empty = text_build_add(&built, SMR_TEXT_KIND_MAP, map, sizeof map, 1, strings);
  const uint32_t apart[] = {SMR_TEXT_OP_MAP, empty, 1, 0};
  CHECK_STR(normal_of(apart, "\xed\x95\x9c"), "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
  const uint32_t pairs = text_build_add(&built, SMR_TEXT_KIND_PAIRS, &nothing, 0, 0, 0);
  const uint32_t together[] = {SMR_TEXT_OP_ORDER, text_build_classes(&built, none, 1), pairs + 1,
                               0};
  CHECK_STR(normal_of(together, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), "\xed\x95\x9c");
}

// With the classes of tests, a and b are combining characters of classes 2 and 1.
SMR_TEST(order_and_composition) {
  static const char *const kinds[] = {"b", "a"};
  static const uint32_t rows[] = {'x', 'a', 'y', 'x', 'b', 'z'};
  text_build_small(&built, SMR_TEXT_BPE);
  const uint32_t classes = text_build_classes(&built, kinds, 2);
  uint32_t step[] = {SMR_TEXT_OP_ORDER, classes, 0, 0};
  CHECK_STR(normal_of(step, "xabab c"), "xbbaa c");
  step[2] = text_build_add(&built, SMR_TEXT_KIND_PAIRS, rows, sizeof rows, 2, 0) + 1;
  CHECK_STR(normal_of(step, "xa"), "y");
  // b comes first; z has no pair with a.
  CHECK_STR(normal_of(step, "xab"), "za");
  CHECK_STR(normal_of(step, "a"), "a");
}

// Steps that each double the text end at a limit.
SMR_TEST(growth_is_limited) {
  static char text[1 << 14];
  memset(text, ' ', sizeof text);
  uint32_t steps[SMR_TEXT_STEPS * SMR_TEXT_ROW];
  text_build_small(&built, SMR_TEXT_BPE);
  const uint32_t dfa = text_build_set(&built, " ", 0), twice = text_build_blob(&built, "  ");
  for (size_t i = 0; i < SMR_TEXT_STEPS; i++) {
    const uint32_t step[] = {SMR_TEXT_OP_REPLACE, dfa, twice, 0};
    memcpy(steps + i * SMR_TEXT_ROW, step, sizeof step);
  }
  built.words[SMR_TEXT_NORMALIZER] = text_build_steps(&built, steps, SMR_TEXT_STEPS) + 1;
  samara_tokenizer *tokenizer = text_build_open(&built);
  samara_error error;
  size_t size = 77;
  CHECK_EQ_INT(samara_tokenizer_normalize(tokenizer, text, sizeof text, NULL, 0, &size, &error),
               SAMARA_LIMIT);
  CHECK(strstr(error.text, "makes more than") != NULL && size == 77);
  samara_tokenizer_close(tokenizer);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(replacing);
  RUN(prepending);
  RUN(stripping);
  RUN(spaces_around);
  RUN(bytes_as_characters);
  RUN(hangul);
  RUN(order_and_composition);
  RUN(growth_is_limited);
  return SMR_TEST_END();
}
