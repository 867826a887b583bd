// SPDX-License-Identifier: Apache-2.0
// Small tokenizer tables for tests, built in memory.
#ifndef SMR_TESTS_TEXT_BUILD_H
#define SMR_TESTS_TEXT_BUILD_H

#include <samara/samara_text.h>

#include <stddef.h>
#include <stdint.h>

#include "text/text_table.h"

enum { TEXT_BUILD_ENTRIES = 48, TEXT_BUILD_BYTES = 1 << 17 };

/// A table that grows by entries. Large: keep it static.
struct text_build {
  uint32_t words[SMR_TEXT_HEADER];
  uint32_t rows[TEXT_BUILD_ENTRIES][SMR_TEXT_ROW];
  uint32_t count;
  uint8_t body[TEXT_BUILD_BYTES];
  size_t size;
  uint32_t out[TEXT_BUILD_BYTES / 4];
};

void text_build_begin(struct text_build *b);
/// Add an entry; returns its index.
uint32_t text_build_add(struct text_build *b, uint32_t kind, const void *data, size_t bytes,
                        uint32_t count, uint32_t extra);
uint32_t text_build_blob(struct text_build *b, const char *text);
uint32_t text_build_words(struct text_build *b, const uint32_t *words, uint32_t count);
uint32_t text_build_strings(struct text_build *b, const char *const *texts, uint32_t count);
/// Keys in the order of their bytes.
uint32_t text_build_trie(struct text_build *b, const char *const *keys, const uint32_t *values,
                         uint32_t count, uint32_t bound);
/// Class k + 1 has the ASCII characters of texts[k]; class 0 all others.
uint32_t text_build_classes(struct text_build *b, const char *const *texts, uint32_t count);
/// The automaton of one character of `text`, or of runs of them.
uint32_t text_build_set(struct text_build *b, const char *text, int runs);
uint32_t text_build_steps(struct text_build *b, const uint32_t *rows, uint32_t count);
/// The table; *size_bytes is its length.
const void *text_build_finish(struct text_build *b, size_t *size_bytes);

/// Tokens of the small tokenizers: ids are positions.
#define TEXT_SMALL_TOKENS {"a", "ab", "abb", "b", "?", "<x>", "<0x63>", "##b"}
enum { TEXT_SMALL_COUNT = 8, TEXT_SMALL_UNKNOWN = 4, TEXT_SMALL_SPECIAL = 5 };

/// A tokenizer with these tokens: words are split at spaces, <x> is special, tokens are joined by
/// spaces. Add to it before text_build_finish.
void text_build_small(struct text_build *b, enum smr_text_model model);

/// Open it; NULL after a failure, which is reported as a failed check.
samara_tokenizer *text_build_open(struct text_build *b);

#endif
