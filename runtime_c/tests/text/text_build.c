// SPDX-License-Identifier: Apache-2.0
// Small tokenizer tables for tests.
#include "base/fp.h"

#include "text_build.h"

#include <string.h>

#include "harness.h"

void text_build_begin(struct text_build *b) {
  memset(b, 0, sizeof *b);
  b->words[0] = SMR_TEXT_MAGIC;
  b->words[1] = SMR_TEXT_VERSION;
  b->words[SMR_TEXT_UNKNOWN] = SMR_TEXT_NONE;
}

uint32_t text_build_add(struct text_build *b, uint32_t kind, const void *data, size_t bytes,
                        uint32_t count, uint32_t extra) {
  const uint32_t row[] = {kind, (uint32_t)b->size, count, extra};
  memcpy(b->rows[b->count], row, sizeof row);
  if (bytes != 0) memcpy(b->body + b->size, data, bytes);
  b->size = (b->size + bytes + 3) / 4 * 4;
  return b->count++;
}

uint32_t text_build_blob(struct text_build *b, const char *text) {
  return text_build_add(b, SMR_TEXT_KIND_BYTES, text, strlen(text), (uint32_t)strlen(text), 0);
}

uint32_t text_build_words(struct text_build *b, const uint32_t *words, uint32_t count) {
  return text_build_add(b, SMR_TEXT_KIND_WORDS, words, (size_t)count * 4, count, 0);
}

uint32_t text_build_strings(struct text_build *b, const char *const *texts, uint32_t count) {
  static uint8_t data[4096];
  uint32_t end = 0;
  for (uint32_t k = 0; k < count; k++) {
    const uint32_t bytes = (uint32_t)strlen(texts[k]);
    memcpy(data + 4 * (size_t)count + end, texts[k], bytes);
    end += bytes;
    memcpy(data + 4 * (size_t)k, &end, 4);
  }
  return text_build_add(b, SMR_TEXT_KIND_STRINGS, data, 4 * (size_t)count + end, count, end);
}

uint32_t text_build_trie(struct text_build *b, const char *const *keys, const uint32_t *values,
                         uint32_t count, uint32_t bound) {
  // A node is a range of keys with a common start of `depth` bytes.
  enum { MOST = 256 };
  uint32_t low[MOST] = {0}, high[MOST] = {0}, depth[MOST] = {0};
  uint32_t first[MOST + 1], value[MOST] = {0};
  uint8_t label[MOST] = {0}, data[9 * MOST + 4];
  uint32_t nodes = 1;
  high[0] = count;
  for (uint32_t n = 0; n < nodes; n++) {
    uint32_t at = low[n];
    first[n] = nodes;
    if (at < high[n] && strlen(keys[at]) == depth[n]) value[n] = values[at++] + 1;
    while (at < high[n]) {
      label[nodes] = (uint8_t)keys[at][depth[n]];
      low[nodes] = at;
      depth[nodes] = depth[n] + 1;
      while (at < high[n] && (uint8_t)keys[at][depth[n]] == label[nodes]) at++;
      high[nodes++] = at;
    }
  }
  first[nodes] = nodes;
  memcpy(data, first, 4 * (size_t)(nodes + 1));
  memcpy(data + 4 * (size_t)(nodes + 1), value, 4 * (size_t)nodes);
  memcpy(data + 8 * (size_t)nodes + 4, label, nodes);
  return text_build_add(b, SMR_TEXT_KIND_TRIE, data, 9 * (size_t)nodes + 4, nodes, bound);
}

uint32_t text_build_classes(struct text_build *b, const char *const *texts, uint32_t count) {
  static uint8_t data[2 * SMR_TEXT_FIRST + 512];
  memset(data, 0, sizeof data);
  const uint16_t other = 1;
  for (size_t i = 1; i < SMR_TEXT_FIRST; i++) memcpy(data + 2 * i, &other, 2);
  for (uint32_t k = 0; k < count; k++)
    for (const char *c = texts[k]; *c != '\0'; c++)
      data[2 * SMR_TEXT_FIRST + (uint8_t)*c] = (uint8_t)(k + 1);
  return text_build_add(b, SMR_TEXT_KIND_CLASSES, data, sizeof data, 2, count + 1);
}

uint32_t text_build_set(struct text_build *b, const char *text, int runs) {
  const uint32_t classes = text_build_classes(b, &text, 1);
  const uint16_t found = SMR_TEXT_MATCH, again = runs ? 2 : found;
  const uint16_t rows[] = {0, 0, 0, 0, 2, 0, found, again, found};
  return text_build_add(b, SMR_TEXT_KIND_DFA, rows, sizeof rows, 3, classes);
}

uint32_t text_build_steps(struct text_build *b, const uint32_t *rows, uint32_t count) {
  return text_build_add(b, SMR_TEXT_KIND_STEPS, rows, (size_t)count * 16, count, 0);
}

