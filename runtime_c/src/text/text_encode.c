// SPDX-License-Identifier: Apache-2.0
// A text to ids: added tokens, normalizer, pre-tokenizer, model.
#include "base/fp.h"

#include "text/text_run.h"

// ---- the pre-tokenizer ----

// Segments of a text, which are put together by the behaviour of a step.
struct text_splitter {
  struct smr_text_run *run;
  size_t next;  // step for the pieces
  const uint8_t *text;
  uint32_t behaviour;
  bool at_start;
  bool pending, pending_match;
  size_t start, end;
};

static samara_status text_pretokenize(struct smr_text_run *run, size_t step, const uint8_t *text,
                                      size_t size, bool at_start);

static samara_status text_piece(struct text_splitter *s, size_t start, size_t end) {
  return text_pretokenize(s->run, s->next, s->text + start, end - start, s->at_start && start == 0);
}

static samara_status text_flush(struct text_splitter *s) {
  if (!s->pending) return SAMARA_OK;
  s->pending = false;
  return text_piece(s, s->start, s->end);
}

static samara_status text_segment(struct text_splitter *s, size_t start, size_t end, bool match) {
  if (s->behaviour == SMR_TEXT_REMOVED) return match ? SAMARA_OK : text_piece(s, start, end);
  if (s->behaviour == SMR_TEXT_ISOLATED) return text_piece(s, start, end);
  const bool joins = s->behaviour == SMR_TEXT_CONTIGUOUS      ? match == s->pending_match
                     : s->behaviour == SMR_TEXT_WITH_PREVIOUS ? match && !s->pending_match
                                                              : !match && s->pending_match;
  if (s->pending && joins) {
    s->end = end;
    return s->behaviour == SMR_TEXT_CONTIGUOUS ? SAMARA_OK : text_flush(s);
  }
  SMR_TRY(text_flush(s));
  s->pending = true;
  s->pending_match = match;
  s->start = start;
  s->end = end;
  return SAMARA_OK;
}

static samara_status text_split(struct smr_text_run *run, const uint32_t *step, size_t next,
                                const uint8_t *text, size_t size, bool at_start) {
  struct text_splitter s = {
      .run = run, .next = next, .text = text, .behaviour = step[2], .at_start = at_start};
  struct smr_text_search search = {smr_text_dfa_at(run->table, step[1]), text, size, 0, 0};
  const bool inverted = step[3] != 0;
  size_t from = 0, start = 0, end = 0;
  bool found;
  for (;;) {
    SMR_TRY(smr_text_next(&search, &start, &end, &found, run->error));
    if (!found) break;
    if (start > from) SMR_TRY(text_segment(&s, from, start, inverted));
    SMR_TRY(text_segment(&s, start, end, !inverted));
    from = end;
  }
  if (from < size) SMR_TRY(text_segment(&s, from, size, inverted));
  return text_flush(&s);
}

// Steps go depth first: at most SMR_TEXT_STEPS calls are nested, and each step has one buffer.
static samara_status text_pretokenize(struct smr_text_run *run, size_t step, const uint8_t *text,
                                      size_t size, bool at_start) {
  size_t count;
  const uint32_t *steps = smr_text_steps_of(run->table, SMR_TEXT_PRETOKENIZER, &count);
  for (; step < count && size != 0; step++) {
    const uint32_t *own = steps + step * SMR_TEXT_ROW;
    if (own[0] == SMR_TEXT_OP_SPLIT) return text_split(run, own, step + 1, text, size, at_start);
    struct smr_text_buffer *to = &run->steps[step];
    SMR_TRY(smr_text_step(run, own, text, size, at_start, to));
    text = to->data;
    size = to->size;
  }
  return size != 0 ? smr_text_word(run, text, size) : SAMARA_OK;
}

// ---- added tokens ----

// What to do with the text between added tokens.
typedef samara_status (*text_between)(struct smr_text_run *run, const uint8_t *text, size_t size,
                                      bool at_start, bool plain);

