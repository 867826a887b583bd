// SPDX-License-Identifier: Apache-2.0
// Tokenizer tables: a sound one opens, and every damage that matters is refused.
#include "base/fp.h"

#include <string.h>

#include "harness.h"
#include "text_build.h"

static struct text_build built;

static samara_status open_of(struct text_build *b, samara_error *error) {
  struct smr_text_table table;
  size_t bytes;
  const void *data = text_build_finish(b, &bytes);
  return smr_text_table_open(data, bytes, &table, error);
}

SMR_TEST(sound_tables_open) {
  for (uint32_t model = SMR_TEXT_BPE; model <= SMR_TEXT_WORDLEVEL; model++) {
    samara_error error = {SAMARA_OK, ""};
    text_build_small(&built, (enum smr_text_model)model);
    CHECK_EQ_INT(open_of(&built, &error), SAMARA_OK);
    CHECK_STR(error.text, "");
  }
}

SMR_TEST(parts_are_found) {
  text_build_small(&built, SMR_TEXT_UNIGRAM);
  struct smr_text_table table;
  size_t bytes, count;
  const void *data = text_build_finish(&built, &bytes);
  CHECK_EQ_INT(smr_text_table_open(data, bytes, &table, NULL), SAMARA_OK);
  CHECK(table.least == -5);
  const struct smr_text_strings tokens = smr_text_strings_of(&table, SMR_TEXT_TOKENS);
  const struct smr_text_bytes token = smr_text_string(&tokens, 2);
  CHECK(token.size == 3 && memcmp(token.data, "abb", 3) == 0);
  CHECK_EQ_INT(smr_text_bytes_of(&table, SMR_TEXT_PREFIX).size, 0);
  const uint32_t *steps = smr_text_steps_of(&table, SMR_TEXT_PRETOKENIZER, &count);
  CHECK(count == 1 && steps[0] == SMR_TEXT_OP_SPLIT);
  CHECK_EQ_INT(smr_text_dfa_at(&table, steps[1]).width, 3);
}

// Each case damages one word of a sound table of byte pairs.
SMR_TEST(damaged_headers_are_refused) {
  static const uint32_t damage[][2] = {
      {SMR_TEXT_MODEL, 0},
      {SMR_TEXT_MODEL, 9},
      {SMR_TEXT_MODEL, SMR_TEXT_UNIGRAM},
      {SMR_TEXT_FLAGS, 8},
      {SMR_TEXT_FLAGS, SMR_TEXT_BYTE_FALLBACK},
      {SMR_TEXT_VOCABULARY, 7},
      {SMR_TEXT_UNKNOWN, 8},
      {SMR_TEXT_TOKENS, 0},
      {SMR_TEXT_TOKENS, 200},
      {SMR_TEXT_TOKENS, 2},
      {SMR_TEXT_TRIE, 0},
      {SMR_TEXT_WORDS, 0},
      {SMR_TEXT_DECODER, 0},
      {SMR_TEXT_MERGES, 0},
      {SMR_TEXT_RAW, 3},
      {SMR_TEXT_WORD_COUNT, 1},
  };
  for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
    samara_error error = {SAMARA_OK, ""};
    text_build_small(&built, SMR_TEXT_BPE);
    built.words[damage[i][0]] = damage[i][1];
    if (!CHECK_EQ_INT(open_of(&built, &error), SAMARA_BAD_MODEL)) fprintf(stderr, "case %zu\n", i);
    CHECK(strstr(error.text, "tokenizer table") != NULL);
  }
}

