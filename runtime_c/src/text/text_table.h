/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a tokenizer: its layout, its verification, and access to its parts.
 *
 * docs/reference/format.md describes the layout. samara.exporter.text writes it. After
 * smr_text_table_open, reads stay inside of the table whatever its content.
 */
#ifndef SMR_TEXT_TEXT_TABLE_H_
#define SMR_TEXT_TEXT_TABLE_H_

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SMR_TEXT_MAGIC UINT32_C(0x4b544d53)  // "SMTK"
#define SMR_TEXT_NONE UINT32_MAX

enum {
  SMR_TEXT_VERSION = 1,
  SMR_TEXT_HEADER = 32,     // words
  SMR_TEXT_ROW = 4,         // words of an entry and of a step
  SMR_TEXT_STEPS = 32,      // most steps of a list
  SMR_TEXT_DEPTH = 1024,    // bytes of the longest token
  SMR_TEXT_FIRST = 0x1100,  // blocks of 256 code points
  SMR_TEXT_MATCH = 1 << 15,
};

/// Words of the header. Those from SMR_TEXT_TOKENS on are entries: index + 1, or 0 for none.
enum smr_text_word {
  SMR_TEXT_SIZE = 2,
  SMR_TEXT_ENTRIES = 3,
  SMR_TEXT_MODEL = 4,
  SMR_TEXT_FLAGS = 5,
  SMR_TEXT_VOCABULARY = 6,  // ids are below
  SMR_TEXT_UNKNOWN = 7,     // id, or SMR_TEXT_NONE
  SMR_TEXT_LONGEST = 8,     // characters of a word (WordPiece)
  SMR_TEXT_TOKENS = 9,      // STRINGS by id
  SMR_TEXT_TOKEN_FLAGS,     // BYTES by id
  SMR_TEXT_TRIE,            // TRIE of the model's tokens
  SMR_TEXT_MERGES,
  SMR_TEXT_SCORES,
  SMR_TEXT_PREFIX,        // BYTES before tokens that continue a word
  SMR_TEXT_SUFFIX,        // BYTES behind the last character of a word
  SMR_TEXT_ADDED,         // WORDS: id and flags of added tokens
  SMR_TEXT_RAW,           // TRIE of added tokens in the text as given
  SMR_TEXT_NORMAL,        // TRIE of added tokens in normalized text
  SMR_TEXT_NORMALIZER,    // STEPS
  SMR_TEXT_PRETOKENIZER,  // STEPS
  SMR_TEXT_DECODER,       // STEPS
  SMR_TEXT_BEFORE,        // WORDS: ids before the text
  SMR_TEXT_AFTER,         // WORDS: ids behind it
  SMR_TEXT_WORDS,         // CLASSES: 1 word character, 2 space
  SMR_TEXT_BYTE_IDS,      // WORDS: id of each byte
  SMR_TEXT_NAMES,         // TRIE of added tokens by name: ids
  SMR_TEXT_WORD_COUNT,    // words behind are 0
};

enum smr_text_model {
  SMR_TEXT_BPE = 1,
  SMR_TEXT_UNIGRAM = 2,
  SMR_TEXT_WORDPIECE = 3,
  SMR_TEXT_WORDLEVEL = 4,
};

enum smr_text_flags {
  SMR_TEXT_FUSE_UNKNOWN = 1,
  SMR_TEXT_BYTE_FALLBACK = 2,
  SMR_TEXT_IGNORE_MERGES = 4,
};

enum smr_text_token_flags {
  SMR_TEXT_EXISTS = 1,
  SMR_TEXT_SPECIAL = 2,
};

enum smr_text_added_flags {
  SMR_TEXT_SINGLE_WORD = 1,
  SMR_TEXT_LSTRIP = 2,
  SMR_TEXT_RSTRIP = 4,
  SMR_TEXT_IS_SPECIAL = 8,
};

enum smr_text_kind {
  SMR_TEXT_KIND_BYTES = 1,
  SMR_TEXT_KIND_WORDS,
  SMR_TEXT_KIND_STRINGS,
  SMR_TEXT_KIND_TRIE,
  SMR_TEXT_KIND_CLASSES,
  SMR_TEXT_KIND_MAP,
  SMR_TEXT_KIND_DFA,
  SMR_TEXT_KIND_PAIRS,
  SMR_TEXT_KIND_MERGES,
  SMR_TEXT_KIND_SCORES,
  SMR_TEXT_KIND_STEPS,
};

/// Steps of normalizers and pre-tokenizers: the operation and three operands.
enum smr_text_op {
  SMR_TEXT_OP_MAP = 1,   // MAP; 1: decompose Hangul too
  SMR_TEXT_OP_ORDER,     // CLASSES of combining classes; PAIRS + 1 to compose
  SMR_TEXT_OP_REPLACE,   // DFA; BYTES
  SMR_TEXT_OP_PREPEND,   // BYTES; 0 always, 1 unless there, 2 likewise, at the start of the text
  SMR_TEXT_OP_STRIP,     // CLASSES: 1 white; left; right
  SMR_TEXT_OP_CHARSMAP,  // DFA of graphemes; TRIE; STRINGS
  SMR_TEXT_OP_BYTES,     // every byte as a character
  SMR_TEXT_OP_AROUND,    // CLASSES: 1 stands between spaces
  SMR_TEXT_OP_SPLIT,     // DFA; enum smr_text_behaviour; 1: matches are what lies between
};

