// SPDX-License-Identifier: Apache-2.0
// Words to ids: byte pairs (BPE), unigrams, word pieces, whole words.
#include "base/fp.h"

#include <string.h>

#include "text/text_run.h"

static samara_status text_no_unknown(struct smr_text_run *run, const uint8_t *text, size_t size) {
  SMR_FAIL(run->error, BAD_DATA,
           "the tokenizer has no token for '%.*s', and none for what it does not know",
           (int)(size < 64 ? size : 64), (const char *)text);
}

// The ids of all bytes; false, and nothing, if one of them has none.
static bool text_has_bytes(const struct smr_text_run *run, const uint8_t *text, size_t size,
                           struct smr_text_words *ids) {
  if ((smr_text_word_of(run->table, SMR_TEXT_FLAGS) & SMR_TEXT_BYTE_FALLBACK) == 0) return false;
  *ids = smr_text_words_of(run->table, SMR_TEXT_BYTE_IDS);
  for (size_t i = 0; i < size; i++)
    if (ids->data[text[i]] == SMR_TEXT_NONE) return false;
  return true;
}

// ---- byte pairs ----

// A symbol of a word; id is SMR_TEXT_NONE once it is part of the one before.
struct text_symbol {
  uint32_t id, previous, next;
};

// A merge to do, while the symbol at `at` and the next one still become `id`.
struct text_merge {
  uint32_t rank, at, id;
};

static bool text_merge_before(const struct text_merge *a, const struct text_merge *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static samara_status text_queue_push(struct smr_text_run *run, struct text_merge merge) {
  SMR_TRY(smr_text_reserve(&run->queue, sizeof merge, run->memory, run->error));
  struct text_merge *heap = (struct text_merge *)(void *)run->queue.data;
  size_t at = run->queue.size / sizeof merge;
  run->queue.size += sizeof merge;
  for (; at > 0 && text_merge_before(&merge, &heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = merge;
  return SAMARA_OK;
}

static struct text_merge text_queue_pop(struct smr_text_run *run) {
  struct text_merge *heap = (struct text_merge *)(void *)run->queue.data;
  const struct text_merge top = heap[0];
  run->queue.size -= sizeof top;
  const size_t count = run->queue.size / sizeof top;
  const struct text_merge last = heap[count];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && text_merge_before(&heap[child + 1], &heap[child])) child++;
    if (!text_merge_before(&heap[child], &last)) break;
    heap[at] = heap[child];
  }
  heap[at] = last;
  return top;
}

// The row of a pair of ids: right, rank, result. NULL for none.
static const uint32_t *text_pair_row(const struct smr_text_merges *merges, uint32_t a, uint32_t b) {
  uint32_t low = a == 0 ? 0 : merges->ends[a - 1];
  const uint32_t end = merges->ends[a];
  uint32_t high = end;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (merges->rows[(size_t)middle * 3] < b)
      low = middle + 1;
    else
      high = middle;
  }
  const uint32_t *row = merges->rows + (size_t)low * 3;
  return low < end && row[0] == b ? row : NULL;
}

static samara_status text_symbol_add(struct smr_text_run *run, uint32_t id) {
  const uint32_t at = (uint32_t)(run->symbols.size / sizeof(struct text_symbol));
  const struct text_symbol symbol = {id, at - 1, at + 1};
  return smr_text_append(&run->symbols, &symbol, sizeof symbol, run->memory, run->error);
}

// Add the symbols of one character: a token, bytes, or the unknown token. *unknown counts those
// that are not added yet, because the next one may be fused with them.
static samara_status text_symbol_of(struct smr_text_run *run, const uint8_t *text, size_t size,
                                    bool first, bool last, bool *unknown) {
  const struct smr_text_trie trie = smr_text_trie_of(run->table, SMR_TEXT_TRIE);
  const struct smr_text_bytes none = {NULL, 0};
  const struct smr_text_bytes prefix =
      first ? none : smr_text_bytes_of(run->table, SMR_TEXT_PREFIX);
  const struct smr_text_bytes suffix = last ? smr_text_bytes_of(run->table, SMR_TEXT_SUFFIX) : none;
  const uint32_t other = smr_text_word_of(run->table, SMR_TEXT_UNKNOWN);
  uint32_t node = smr_text_walk(&trie, 0, prefix.data, prefix.size);
  node = smr_text_walk(&trie, node, text, size);
  node = smr_text_walk(&trie, node, suffix.data, suffix.size);
  if (node < trie.nodes && trie.value[node] != 0) {
    if (*unknown) SMR_TRY(text_symbol_add(run, other));
    *unknown = false;
    return text_symbol_add(run, trie.value[node] - 1);
  }
  const struct smr_text_bytes parts[] = {prefix, {text, size}, suffix};
  struct smr_text_words ids;
  bool bytes = true;
  for (int i = 0; i < 3; i++) bytes &= text_has_bytes(run, parts[i].data, parts[i].size, &ids);
  if (bytes) {
    // A pending unknown token comes behind the bytes, as in `tokenizers`.
    for (int i = 0; i < 3; i++)
      for (size_t k = 0; k < parts[i].size; k++)
        SMR_TRY(text_symbol_add(run, ids.data[parts[i].data[k]]));
    return SAMARA_OK;
  }
  if (other == SMR_TEXT_NONE) return SAMARA_OK;  // the character is dropped
  const bool fuse = (smr_text_word_of(run->table, SMR_TEXT_FLAGS) & SMR_TEXT_FUSE_UNKNOWN) != 0;
  if (*unknown && !fuse) SMR_TRY(text_symbol_add(run, other));
  *unknown = true;
  return SAMARA_OK;
}

