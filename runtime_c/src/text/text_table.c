// SPDX-License-Identifier: Apache-2.0
// Verification of a tokenizer's table, and access to its parts.
#include "base/fp.h"

#include "text/text_table.h"

#include <string.h>

#include "text/text_scan.h"

enum {
  ENTRY_KIND,
  ENTRY_OFFSET,
  ENTRY_COUNT,
  ENTRY_EXTRA,
};

static const uint32_t *text_entry(const struct smr_text_table *t, uint32_t index) {
  return t->words + SMR_TEXT_HEADER + (size_t)index * SMR_TEXT_ROW;
}

static const void *text_data(const struct smr_text_table *t, const uint32_t *entry) {
  return (const uint8_t *)t->words + entry[ENTRY_OFFSET];
}

static uint32_t text_extra(const struct smr_text_table *t, uint32_t index) {
  return text_entry(t, index)[ENTRY_EXTRA];
}

// ---- access ----

struct smr_text_bytes smr_text_bytes_at(const struct smr_text_table *t, uint32_t index) {
  const uint32_t *e = text_entry(t, index);
  return (struct smr_text_bytes){(const uint8_t *)text_data(t, e), e[ENTRY_COUNT]};
}

struct smr_text_strings smr_text_strings_at(const struct smr_text_table *t, uint32_t index) {
  const uint32_t *e = text_entry(t, index), *ends = (const uint32_t *)text_data(t, e);
  const uint32_t count = e[ENTRY_COUNT];
  return (struct smr_text_strings){ends, (const uint8_t *)(ends + count), count};
}

struct smr_text_trie smr_text_trie_at(const struct smr_text_table *t, uint32_t index) {
  const uint32_t *e = text_entry(t, index), *first = (const uint32_t *)text_data(t, e);
  const size_t nodes = e[ENTRY_COUNT];
  return (struct smr_text_trie){first, first + nodes + 1, (const uint8_t *)(first + 2 * nodes + 1),
                                (uint32_t)nodes};
}

struct smr_text_classes smr_text_classes_at(const struct smr_text_table *t, uint32_t index) {
  const uint16_t *first = (const uint16_t *)text_data(t, text_entry(t, index));
  return (struct smr_text_classes){first, (const uint8_t *)(first + SMR_TEXT_FIRST)};
}

struct smr_text_map smr_text_map_at(const struct smr_text_table *t, uint32_t index) {
  const uint16_t *first = (const uint16_t *)text_data(t, text_entry(t, index));
  return (struct smr_text_map){first, first + SMR_TEXT_FIRST,
                               smr_text_strings_at(t, text_extra(t, index))};
}

struct smr_text_dfa smr_text_dfa_at(const struct smr_text_table *t, uint32_t index) {
  const uint32_t classes = text_extra(t, index);
  return (struct smr_text_dfa){smr_text_classes_at(t, classes),
                               (const uint16_t *)text_data(t, text_entry(t, index)),
                               text_extra(t, classes) + 1};
}

struct smr_text_words smr_text_pairs_at(const struct smr_text_table *t, uint32_t index) {
  const uint32_t *e = text_entry(t, index);
  return (struct smr_text_words){(const uint32_t *)text_data(t, e), e[ENTRY_COUNT]};
}

struct smr_text_bytes smr_text_bytes_of(const struct smr_text_table *t, enum smr_text_word word) {
  const uint32_t k = t->words[word];
  return k != 0 ? smr_text_bytes_at(t, k - 1) : (struct smr_text_bytes){NULL, 0};
}

struct smr_text_words smr_text_words_of(const struct smr_text_table *t, enum smr_text_word word) {
  const uint32_t k = t->words[word];
  return k != 0 ? smr_text_pairs_at(t, k - 1) : (struct smr_text_words){NULL, 0};
}

struct smr_text_strings smr_text_strings_of(const struct smr_text_table *t,
                                            enum smr_text_word word) {
  const uint32_t k = t->words[word];
  return k != 0 ? smr_text_strings_at(t, k - 1) : (struct smr_text_strings){NULL, NULL, 0};
}