static uint8_t text_word_class(const struct smr_text_run *run, const uint8_t *text) {
  const struct smr_text_classes words = smr_text_classes_of(run->table, SMR_TEXT_WORDS);
  return smr_text_class(&words, smr_utf8_read(text));
}

// The character that ends before `text + at`.
static const uint8_t *text_before(const uint8_t *text, size_t at) {
  do at--;
  while ((text[at] & 0xc0) == 0x80);
  return text + at;
}

// The longest added token at `text`, as its index; *bytes is its length, 0 for none.
static uint32_t text_added_at(const struct smr_text_trie *trie, const uint8_t *text, size_t size,
                              size_t *bytes) {
  uint32_t node = 0, index = 0;
  *bytes = 0;
  for (size_t i = 0; i < size;) {
    node = smr_text_child(trie, node, text[i++]);
    if (node == 0) break;
    const bool whole = i == size || (text[i] & 0xc0) != 0x80;
    if (trie->value[node] != 0 && whole) index = trie->value[node] - 1, *bytes = i;
  }
  return index;
}

// Whether an added token may stand at start .. end, whose ends move over spaces that belong to it.
static bool text_added_fits(const struct smr_text_run *run, uint32_t flags, bool plain,
                            const uint8_t *text, size_t size, size_t from, size_t *start,
                            size_t *end) {
  if (plain && (flags & SMR_TEXT_IS_SPECIAL) != 0) return false;
  if ((flags & SMR_TEXT_SINGLE_WORD) != 0) {
    if (*start > 0 && text_word_class(run, text_before(text, *start)) == 1) return false;
    if (*end < size && text_word_class(run, text + *end) == 1) return false;
  }
  if ((flags & SMR_TEXT_LSTRIP) != 0) {
    while (*start > from) {
      const uint8_t *before = text_before(text, *start);
      if (text_word_class(run, before) != 2) break;
      *start = (size_t)(before - text);
    }
    if (*start < from) *start = from;
  }
  while ((flags & SMR_TEXT_RSTRIP) != 0 && *end < size && text_word_class(run, text + *end) == 2)
    *end += smr_utf8_bytes(text[*end]);
  return true;
}

static samara_status text_added(struct smr_text_run *run, enum smr_text_word which,
                                const uint8_t *text, size_t size, bool at_start, bool plain,
                                text_between between) {
  const struct smr_text_trie trie = smr_text_trie_of(run->table, which);
  const struct smr_text_words rows = smr_text_words_of(run->table, SMR_TEXT_ADDED);
  size_t from = 0, step;
  for (size_t at = 0; trie.nodes != 0 && at < size; at += step) {
    step = smr_utf8_bytes(text[at]);
    size_t bytes;
    const uint32_t index = text_added_at(&trie, text + at, size - at, &bytes);
    if (bytes == 0) continue;
    step = bytes;
    size_t start = at, end = at + bytes;
    const uint32_t *row = rows.data + 2 * (size_t)index;
    if (!text_added_fits(run, row[1], plain, text, size, from, &start, &end)) continue;
    if (start > from)
      SMR_TRY(between(run, text + from, start - from, at_start && from == 0, plain));
    smr_text_emit(run, row[0]);
    from = end;
  }
  if (from >= size) return SAMARA_OK;
  return between(run, text + from, size - from, at_start && from == 0, plain);
}

static samara_status text_normal_section(struct smr_text_run *run, const uint8_t *text, size_t size,
                                         bool at_start, bool plain) {
  (void)plain;
  return text_pretokenize(run, 0, text, size, at_start);
}

static samara_status text_raw_section(struct smr_text_run *run, const uint8_t *text, size_t size,
                                      bool at_start, bool plain) {
  SMR_TRY(smr_text_normalize(run, text, size, at_start, &text, &size));
  return text_added(run, SMR_TEXT_NORMAL, text, size, at_start, plain, text_normal_section);
}

samara_status smr_text_encode(struct smr_text_run *run, const uint8_t *text, size_t size,
                              bool plain) {
  return text_added(run, SMR_TEXT_RAW, text, size, true, plain, text_raw_section);
}