const void *text_build_finish(struct text_build *b, size_t *size_bytes) {
  const size_t start = SMR_TEXT_HEADER + (size_t)b->count * SMR_TEXT_ROW;
  b->words[SMR_TEXT_ENTRIES] = b->count;
  b->words[SMR_TEXT_SIZE] = (uint32_t)(4 * start + b->size);
  memcpy(b->out, b->words, sizeof b->words);
  memcpy(b->out + SMR_TEXT_HEADER, b->rows, (size_t)b->count * sizeof b->rows[0]);
  for (uint32_t i = 0; i < b->count; i++)
    b->out[SMR_TEXT_HEADER + i * SMR_TEXT_ROW + 1] += (uint32_t)(4 * start);
  memcpy(b->out + start, b->body, b->size);
  *size_bytes = 4 * start + b->size;
  return b->out;
}

void text_build_small(struct text_build *b, enum smr_text_model model) {
  static const char *const tokens[] = TEXT_SMALL_TOKENS;
  static const char *const sorted[] = {"##b", "<0x63>", "?", "a", "ab", "abb", "b"};
  static const uint32_t ids[] = {7, 6, 4, 0, 1, 2, 3};
  static const char *const special[] = {"<x>"};
  static const char *const kinds[] = {"abcdefghijklmnopqrstuvwxyz", " \n"};
  static const uint8_t flags[] = {1, 1, 1, 1, 1, 3, 1, 1};
  static const uint32_t none = 0, id = TEXT_SMALL_SPECIAL;
  static const uint32_t added[] = {TEXT_SMALL_SPECIAL, SMR_TEXT_IS_SPECIAL};
  text_build_begin(b);
  uint32_t *w = b->words;
  w[SMR_TEXT_MODEL] = model;
  w[SMR_TEXT_VOCABULARY] = TEXT_SMALL_COUNT;
  w[SMR_TEXT_UNKNOWN] = TEXT_SMALL_UNKNOWN;
  w[SMR_TEXT_LONGEST] = 6;
  w[SMR_TEXT_TOKENS] = text_build_strings(b, tokens, TEXT_SMALL_COUNT) + 1;
  w[SMR_TEXT_TOKEN_FLAGS] =
      text_build_add(b, SMR_TEXT_KIND_BYTES, flags, sizeof flags, sizeof flags, 0) + 1;
  w[SMR_TEXT_TRIE] = text_build_trie(b, sorted, ids, 7, TEXT_SMALL_COUNT) + 1;
  w[SMR_TEXT_WORDS] = text_build_classes(b, kinds, 2) + 1;
  w[SMR_TEXT_ADDED] = text_build_words(b, added, 2) + 1;
  w[SMR_TEXT_RAW] = text_build_trie(b, special, &none, 1, 1) + 1;
  w[SMR_TEXT_NAMES] = text_build_trie(b, special, &id, 1, TEXT_SMALL_COUNT) + 1;
  const uint32_t split[] = {SMR_TEXT_OP_SPLIT, text_build_set(b, " ", 1), SMR_TEXT_REMOVED, 0};
  const uint32_t join[] = {SMR_TEXT_STAGE_JOIN, 0, 0, 0};
  w[SMR_TEXT_PRETOKENIZER] = text_build_steps(b, split, 1) + 1;
  w[SMR_TEXT_DECODER] = text_build_steps(b, join, 1) + 1;
  if (model == SMR_TEXT_BPE) {
    // Ends of the rows by left id, then {right, rank, result}: a b -> ab, ab b -> abb.
    const uint32_t merges[] = {1, 2, 2, 2, 2, 2, 2, 2, 3, 0, 1, 3, 1, 2};
    w[SMR_TEXT_MERGES] = text_build_add(b, SMR_TEXT_KIND_MERGES, merges, sizeof merges, 2, 0) + 1;
  } else if (model == SMR_TEXT_UNIGRAM) {
    const double scores[] = {-1, -1.5, -2.75, -1, 0, 0, -5, -4};
    w[SMR_TEXT_SCORES] = text_build_add(b, SMR_TEXT_KIND_SCORES, scores, sizeof scores, 8, 0) + 1;
  } else if (model == SMR_TEXT_WORDPIECE) {
    w[SMR_TEXT_PREFIX] = text_build_blob(b, "##") + 1;
  }
}

samara_tokenizer *text_build_open(struct text_build *b) {
  size_t bytes;
  samara_tokenizer *tokenizer = NULL;
  samara_error error = {SAMARA_OK, ""};
  const void *table = text_build_finish(b, &bytes);
  CHECK_EQ_INT(samara_tokenizer_open(table, bytes, NULL, &tokenizer, &error), SAMARA_OK);
  CHECK_STR(error.text, "");
  return tokenizer;
}