struct smr_text_trie smr_text_trie_of(const struct smr_text_table *t, enum smr_text_word word) {
  const uint32_t k = t->words[word];
  return k != 0 ? smr_text_trie_at(t, k - 1) : (struct smr_text_trie){NULL, NULL, NULL, 0};
}

struct smr_text_classes smr_text_classes_of(const struct smr_text_table *t,
                                            enum smr_text_word word) {
  return smr_text_classes_at(t, t->words[word] - 1);
}

struct smr_text_merges smr_text_merges_of(const struct smr_text_table *t) {
  const uint32_t *ends =
      (const uint32_t *)text_data(t, text_entry(t, t->words[SMR_TEXT_MERGES] - 1));
  return (struct smr_text_merges){ends, ends + t->words[SMR_TEXT_VOCABULARY]};
}

const uint8_t *smr_text_scores_of(const struct smr_text_table *t, size_t *count) {
  const uint32_t *e = text_entry(t, t->words[SMR_TEXT_SCORES] - 1);
  *count = e[ENTRY_COUNT];
  return (const uint8_t *)text_data(t, e);
}

const uint32_t *smr_text_steps_of(const struct smr_text_table *t, enum smr_text_word word,
                                  size_t *count) {
  const struct smr_text_words rows = smr_text_words_of(t, word);
  *count = rows.count;
  return rows.data;
}

struct smr_text_bytes smr_text_string(const struct smr_text_strings *strings, uint32_t k) {
  const uint32_t start = k == 0 ? 0 : strings->ends[k - 1];
  return (struct smr_text_bytes){strings->bytes + start, strings->ends[k] - start};
}

// ---- verification ----

// What is being verified.
struct text_check {
  struct smr_text_table table;
  size_t size;
  uint32_t entries;
};

#define TEXT_NEED(condition, what)                                                            \
  do {                                                                                        \
    if (!(condition)) SMR_FAIL(error, BAD_MODEL, "tokenizer table: %s (entry %u)", what, at); \
  } while (0)

// Bytes of an entry's data. Counts are below 2^32, so 64 bits hold every sum.
static uint64_t text_data_bytes(const uint32_t *e, uint32_t vocabulary) {
  const uint64_t count = e[ENTRY_COUNT];
  switch (e[ENTRY_KIND]) {
    case SMR_TEXT_KIND_BYTES:
      return count;
    case SMR_TEXT_KIND_WORDS:
      return 4 * count;
    case SMR_TEXT_KIND_STRINGS:
      return 4 * count + e[ENTRY_EXTRA];
    case SMR_TEXT_KIND_TRIE:
      return 9 * count + 4;
    case SMR_TEXT_KIND_CLASSES:
      return 2 * SMR_TEXT_FIRST + 256 * count;
    case SMR_TEXT_KIND_MAP:
      return 2 * SMR_TEXT_FIRST + 512 * count;
    case SMR_TEXT_KIND_PAIRS:
      return 12 * count;
    case SMR_TEXT_KIND_MERGES:
      return 4 * (uint64_t)vocabulary + 12 * count;
    case SMR_TEXT_KIND_SCORES:
      return 8 * count;
    case SMR_TEXT_KIND_STEPS:
      return 4 * SMR_TEXT_ROW * count;
    default:
      return 0;  // a DFA: its width is known later
  }
}

static samara_status text_check_range(const struct text_check *c, uint32_t at, uint64_t bytes,
                                      samara_error *error) {
  const uint32_t offset = text_entry(&c->table, at)[ENTRY_OFFSET];
  TEXT_NEED(offset % 4 == 0 && offset <= c->size && bytes <= c->size - offset,
            "data outside of the table");
  return SAMARA_OK;
}

static bool text_is_kind(const struct text_check *c, uint32_t index, uint32_t kind) {
  return index < c->entries && text_entry(&c->table, index)[ENTRY_KIND] == kind;
}