enum smr_text_behaviour {
  SMR_TEXT_REMOVED = 0,
  SMR_TEXT_ISOLATED = 1,
  SMR_TEXT_WITH_PREVIOUS = 2,
  SMR_TEXT_WITH_NEXT = 3,
  SMR_TEXT_CONTIGUOUS = 4,
};

/// Steps of decoders.
enum smr_text_stage {
  SMR_TEXT_STAGE_JOIN = 1,       // a space between tokens
  SMR_TEXT_STAGE_BYTES,          // characters as bytes
  SMR_TEXT_STAGE_METASPACE,      // BYTES that becomes a space; 1: nothing, in the first token
  SMR_TEXT_STAGE_WORDPIECE,      // BYTES of the prefix; 1: clean up
  SMR_TEXT_STAGE_BYTE_FALLBACK,  // <0xNN>
  SMR_TEXT_STAGE_FUSE,
  SMR_TEXT_STAGE_STRIP,    // BYTES of one character; most at the start; most at the end
  SMR_TEXT_STAGE_REPLACE,  // DFA; BYTES
};

/// A verified table. Points into the caller's memory.
struct smr_text_table {
  const uint32_t *words;  // the whole table
  double least;           // lowest score of a token
};

struct smr_text_bytes {
  const uint8_t *data;
  size_t size;
};
struct smr_text_words {
  const uint32_t *data;
  size_t count;
};
struct smr_text_strings {
  const uint32_t *ends;
  const uint8_t *bytes;
  uint32_t count;
};
/// Nodes in breadth-first order: the children of node n are first[n] .. first[n + 1], by label.
struct smr_text_trie {
  const uint32_t *first, *value;  // value: 0 for none, else + 1
  const uint8_t *label;
  uint32_t nodes;
};
struct smr_text_classes {
  const uint16_t *first;
  const uint8_t *blocks;
};
struct smr_text_map {
  const uint16_t *first, *blocks;
  struct smr_text_strings strings;
};
struct smr_text_dfa {
  struct smr_text_classes classes;
  const uint16_t *rows;
  uint32_t width;  // classes and the end of the text
};
/// Merges of id `a` are rows ends[a - 1] .. ends[a] of {right, rank, result}, by right.
struct smr_text_merges {
  const uint32_t *ends, *rows;
};

/// Verify `size_bytes` bytes at `data`, which must be 4-aligned and stay as they are.
samara_status smr_text_table_open(const void *data, size_t size_bytes, struct smr_text_table *out,
                                  samara_error *error);

/// A word of the header.
static inline uint32_t smr_text_word_of(const struct smr_text_table *t, enum smr_text_word word) {
  return t->words[word];
}

/// Parts by a word of the header. Empty (all zero) if there is none.
struct smr_text_bytes smr_text_bytes_of(const struct smr_text_table *t, enum smr_text_word word);
struct smr_text_words smr_text_words_of(const struct smr_text_table *t, enum smr_text_word word);
struct smr_text_strings smr_text_strings_of(const struct smr_text_table *t,
                                            enum smr_text_word word);
struct smr_text_trie smr_text_trie_of(const struct smr_text_table *t, enum smr_text_word word);
struct smr_text_classes smr_text_classes_of(const struct smr_text_table *t,
                                            enum smr_text_word word);
struct smr_text_merges smr_text_merges_of(const struct smr_text_table *t);
const uint8_t *smr_text_scores_of(const struct smr_text_table *t, size_t *count);

/// Steps: *count rows of SMR_TEXT_ROW words.
const uint32_t *smr_text_steps_of(const struct smr_text_table *t, enum smr_text_word word,
                                  size_t *count);
/// Parts by index, as operands of steps name them.
struct smr_text_bytes smr_text_bytes_at(const struct smr_text_table *t, uint32_t index);
struct smr_text_strings smr_text_strings_at(const struct smr_text_table *t, uint32_t index);
struct smr_text_trie smr_text_trie_at(const struct smr_text_table *t, uint32_t index);
struct smr_text_classes smr_text_classes_at(const struct smr_text_table *t, uint32_t index);
struct smr_text_map smr_text_map_at(const struct smr_text_table *t, uint32_t index);
struct smr_text_dfa smr_text_dfa_at(const struct smr_text_table *t, uint32_t index);
struct smr_text_words smr_text_pairs_at(const struct smr_text_table *t, uint32_t index);

/// Score `k`.
static inline double smr_text_score(const uint8_t *scores, size_t k) {
  double value;
  memcpy(&value, scores + 8 * k, sizeof value);
  return value;
}

/// String `k` of a list.
struct smr_text_bytes smr_text_string(const struct smr_text_strings *strings, uint32_t k);

#endif /* SMR_TEXT_TEXT_TABLE_H_ */