static samara_status text_queue_pair(struct smr_text_run *run, const struct smr_text_merges *merges,
                                     uint32_t at) {
  const struct text_symbol *symbols = (const struct text_symbol *)(void *)run->symbols.data;
  const uint32_t *row = text_pair_row(merges, symbols[at].id, symbols[symbols[at].next].id);
  if (row == NULL) return SAMARA_OK;
  return text_queue_push(run, (struct text_merge){row[1], at, row[2]});
}

static samara_status text_merge_all(struct smr_text_run *run) {
  const struct smr_text_merges merges = smr_text_merges_of(run->table);
  struct text_symbol *symbols = (struct text_symbol *)(void *)run->symbols.data;
  const uint32_t count = (uint32_t)(run->symbols.size / sizeof *symbols);
  run->queue.size = 0;
  for (uint32_t i = 0; i + 1 < count; i++) SMR_TRY(text_queue_pair(run, &merges, i));
  while (run->queue.size != 0) {
    const struct text_merge top = text_queue_pop(run);
    struct text_symbol *left = &symbols[top.at];
    if (left->id == SMR_TEXT_NONE || left->next >= count) continue;
    struct text_symbol *right = &symbols[left->next];
    const uint32_t *row = text_pair_row(&merges, left->id, right->id);
    if (row == NULL || row[2] != top.id) continue;
    left->id = top.id;
    left->next = right->next;
    right->id = SMR_TEXT_NONE;
    if (left->next < count) {
      symbols[left->next].previous = top.at;
      SMR_TRY(text_queue_pair(run, &merges, top.at));
    }
    if (left->previous < count) SMR_TRY(text_queue_pair(run, &merges, left->previous));
  }
  for (uint32_t i = 0; i < count; i = symbols[i].next) smr_text_emit(run, symbols[i].id);
  return SAMARA_OK;
}

static samara_status text_bpe(struct smr_text_run *run, const uint8_t *text, size_t size) {
  if ((smr_text_word_of(run->table, SMR_TEXT_FLAGS) & SMR_TEXT_IGNORE_MERGES) != 0) {
    const struct smr_text_trie trie = smr_text_trie_of(run->table, SMR_TEXT_TRIE);
    const uint32_t id = smr_text_find(&trie, text, size);
    if (id != SMR_TEXT_NONE) {
      smr_text_emit(run, id);
      return SAMARA_OK;
    }
  }
  run->symbols.size = 0;
  bool unknown = false;
  for (size_t at = 0, bytes; at < size; at += bytes) {
    bytes = smr_utf8_bytes(text[at]);
    SMR_TRY(text_symbol_of(run, text + at, bytes, at == 0, at + bytes == size, &unknown));
  }
  if (unknown) SMR_TRY(text_symbol_add(run, smr_text_word_of(run->table, SMR_TEXT_UNKNOWN)));
  return text_merge_all(run);
}

// ---- unigrams ----

// The best way to a position: its score, and the last token. `from` becomes the next position once
// the best way is known.
struct text_best {
  double score;
  uint32_t from, id;
};

static void text_offer(struct text_best *to, double score, uint32_t from, uint32_t id) {
  if (to->from != SMR_TEXT_NONE && !(score > to->score)) return;
  *to = (struct text_best){score, from, id};
}

// Fill `best` for all positions. BAD_DATA if a character has no token and there is no unknown one.
static samara_status text_best_ways(struct smr_text_run *run, const uint8_t *text, size_t size,
                                    struct text_best *best) {
  const struct smr_text_trie trie = smr_text_trie_of(run->table, SMR_TEXT_TRIE);
  const uint32_t unknown = smr_text_word_of(run->table, SMR_TEXT_UNKNOWN);
  size_t scores_count;
  const uint8_t *scores = smr_text_scores_of(run->table, &scores_count);
  const double least = run->table->least - 10;  // sentencepiece's penalty for unknown characters
  for (size_t i = 0; i <= size; i++) best[i] = (struct text_best){0, SMR_TEXT_NONE, 0};
  for (size_t at = 0, bytes; at < size; at += bytes) {
    const double so_far = best[at].score;
    bytes = smr_utf8_bytes(text[at]);
    bool single = false;
    uint32_t node = 0;
    for (size_t end = at; end < size;) {
      node = smr_text_child(&trie, node, text[end++]);
      if (node == 0) break;
      if (trie.value[node] == 0) continue;
      const uint32_t id = trie.value[node] - 1;
      // A hostile table may have tokens that end inside of a character.
      if (end < size && (text[end] & 0xc0) == 0x80) continue;
      text_offer(&best[end], smr_text_score(scores, id) + so_far, (uint32_t)at, id);
      single |= end - at == bytes;
    }
    if (single) continue;
    if (unknown == SMR_TEXT_NONE) return text_no_unknown(run, text + at, bytes);
    text_offer(&best[at + bytes], least + so_far, (uint32_t)at, unknown);
  }
  return SAMARA_OK;
}