static bool text_blocks_inside(const uint16_t *first, uint32_t blocks) {
  bool ok = true;
  for (int i = 0; i < SMR_TEXT_FIRST; i++) ok &= first[i] < blocks;
  return ok;
}

static samara_status text_check_strings(const struct text_check *c, uint32_t at,
                                        samara_error *error) {
  const struct smr_text_strings s = smr_text_strings_at(&c->table, at);
  uint32_t end = 0;
  for (uint32_t k = 0; k < s.count; k++) {
    TEXT_NEED(s.ends[k] >= end && s.ends[k] <= text_extra(&c->table, at), "a string's end");
    TEXT_NEED(smr_utf8_valid(s.bytes + end, s.ends[k] - end) == s.ends[k] - end,
              "a string that is not UTF-8");
    end = s.ends[k];
  }
  return SAMARA_OK;
}

static samara_status text_check_trie(const struct text_check *c, uint32_t at, samara_error *error) {
  const struct smr_text_trie trie = smr_text_trie_at(&c->table, at);
  const uint32_t bound = text_extra(&c->table, at);
  TEXT_NEED(trie.nodes >= 1 && trie.first[0] == 1 && trie.first[trie.nodes] == trie.nodes,
            "the ends of a trie");
  for (uint32_t n = 0; n < trie.nodes; n++) {
    // Children lie behind their parent, so that a walk ends.
    TEXT_NEED(
        trie.first[n] > n && trie.first[n] <= trie.first[n + 1] && trie.first[n + 1] <= trie.nodes,
        "children in a trie");
    TEXT_NEED(trie.value[n] <= bound, "a value in a trie");
  }
  uint32_t depth = 0;
  // The children of all nodes before `next` end where those of `next` begin: the next level.
  for (uint32_t next = 1; next < trie.nodes && depth <= SMR_TEXT_DEPTH; depth++)
    next = trie.first[next];
  TEXT_NEED(depth <= SMR_TEXT_DEPTH, "a trie that is too deep");
  return SAMARA_OK;
}

static samara_status text_check_dfa(const struct text_check *c, uint32_t at, samara_error *error) {
  const uint32_t *e = text_entry(&c->table, at);
  const uint64_t states = e[ENTRY_COUNT];
  TEXT_NEED(text_is_kind(c, e[ENTRY_EXTRA], SMR_TEXT_KIND_CLASSES), "the classes of an automaton");
  const uint64_t width = text_extra(&c->table, e[ENTRY_EXTRA]) + (uint64_t)1;
  TEXT_NEED(states >= 2 && states < SMR_TEXT_MATCH && width <= 257, "the size of an automaton");
  SMR_TRY(text_check_range(c, at, 2 * states * width, error));
  const uint16_t *rows = (const uint16_t *)text_data(&c->table, e);
  bool ok = true;
  for (uint64_t i = 0; i < states * width; i++) ok &= (rows[i] & ~SMR_TEXT_MATCH) < (int)states;
  TEXT_NEED(ok, "a state of an automaton");
  // The empty text is never found, so that every search moves on.
  for (uint64_t i = 0; i < width; i++) ok &= rows[width + i] < SMR_TEXT_MATCH;
  TEXT_NEED(ok, "an automaton that finds the empty text");
  return SAMARA_OK;
}

static samara_status text_check_classes(const struct text_check *c, uint32_t at,
                                        samara_error *error) {
  const struct smr_text_classes s = smr_text_classes_at(&c->table, at);
  const uint32_t *e = text_entry(&c->table, at);
  TEXT_NEED(text_blocks_inside(s.first, e[ENTRY_COUNT]), "a block of classes");
  bool ok = e[ENTRY_EXTRA] <= 256;
  for (size_t i = 0; i < (size_t)e[ENTRY_COUNT] * 256; i++) ok &= s.blocks[i] < e[ENTRY_EXTRA];
  TEXT_NEED(ok, "a class");
  return SAMARA_OK;
}