// Damages words inside of entries: {word of the header, word of its data, value}.
SMR_TEST(damaged_entries_are_refused) {
  static const uint32_t damage[][3] = {
      {SMR_TEXT_TOKENS, 1, 0},     // ends of strings run backwards
      {SMR_TEXT_TOKENS, 7, 99},    // behind the bytes
      {SMR_TEXT_TOKENS, 8, 0xff},  // not UTF-8
      {SMR_TEXT_TRIE, 0, 0},       // the root is its own child
      {SMR_TEXT_TRIE, 3, 1},       // children before their parent
      {SMR_TEXT_MERGES, 2, 9},     // rows behind the last one
      {SMR_TEXT_MERGES, 10, 8},    // an id
      {SMR_TEXT_ADDED, 0, 8},      // an id
      {SMR_TEXT_WORDS, 1, 2},      // a block
      {SMR_TEXT_WORDS, 0x880, 3},  // a class
      {SMR_TEXT_PRETOKENIZER, 0, 0}, {SMR_TEXT_PRETOKENIZER, 0, 99},
      {SMR_TEXT_PRETOKENIZER, 1, 0},  // not an automaton
      {SMR_TEXT_PRETOKENIZER, 2, 5}, {SMR_TEXT_PRETOKENIZER, 3, 2},
      {SMR_TEXT_DECODER, 0, 9},      {SMR_TEXT_DECODER, 1, 1},
  };
  for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
    samara_error error = {SAMARA_OK, ""};
    text_build_small(&built, SMR_TEXT_BPE);
    const uint32_t entry = built.words[damage[i][0]] - 1;
    memcpy(built.body + built.rows[entry][1] + 4 * (size_t)damage[i][1], &damage[i][2], 4);
    if (!CHECK_EQ_INT(open_of(&built, &error), SAMARA_BAD_MODEL)) fprintf(stderr, "case %zu\n", i);
  }
}

SMR_TEST(damaged_automata_are_refused) {
  static const uint16_t damage[][2] = {{4, 3}, {4, SMR_TEXT_MATCH}, {3, SMR_TEXT_MATCH | 2}};
  for (size_t i = 0; i < 3; i++) {
    text_build_small(&built, SMR_TEXT_BPE);
    for (uint32_t k = 0; k < built.count; k++)
      if (built.rows[k][0] == SMR_TEXT_KIND_DFA)
        memcpy(built.body + built.rows[k][1] + 2 * (size_t)damage[i][0], &damage[i][1], 2);
    CHECK_EQ_INT(open_of(&built, NULL), SAMARA_BAD_MODEL);
  }
}

SMR_TEST(entries_outside_are_refused) {
  for (uint32_t k = 0; k < 12; k++)
    for (int what = 0; what < 4; what++) {
      static const uint32_t values[] = {99, 0x7ffffffc, UINT32_MAX, UINT32_MAX};
      text_build_small(&built, SMR_TEXT_BPE);
      built.rows[k][what] = values[what];
      const samara_status status = open_of(&built, NULL);
      // `extra` of a list of bytes or words has no meaning.
      const uint32_t kind = built.rows[k][0];
      const int free = what == 3 && (kind == SMR_TEXT_KIND_BYTES || kind == SMR_TEXT_KIND_WORDS ||
                                     kind == SMR_TEXT_KIND_MERGES || kind == SMR_TEXT_KIND_STEPS);
      CHECK_EQ_INT(status, free ? SAMARA_OK : SAMARA_BAD_MODEL);
    }
}

SMR_TEST(what_is_no_table) {
  struct smr_text_table table;
  samara_error error;
  size_t bytes;
  text_build_small(&built, SMR_TEXT_BPE);
  const uint8_t *data = (const uint8_t *)text_build_finish(&built, &bytes);
  CHECK_EQ_INT(smr_text_table_open(NULL, 0, &table, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(smr_text_table_open(data + 1, bytes - 1, &table, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(smr_text_table_open(data + 4, bytes - 4, &table, &error), SAMARA_BAD_MODEL);
  CHECK_EQ_INT(smr_text_table_open(data, 100, &table, &error), SAMARA_BAD_MODEL);
  CHECK_EQ_INT(smr_text_table_open(data, bytes - 4, &table, &error), SAMARA_BAD_MODEL);
  built.out[1] = 2;
  CHECK_EQ_INT(smr_text_table_open(data, bytes, &table, &error), SAMARA_BAD_VERSION);
  CHECK(strstr(error.text, "version 2") != NULL);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(sound_tables_open);
  RUN(parts_are_found);
  RUN(damaged_headers_are_refused);
  RUN(damaged_entries_are_refused);
  RUN(damaged_automata_are_refused);
  RUN(entries_outside_are_refused);
  RUN(what_is_no_table);
  return SMR_TEST_END();
}