// Append the ids of unknown text: a token by chance, its bytes, or the unknown token.
static void text_unknown(struct smr_text_run *run, const uint8_t *text, size_t size) {
  const struct smr_text_trie trie = smr_text_trie_of(run->table, SMR_TEXT_TRIE);
  const uint32_t id = smr_text_find(&trie, text, size);
  struct smr_text_words ids;
  if (id != SMR_TEXT_NONE) {
    smr_text_emit(run, id);
  } else if (text_has_bytes(run, text, size, &ids)) {
    for (size_t i = 0; i < size; i++) smr_text_emit(run, ids.data[text[i]]);
  } else {
    smr_text_emit(run, smr_text_word_of(run->table, SMR_TEXT_UNKNOWN));
  }
}

static samara_status text_unigram(struct smr_text_run *run, const uint8_t *text, size_t size) {
  const uint32_t unknown = smr_text_word_of(run->table, SMR_TEXT_UNKNOWN);
  run->symbols.size = 0;
  SMR_TRY(smr_text_reserve(&run->symbols, (size + 1) * sizeof(struct text_best), run->memory,
                           run->error));
  struct text_best *best = (struct text_best *)(void *)run->symbols.data;
  SMR_TRY(text_best_ways(run, text, size, best));
  // Turn the links round: best[i].from becomes the position behind the token that begins at i.
  uint32_t end = (uint32_t)size, next = (uint32_t)size, id = 0;
  while (end != 0) {
    const uint32_t from = best[end].from, own = best[end].id;
    best[end].from = next, best[end].id = id;
    next = end, id = own, end = from;
  }
  best[0].from = next, best[0].id = id;
  for (uint32_t at = 0; at < size;) {
    uint32_t to = best[at].from;
    if (best[at].id != unknown) {
      smr_text_emit(run, best[at].id);
    } else {
      while (to < size && best[to].id == unknown) to = best[to].from;
      text_unknown(run, text + at, to - at);
    }
    at = to;
  }
  return SAMARA_OK;
}

// ---- word pieces and words ----

static void text_wordpiece(struct smr_text_run *run, const uint8_t *text, size_t size) {
  const struct smr_text_trie trie = smr_text_trie_of(run->table, SMR_TEXT_TRIE);
  const struct smr_text_bytes prefix = smr_text_bytes_of(run->table, SMR_TEXT_PREFIX);
  const uint32_t most = smr_text_word_of(run->table, SMR_TEXT_LONGEST);
  const uint32_t inner = smr_text_walk(&trie, 0, prefix.data, prefix.size);
  const size_t before = run->count;
  size_t characters = 0, at = 0;
  for (size_t i = 0; i < size && characters <= most; i++) characters += (text[i] & 0xc0) != 0x80;
  while (characters <= most && at < size) {
    uint32_t node = at == 0 ? 0 : inner, id = SMR_TEXT_NONE;
    size_t end = at;
    for (size_t i = at; i < size && node < trie.nodes;) {
      node = smr_text_child(&trie, node, text[i++]);
      if (node == 0) break;
      const bool whole = i == size || (text[i] & 0xc0) != 0x80;
      if (trie.value[node] != 0 && whole) id = trie.value[node] - 1, end = i;
    }
    if (id == SMR_TEXT_NONE) break;
    smr_text_emit(run, id);
    at = end;
  }
  if (at == size) return;
  run->count = before;
  smr_text_emit(run, smr_text_word_of(run->table, SMR_TEXT_UNKNOWN));
}

samara_status smr_text_word(struct smr_text_run *run, const uint8_t *text, size_t size) {
  if (size >= UINT32_MAX / 2)
    SMR_FAIL(run->error, LIMIT, "a piece of text of %zu bytes; tokenizers take up to 2 GB", size);
  switch (smr_text_word_of(run->table, SMR_TEXT_MODEL)) {
    case SMR_TEXT_BPE:
      return text_bpe(run, text, size);
    case SMR_TEXT_UNIGRAM:
      return text_unigram(run, text, size);
    case SMR_TEXT_WORDPIECE:
      text_wordpiece(run, text, size);
      return SAMARA_OK;
    default: {
      const struct smr_text_trie trie = smr_text_trie_of(run->table, SMR_TEXT_TRIE);
      const uint32_t id = smr_text_find(&trie, text, size);
      smr_text_emit(run, id != SMR_TEXT_NONE ? id : smr_text_word_of(run->table, SMR_TEXT_UNKNOWN));
      return SAMARA_OK;
    }
  }
}