static samara_status text_check_map(const struct text_check *c, uint32_t at, samara_error *error) {
  const uint32_t *e = text_entry(&c->table, at);
  TEXT_NEED(text_is_kind(c, e[ENTRY_EXTRA], SMR_TEXT_KIND_STRINGS), "the strings of a map");
  const uint32_t strings = text_entry(&c->table, e[ENTRY_EXTRA])[ENTRY_COUNT];
  const uint16_t *first = (const uint16_t *)text_data(&c->table, e);
  TEXT_NEED(text_blocks_inside(first, e[ENTRY_COUNT]), "a block of a map");
  bool ok = true;
  for (size_t i = 0; i < (size_t)e[ENTRY_COUNT] * 256; i++)
    ok &= first[SMR_TEXT_FIRST + i] <= strings;
  TEXT_NEED(ok, "a string of a map");
  return SAMARA_OK;
}

static samara_status text_check_merges(const struct text_check *c, uint32_t at,
                                       samara_error *error) {
  const uint32_t vocabulary = c->table.words[SMR_TEXT_VOCABULARY];
  const uint32_t *e = text_entry(&c->table, at);
  const uint32_t *ends = (const uint32_t *)text_data(&c->table, e), *rows = ends + vocabulary;
  bool ok = true;
  for (uint32_t a = 0, end = 0; a < vocabulary; end = ends[a++])
    ok &= ends[a] >= end && ends[a] <= e[ENTRY_COUNT];
  for (size_t k = 0; k < e[ENTRY_COUNT]; k++) ok &= rows[3 * k + 2] < vocabulary;
  TEXT_NEED(ok, "a merge");
  return SAMARA_OK;
}

static samara_status text_check_data(const struct text_check *c, uint32_t at, samara_error *error) {
  const uint32_t *e = text_entry(&c->table, at);
  const struct smr_text_bytes bytes = smr_text_bytes_at(&c->table, at);
  switch (e[ENTRY_KIND]) {
    case SMR_TEXT_KIND_STRINGS:
      return text_check_strings(c, at, error);
    case SMR_TEXT_KIND_TRIE:
      return text_check_trie(c, at, error);
    case SMR_TEXT_KIND_CLASSES:
      return text_check_classes(c, at, error);
    case SMR_TEXT_KIND_MAP:
      return text_check_map(c, at, error);
    case SMR_TEXT_KIND_DFA:
      return text_check_dfa(c, at, error);
    case SMR_TEXT_KIND_MERGES:
      return text_check_merges(c, at, error);
    case SMR_TEXT_KIND_STEPS:
      TEXT_NEED(e[ENTRY_COUNT] <= SMR_TEXT_STEPS, "too many steps");
      return SAMARA_OK;
    case SMR_TEXT_KIND_SCORES:
      for (size_t i = 0; i < e[ENTRY_COUNT]; i++)
        TEXT_NEED((bytes.data[8 * i + 7] & 0x7f) != 0x7f || bytes.data[8 * i + 6] < 0xf0,
                  "a score that is not finite");
      return SAMARA_OK;
    default:
      return SAMARA_OK;
  }
}

static samara_status text_check_entries(const struct text_check *c, samara_error *error) {
  for (uint32_t at = 0; at < c->entries; at++) {
    const uint32_t *e = text_entry(&c->table, at);
    TEXT_NEED(e[ENTRY_KIND] >= 1 && e[ENTRY_KIND] <= SMR_TEXT_KIND_STEPS, "an unknown kind");
    SMR_TRY(
        text_check_range(c, at, text_data_bytes(e, c->table.words[SMR_TEXT_VOCABULARY]), error));
  }
  for (uint32_t at = 0; at < c->entries; at++) SMR_TRY(text_check_data(c, at, error));
  return SAMARA_OK;
}

