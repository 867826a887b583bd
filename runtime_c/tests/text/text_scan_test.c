// SPDX-License-Identifier: Apache-2.0
// Reading text: UTF-8, buffers, tries, automata.
#include "base/fp.h"

#include "text/text_scan.h"

#include <string.h>

#include "harness.h"
#include "text_build.h"

static struct text_build built;

SMR_TEST(code_points_round_trip) {
  for (uint32_t point = 0; point < 0x110000; point++) {
    if (point >> 11 == 0x1b) continue;  // surrogates
    uint8_t bytes[4];
    const size_t size = smr_utf8_write(point, bytes);
    if (size != smr_utf8_bytes(bytes[0]) || smr_utf8_read(bytes) != point ||
        smr_utf8_valid(bytes, size) != size || smr_utf8_valid(bytes, size - 1) != 0)
      CHECK_EQ_INT(point, -1);
  }
}

SMR_TEST(invalid_bytes) {
  static const char *const bad[] = {"a\x80",     "a\xc1\xbf",     "a\xe0\x9f\xbf", "a\xed\xa0\x80",
                                    "a\xf0\x8f", "a\xf4\x90\x80", "a\xf5",         "a\xe1\x80z"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_EQ_INT(smr_utf8_valid((const uint8_t *)bad[i], strlen(bad[i])), 1);
}

// As Rust's from_utf8_lossy: one U+FFFD for the start of a character that is cut off.
SMR_TEST(lossy_decoding) {
  const samara_allocator memory = smr_allocator(NULL);
  struct smr_utf8_lossy lossy = {{0}, 0};
  struct smr_text_buffer out = {NULL, 0, 0};
  const char *given = "a\xe2\x82z\xf0\x9f\x99\x82\xff\xed\xa0\x80\xf0\x9f";
  for (const char *c = given; *c != '\0'; c++)
    CHECK_EQ_INT(smr_utf8_lossy_push(&lossy, (uint8_t)*c, &out, &memory, NULL), SAMARA_OK);
  CHECK_EQ_INT(smr_utf8_lossy_end(&lossy, &out, &memory, NULL), SAMARA_OK);
  CHECK_EQ_INT(smr_text_append(&out, "", 1, &memory, NULL), SAMARA_OK);
#define BAD "\xef\xbf\xbd"
  CHECK_STR((const char *)out.data, "a" BAD "z\xf0\x9f\x99\x82" BAD BAD BAD BAD BAD);
#undef BAD
  smr_release(&memory, out.data);
}

SMR_TEST(tries) {
  text_build_small(&built, SMR_TEXT_BPE);
  struct smr_text_table table;
  size_t bytes;
  const void *data = text_build_finish(&built, &bytes);
  CHECK_EQ_INT(smr_text_table_open(data, bytes, &table, NULL), SAMARA_OK);
  const struct smr_text_trie trie = smr_text_trie_of(&table, SMR_TEXT_TRIE);
  CHECK_EQ_INT(smr_text_find(&trie, (const uint8_t *)"abb", 3), 2);
  CHECK_EQ_INT(smr_text_find(&trie, (const uint8_t *)"ab", 2), 1);
  CHECK_EQ_INT(smr_text_find(&trie, (const uint8_t *)"##", 2), SMR_TEXT_NONE);
  CHECK_EQ_INT(smr_text_find(&trie, (const uint8_t *)"abbb", 4), SMR_TEXT_NONE);
  CHECK_EQ_INT(smr_text_find(&trie, (const uint8_t *)"", 0), SMR_TEXT_NONE);
  const uint32_t inner = smr_text_walk(&trie, 0, (const uint8_t *)"##", 2);
  CHECK_EQ_INT(trie.value[smr_text_child(&trie, inner, 'b')], 8);
  CHECK_EQ_INT(smr_text_walk(&trie, SMR_TEXT_NONE, (const uint8_t *)"a", 1), SMR_TEXT_NONE);
  const struct smr_text_trie none = smr_text_trie_of(&table, SMR_TEXT_NORMAL);
  CHECK_EQ_INT(smr_text_find(&none, (const uint8_t *)"a", 1), SMR_TEXT_NONE);
}

SMR_TEST(searches) {
  text_build_small(&built, SMR_TEXT_BPE);
  const uint32_t one = text_build_set(&built, "ab", 0), runs = text_build_set(&built, "ab", 1);
  struct smr_text_table table;
  size_t bytes, start, end, found = 0, read = 0;
  bool more;
  const void *data = text_build_finish(&built, &bytes);
  CHECK_EQ_INT(smr_text_table_open(data, bytes, &table, NULL), SAMARA_OK);
  const uint8_t *text = (const uint8_t *)"xaab\xc3\xa9 b";
  struct smr_text_search s = {smr_text_dfa_at(&table, one), text, 8, 0, 0};
  while (smr_text_next(&s, &start, &end, &more, NULL) == SAMARA_OK && more) {
    CHECK_EQ_INT(end - start, 1);
    found++;
  }
  CHECK_EQ_INT(found, 4);
  s = (struct smr_text_search){smr_text_dfa_at(&table, runs), text, 8, 0, 0};
  CHECK_EQ_INT(smr_text_next(&s, &start, &end, &more, NULL), SAMARA_OK);
  CHECK(more && start == 1 && end == 4);
  CHECK_EQ_INT(smr_text_next(&s, &start, &end, &more, NULL), SAMARA_OK);
  CHECK(more && start == 7 && end == 8);
  CHECK_EQ_INT(smr_text_next(&s, &start, &end, &more, NULL), SAMARA_OK);
  CHECK(!more);
  CHECK_EQ_INT(smr_text_match(&s.dfa, text, 8, &read), 0);
}

// a*b over a text of only a reads it to its end from every position.
SMR_TEST(a_slow_expression_is_refused) {
  static uint8_t text[1 << 12];
  memset(text, 'a', sizeof text);
  text_build_small(&built, SMR_TEXT_BPE);
  static const char *const kinds[] = {"a", "b"};
  const uint32_t classes = text_build_classes(&built, kinds, 2);
  const uint16_t found = SMR_TEXT_MATCH;
  const uint16_t rows[] = {0, 0, 0, 0, 0, 1, 2, 0, found, found, found, found};
  const uint32_t dfa = text_build_add(&built, SMR_TEXT_KIND_DFA, rows, sizeof rows, 3, classes);
  struct smr_text_table table;
  samara_error error;
  size_t bytes, start, end;
  bool more;
  const void *data = text_build_finish(&built, &bytes);
  CHECK_EQ_INT(smr_text_table_open(data, bytes, &table, NULL), SAMARA_OK);
  struct smr_text_search s = {smr_text_dfa_at(&table, dfa), text, sizeof text, 0, 0};
  CHECK_EQ_INT(smr_text_next(&s, &start, &end, &more, &error), SAMARA_LIMIT);
  CHECK(strstr(error.text, "64 times") != NULL);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(code_points_round_trip);
  RUN(invalid_bytes);
  RUN(lossy_decoding);
  RUN(tries);
  RUN(searches);
  RUN(a_slow_expression_is_refused);
  return SMR_TEST_END();
}