// Kinds of operands: a letter of `kinds` each. An upper-case letter stands for index + 1 or 0.
static samara_status text_check_operands(const struct text_check *c, const uint32_t *step,
                                         const char *kinds, samara_error *error) {
  for (int i = 0; i < 3; i++) {
    const uint32_t at = step[1 + i];
    switch (kinds[i]) {
      case 'b': {
        TEXT_NEED(text_is_kind(c, at, SMR_TEXT_KIND_BYTES), "bytes of a step");
        const struct smr_text_bytes b = smr_text_bytes_at(&c->table, at);
        TEXT_NEED(smr_utf8_valid(b.data, b.size) == b.size, "bytes of a step that are not UTF-8");
        break;
      }
      case 'c':
        TEXT_NEED(text_is_kind(c, at, SMR_TEXT_KIND_CLASSES), "classes of a step");
        break;
      case 'd':
        TEXT_NEED(text_is_kind(c, at, SMR_TEXT_KIND_DFA), "the automaton of a step");
        break;
      case 'm':
        TEXT_NEED(text_is_kind(c, at, SMR_TEXT_KIND_MAP), "the map of a step");
        break;
      case 's':
        TEXT_NEED(text_is_kind(c, at, SMR_TEXT_KIND_STRINGS), "strings of a step");
        break;
      case 't':
        TEXT_NEED(text_is_kind(c, at, SMR_TEXT_KIND_TRIE), "the trie of a step");
        break;
      case 'P':
        TEXT_NEED(at == 0 || text_is_kind(c, at - 1, SMR_TEXT_KIND_PAIRS), "the pairs of a step");
        break;
      case '1':
        TEXT_NEED(at <= 1, "a flag of a step");
        break;
      case '2':
        TEXT_NEED(at <= 2, "a choice of a step");
        break;
      case '4':
        TEXT_NEED(at <= 4, "a behaviour of a step");
        break;
      default:
        TEXT_NEED(kinds[i] == 'n' || at == 0, "an operand of a step");
        break;
    }
  }
  return SAMARA_OK;
}

static samara_status text_check_steps(const struct text_check *c, enum smr_text_word word,
                                      samara_error *error) {
  static const char *const steps[] = {NULL,  "m1-", "cP-", "db-", "b2-",
                                      "c11", "dts", "---", "c--", "d41"};
  static const char *const stages[] = {NULL,  "---", "---", "b1-", "b1-",
                                       "---", "---", "bnn", "db-"};
  size_t count;
  const uint32_t *rows = smr_text_steps_of(&c->table, word, &count);
  const uint32_t at = c->table.words[word] - 1;
  for (size_t i = 0; i < count; i++) {
    const uint32_t *step = rows + i * SMR_TEXT_ROW;
    const uint32_t last = word == SMR_TEXT_PRETOKENIZER ? SMR_TEXT_OP_SPLIT : SMR_TEXT_OP_SPLIT - 1;
    const bool decodes = word == SMR_TEXT_DECODER;
    TEXT_NEED(step[0] >= 1 && step[0] <= (decodes ? (uint32_t)SMR_TEXT_STAGE_REPLACE : last),
              "an unknown step");
    SMR_TRY(text_check_operands(c, step, decodes ? stages[step[0]] : steps[step[0]], error));
    if (!decodes && step[0] == SMR_TEXT_OP_CHARSMAP) {
      const uint32_t strings = smr_text_strings_at(&c->table, step[3]).count;
      TEXT_NEED(text_extra(&c->table, step[2]) <= strings, "a value of a charsmap");
    }
    if (decodes && step[0] == SMR_TEXT_STAGE_STRIP)
      TEXT_NEED(smr_text_bytes_at(&c->table, step[1]).size != 0, "an empty character");
  }
  return SAMARA_OK;
}

// Kinds of the header's entries, from SMR_TEXT_TOKENS on.
static const uint8_t text_word_kinds[] = {
    SMR_TEXT_KIND_STRINGS, SMR_TEXT_KIND_BYTES, SMR_TEXT_KIND_TRIE,  SMR_TEXT_KIND_MERGES,
    SMR_TEXT_KIND_SCORES,  SMR_TEXT_KIND_BYTES, SMR_TEXT_KIND_BYTES, SMR_TEXT_KIND_WORDS,
    SMR_TEXT_KIND_TRIE,    SMR_TEXT_KIND_TRIE,  SMR_TEXT_KIND_STEPS, SMR_TEXT_KIND_STEPS,
    SMR_TEXT_KIND_STEPS,   SMR_TEXT_KIND_WORDS, SMR_TEXT_KIND_WORDS, SMR_TEXT_KIND_CLASSES,
    SMR_TEXT_KIND_WORDS,   SMR_TEXT_KIND_TRIE,
};

// Ids in words, every `step`-th one.
static bool text_ids_below(struct smr_text_words words, size_t step, uint32_t bound) {
  bool ok = true;
  for (size_t i = 0; i < words.count; i += step) ok &= words.data[i] < bound;
  return ok;
}

static samara_status text_check_header(const struct text_check *c, samara_error *error) {
  const struct smr_text_table *t = &c->table;
  const uint32_t *w = t->words, vocabulary = w[SMR_TEXT_VOCABULARY];
  uint32_t at = 0;
  for (uint32_t i = SMR_TEXT_TOKENS; i < SMR_TEXT_WORD_COUNT; i++) {
    at = w[i] - 1;
    TEXT_NEED(w[i] == 0 || text_is_kind(c, at, text_word_kinds[i - SMR_TEXT_TOKENS]),
              "an entry of the header");
  }
  for (uint32_t i = SMR_TEXT_WORD_COUNT; i < SMR_TEXT_HEADER; i++)
    TEXT_NEED(w[i] == 0, "a word of the header that this version does not know");
  at = 0;
  TEXT_NEED(w[SMR_TEXT_MODEL] >= SMR_TEXT_BPE && w[SMR_TEXT_MODEL] <= SMR_TEXT_WORDLEVEL,
            "an unknown model");
  TEXT_NEED(w[SMR_TEXT_FLAGS] < 8, "unknown flags");
  TEXT_NEED(w[SMR_TEXT_TOKENS] != 0 && w[SMR_TEXT_TOKEN_FLAGS] != 0 && w[SMR_TEXT_TRIE] != 0 &&
                w[SMR_TEXT_WORDS] != 0 && w[SMR_TEXT_DECODER] != 0,
            "a missing entry");
  TEXT_NEED(smr_text_strings_of(t, SMR_TEXT_TOKENS).count == vocabulary &&
                smr_text_bytes_of(t, SMR_TEXT_TOKEN_FLAGS).size == vocabulary,
            "the number of tokens");
  TEXT_NEED(w[SMR_TEXT_UNKNOWN] == SMR_TEXT_NONE || w[SMR_TEXT_UNKNOWN] < vocabulary,
            "the unknown token");
  TEXT_NEED(w[SMR_TEXT_UNKNOWN] != SMR_TEXT_NONE || w[SMR_TEXT_MODEL] == SMR_TEXT_BPE ||
                w[SMR_TEXT_MODEL] == SMR_TEXT_UNIGRAM,
            "no unknown token");
  TEXT_NEED(text_extra(t, w[SMR_TEXT_TRIE] - 1) <= vocabulary, "the ids of the trie");
  TEXT_NEED(w[SMR_TEXT_NAMES] == 0 || text_extra(t, w[SMR_TEXT_NAMES] - 1) <= vocabulary,
            "the ids of the names");
  TEXT_NEED((w[SMR_TEXT_MODEL] == SMR_TEXT_BPE) == (w[SMR_TEXT_MERGES] != 0), "merges");
  TEXT_NEED((w[SMR_TEXT_MODEL] == SMR_TEXT_UNIGRAM) == (w[SMR_TEXT_SCORES] != 0), "scores");
  if (w[SMR_TEXT_MODEL] == SMR_TEXT_UNIGRAM) {
    size_t scores;
    (void)smr_text_scores_of(t, &scores);
    TEXT_NEED(text_extra(t, w[SMR_TEXT_TRIE] - 1) <= scores, "a token without a score");
  }
  const struct smr_text_words added = smr_text_words_of(t, SMR_TEXT_ADDED);
  TEXT_NEED(added.count % 2 == 0 && text_ids_below(added, 2, vocabulary), "an added token");
  for (uint32_t i = SMR_TEXT_RAW; i <= SMR_TEXT_NORMAL; i++)
    TEXT_NEED(w[i] == 0 || text_extra(t, w[i] - 1) <= added.count / 2, "a trie of added tokens");
  TEXT_NEED(text_ids_below(smr_text_words_of(t, SMR_TEXT_BEFORE), 1, vocabulary) &&
                text_ids_below(smr_text_words_of(t, SMR_TEXT_AFTER), 1, vocabulary),
            "ids around the text");
  const struct smr_text_words bytes = smr_text_words_of(t, SMR_TEXT_BYTE_IDS);
  bool ok = bytes.count == 256 || (w[SMR_TEXT_FLAGS] & SMR_TEXT_BYTE_FALLBACK) == 0;
  for (size_t i = 0; i < bytes.count; i++)
    ok &= bytes.data[i] < vocabulary || bytes.data[i] == SMR_TEXT_NONE;
  TEXT_NEED(ok, "the ids of bytes");
  return SAMARA_OK;
}

#undef TEXT_NEED

static double text_least_score(const struct smr_text_table *t) {
  size_t count;
  const uint8_t *scores = smr_text_scores_of(t, &count);
  double least = 0;
  for (size_t k = 0; k < count; k++) {
    const double score = smr_text_score(scores, k);
    if (k == 0 || score < least) least = score;
  }
  return least;
}

samara_status smr_text_table_open(const void *data, size_t size_bytes, struct smr_text_table *out,
                                  samara_error *error) {
  if (data == NULL || (uintptr_t)data % 4 != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "the tokenizer table must lie at a multiple of 4 bytes");
  struct text_check check = {{(const uint32_t *)data, 0}, size_bytes, 0};
  const uint32_t *w = check.table.words;
  if (size_bytes < 4 * SMR_TEXT_HEADER || w[0] != SMR_TEXT_MAGIC)
    SMR_FAIL(error, BAD_MODEL, "this is no tokenizer table: it begins with something else");
  if (w[1] != SMR_TEXT_VERSION)
    SMR_FAIL(error, BAD_VERSION, "tokenizer table of version %u, this runtime reads version %u",
             (unsigned)w[1], (unsigned)SMR_TEXT_VERSION);
  if (w[SMR_TEXT_SIZE] != size_bytes)
    SMR_FAIL(error, BAD_MODEL, "tokenizer table: %u bytes by its header, %zu given",
             (unsigned)w[SMR_TEXT_SIZE], size_bytes);
  check.entries = w[SMR_TEXT_ENTRIES];
  if (check.entries > (size_bytes / 4 - SMR_TEXT_HEADER) / SMR_TEXT_ROW)
    SMR_FAIL(error, BAD_MODEL, "tokenizer table: %u entries are more than it holds",
             (unsigned)check.entries);
  SMR_TRY(text_check_entries(&check, error));
  SMR_TRY(text_check_header(&check, error));
  SMR_TRY(text_check_steps(&check, SMR_TEXT_NORMALIZER, error));
  SMR_TRY(text_check_steps(&check, SMR_TEXT_PRETOKENIZER, error));
  SMR_TRY(text_check_steps(&check, SMR_TEXT_DECODER, error));
  *out = check.table;
  if (w[SMR_TEXT_MODEL] == SMR_TEXT_UNIGRAM) out->least = text_least_score(out);
  return SAMARA_OK;
}
