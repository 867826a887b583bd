// SPDX-License-Identifier: Apache-2.0
// Steps that change a text: normal forms, replacements, bytes as characters.
#include "base/fp.h"

#include <string.h>

#include "base/checked.h"
#include "text/text_run.h"

enum {
  HANGUL_S = 0xac00,
  HANGUL_L = 0x1100,
  HANGUL_V = 0x1161,
  HANGUL_T = 0x11a7,
  HANGUL_LS = 19,
  HANGUL_VS = 21,
  HANGUL_TS = 28,
  HANGUL_SS = HANGUL_LS * HANGUL_VS * HANGUL_TS,
};

// Append to a step's output, which may not grow without bounds: steps of a hostile table could each
// multiply the text.
static samara_status text_put(struct smr_text_run *run, struct smr_text_buffer *out,
                              const void *data, size_t size) {
  if (size > run->most || out->size > run->most - size)
    SMR_FAIL(run->error, LIMIT, "the tokenizer makes more than %zu bytes of this text", run->most);
  return smr_text_append(out, data, size, run->memory, run->error);
}

static samara_status text_put_point(struct smr_text_run *run, struct smr_text_buffer *out,
                                    uint32_t point) {
  uint8_t bytes[4];
  return text_put(run, out, bytes, smr_utf8_write(point, bytes));
}

static samara_status text_map(struct smr_text_run *run, const uint32_t *step, const uint8_t *text,
                              size_t size, struct smr_text_buffer *out) {
  const struct smr_text_map map = smr_text_map_at(run->table, step[1]);
  for (size_t at = 0; at < size;) {
    const uint32_t point = smr_utf8_read(text + at);
    const size_t bytes = smr_utf8_bytes(text[at]);
    const uint16_t k = map.blocks[(size_t)map.first[point >> 8] * 256 + (point & 255)];
    const uint32_t syllable = point - HANGUL_S;
    if (k != 0) {
      const struct smr_text_bytes string = smr_text_string(&map.strings, k - 1u);
      SMR_TRY(text_put(run, out, string.data, string.size));
    } else if (step[2] != 0 && syllable < HANGUL_SS) {
      const uint32_t last = syllable % HANGUL_TS;
      SMR_TRY(text_put_point(run, out, HANGUL_L + syllable / (HANGUL_VS * HANGUL_TS)));
      SMR_TRY(text_put_point(run, out, HANGUL_V + syllable / HANGUL_TS % HANGUL_VS));
      if (last != 0) SMR_TRY(text_put_point(run, out, HANGUL_T + last));
    } else {
      SMR_TRY(text_put(run, out, text + at, bytes));
    }
    at += bytes;
  }
  return SAMARA_OK;
}

// ---- canonical order and composition ----

// Sort a run of combining characters by class, keeping the order of equal ones. `spare` has room
// for as many.
static void text_sort_run(const struct smr_text_classes *classes, uint32_t *points, size_t count,
                          uint32_t *spare) {
  size_t starts[257] = {0};
  bool sorted = true;
  for (size_t i = 1; i < count; i++)
    sorted &= smr_text_class(classes, points[i - 1]) <= smr_text_class(classes, points[i]);
  if (sorted) return;
  for (size_t i = 0; i < count; i++) starts[smr_text_class(classes, points[i]) + 1]++;
  for (size_t k = 1; k < 257; k++) starts[k] += starts[k - 1];
  for (size_t i = 0; i < count; i++)
    spare[starts[smr_text_class(classes, points[i])]++] = points[i];
  memcpy(points, spare, count * sizeof *points);
}

// The composition of two characters; 0 if they have none.
static uint32_t text_pair(struct smr_text_words pairs, uint32_t a, uint32_t b) {
  const uint32_t l = a - HANGUL_L, v = b - HANGUL_V, s = a - HANGUL_S, t = b - HANGUL_T;
  if (l < HANGUL_LS && v < HANGUL_VS) return HANGUL_S + (l * HANGUL_VS + v) * HANGUL_TS;
  if (s < HANGUL_SS && s % HANGUL_TS == 0 && t > 0 && t < HANGUL_TS) return a + t;
  size_t low = 0, high = pairs.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const uint32_t *row = pairs.data + 3 * middle;
    if (row[0] == a && row[1] == b) return row[2] < 0x110000 && row[2] >> 11 != 0x1b ? row[2] : 0;
    if (row[0] < a || (row[0] == a && row[1] < b))
      low = middle + 1;
    else
      high = middle;
  }
  return 0;
}

// Compose in place; returns the new number.
static size_t text_compose(const struct smr_text_classes *classes, struct smr_text_words pairs,
                           uint32_t *points, size_t count) {
  size_t starter = SIZE_MAX, made = 0;
  int last = -1;  // class of the last character behind the starter; -1: it stands behind it
  for (size_t i = 0; i < count; i++) {
    const uint32_t point = points[i];
    const int own = smr_text_class(classes, point);
    const bool near = starter != SIZE_MAX && last < own;
    const uint32_t joined = near ? text_pair(pairs, points[starter], point) : 0;
    if (joined != 0) {
      points[starter] = joined;
      continue;
    }
    points[made] = point;
    if (own == 0) {
      starter = made;
      last = -1;
    } else {
      last = own;
    }
    made++;
  }
  return made;
}

static samara_status text_order(struct smr_text_run *run, const uint32_t *step, const uint8_t *text,
                                size_t size, struct smr_text_buffer *out) {
  const struct smr_text_classes classes = smr_text_classes_at(run->table, step[1]);
  run->points.size = 0;
  SMR_TRY(smr_text_reserve(&run->points, 2 * size * sizeof(uint32_t), run->memory, run->error));
  uint32_t *points = (uint32_t *)(void *)run->points.data, *spare = points + size;
  size_t count = 0;
  for (size_t at = 0; at < size; at += smr_utf8_bytes(text[at]))
    points[count++] = smr_utf8_read(text + at);
  for (size_t i = 0, end; i < count; i = end) {
    end = i + 1;
    if (smr_text_class(&classes, points[i]) == 0) continue;
    while (end < count && smr_text_class(&classes, points[end]) != 0) end++;
    if (end - i > 1) text_sort_run(&classes, points + i, end - i, spare);
  }
  if (step[2] != 0)
    count = text_compose(&classes, smr_text_pairs_at(run->table, step[2] - 1), points, count);
  for (size_t i = 0; i < count; i++) SMR_TRY(text_put_point(run, out, points[i]));
  return SAMARA_OK;
}

// ---- the others ----

static samara_status text_replace(struct smr_text_run *run, const uint32_t *step,
                                  const uint8_t *text, size_t size, struct smr_text_buffer *out) {
  const struct smr_text_bytes content = smr_text_bytes_at(run->table, step[2]);
  struct smr_text_search search = {smr_text_dfa_at(run->table, step[1]), text, size, 0, 0};
  size_t from = 0, start = 0, end = 0;
  bool found;
  for (;;) {
    SMR_TRY(smr_text_next(&search, &start, &end, &found, run->error));
    if (!found) break;
    SMR_TRY(text_put(run, out, text + from, start - from));
    SMR_TRY(text_put(run, out, content.data, content.size));
    from = end;
  }
  return text_put(run, out, text + from, size - from);
}

static samara_status text_prepend(struct smr_text_run *run, const uint32_t *step,
                                  const uint8_t *text, size_t size, bool at_start,
                                  struct smr_text_buffer *out) {
  const struct smr_text_bytes own = smr_text_bytes_at(run->table, step[1]);
  const bool there = size >= own.size && memcmp(text, own.data, own.size) == 0;
  if (size != 0 && (step[2] == 0 || (!there && (step[2] == 1 || at_start))))
    SMR_TRY(text_put(run, out, own.data, own.size));
  return text_put(run, out, text, size);
}

static samara_status text_strip(struct smr_text_run *run, const uint32_t *step, const uint8_t *text,
                                size_t size, struct smr_text_buffer *out) {
  const struct smr_text_classes white = smr_text_classes_at(run->table, step[1]);
  size_t start = 0;
  while (step[2] != 0 && start < size && smr_text_class(&white, smr_utf8_read(text + start)) == 1)
    start += smr_utf8_bytes(text[start]);
  while (step[3] != 0 && start < size) {
    size_t last = size - 1;
    while ((text[last] & 0xc0) == 0x80) last--;
    if (smr_text_class(&white, smr_utf8_read(text + last)) != 1) break;
    size = last;
  }
  return text_put(run, out, text + start, size - start);
}

// The replacement of the shortest start of `text` that the charsmap has.
static bool text_charsmap_find(const struct smr_text_trie *trie, const uint8_t *text, size_t size,
                               uint32_t *value) {
  uint32_t node = 0;
  for (size_t i = 0; i < size; i++) {
    node = smr_text_child(trie, node, text[i]);
    if (node == 0) return false;
    if (trie->value[node] != 0) {
      *value = trie->value[node] - 1;
      return true;
    }
  }
  return false;
}

// As in `tokenizers`: a grapheme of less than six bytes becomes the replacement of its start as a
// whole, others character by character.
static samara_status text_charsmap(struct smr_text_run *run, const uint32_t *step,
                                   const uint8_t *text, size_t size, struct smr_text_buffer *out) {
  const struct smr_text_trie trie = smr_text_trie_at(run->table, step[2]);
  const struct smr_text_strings strings = smr_text_strings_at(run->table, step[3]);
  struct smr_text_search search = {smr_text_dfa_at(run->table, step[1]), text, size, 0, 0};
  while (search.at < size) {
    size_t start = search.at, end = size;
    bool found;
    SMR_TRY(smr_text_next(&search, &start, &end, &found, run->error));
    if (!found) end = size;
    uint32_t value;
    if (end - start < 6 && text_charsmap_find(&trie, text + start, end - start, &value)) {
      const struct smr_text_bytes made = smr_text_string(&strings, value);
      SMR_TRY(text_put(run, out, made.data, made.size));
      continue;
    }
    for (size_t bytes; start < end; start += bytes) {
      bytes = smr_utf8_bytes(text[start]);
      struct smr_text_bytes made = {text + start, bytes};
      if (text_charsmap_find(&trie, text + start, bytes, &value))
        made = smr_text_string(&strings, value);
      SMR_TRY(text_put(run, out, made.data, made.size));
    }
  }
  return SAMARA_OK;
}

// Printable bytes of Latin-1 stand for themselves, the others for the characters from U+0100 on.
static samara_status text_bytes(struct smr_text_run *run, const uint8_t *text, size_t size,
                                struct smr_text_buffer *out) {
  for (size_t i = 0; i < size; i++) {
    const uint32_t b = text[i];
    const uint32_t point = b <= 0x20   ? 0x100 + b
                           : b < 0x7f  ? b
                           : b <= 0xa0 ? 0x121 + b - 0x7f
                           : b == 0xad ? 0x143
                                       : b;
    SMR_TRY(text_put_point(run, out, point));
  }
  return SAMARA_OK;
}

static samara_status text_around(struct smr_text_run *run, const uint32_t *step,
                                 const uint8_t *text, size_t size, struct smr_text_buffer *out) {
  const struct smr_text_classes classes = smr_text_classes_at(run->table, step[1]);
  for (size_t at = 0, bytes; at < size; at += bytes) {
    bytes = smr_utf8_bytes(text[at]);
    const bool apart = smr_text_class(&classes, smr_utf8_read(text + at)) == 1;
    if (apart) SMR_TRY(text_put(run, out, " ", 1));
    SMR_TRY(text_put(run, out, text + at, bytes));
    if (apart) SMR_TRY(text_put(run, out, " ", 1));
  }
  return SAMARA_OK;
}

samara_status smr_text_step(struct smr_text_run *run, const uint32_t *step, const uint8_t *text,
                            size_t size, bool at_start, struct smr_text_buffer *out) {
  out->size = 0;
  switch (step[0]) {
    case SMR_TEXT_OP_MAP:
      return text_map(run, step, text, size, out);
    case SMR_TEXT_OP_ORDER:
      return text_order(run, step, text, size, out);
    case SMR_TEXT_OP_REPLACE:
      return text_replace(run, step, text, size, out);
    case SMR_TEXT_OP_PREPEND:
      return text_prepend(run, step, text, size, at_start, out);
    case SMR_TEXT_OP_STRIP:
      return text_strip(run, step, text, size, out);
    case SMR_TEXT_OP_CHARSMAP:
      return text_charsmap(run, step, text, size, out);
    case SMR_TEXT_OP_AROUND:
      return text_around(run, step, text, size, out);
    default:
      return text_bytes(run, text, size, out);
  }
}

samara_status smr_text_normalize(struct smr_text_run *run, const uint8_t *text, size_t size,
                                 bool at_start, const uint8_t **out, size_t *out_size) {
  size_t count;
  const uint32_t *steps = smr_text_steps_of(run->table, SMR_TEXT_NORMALIZER, &count);
  for (size_t i = 0; i < count; i++) {
    struct smr_text_buffer *to = &run->normal[i % 2];
    SMR_TRY(smr_text_step(run, steps + i * SMR_TEXT_ROW, text, size, at_start, to));
    text = to->data;
    size = to->size;
  }
  *out = text;
  *out_size = size;
  return SAMARA_OK;
}

void smr_text_run_end(struct smr_text_run *run) {
  for (int i = 0; i < 2; i++) smr_release(run->memory, run->normal[i].data);
  for (int i = 0; i < SMR_TEXT_STEPS; i++) smr_release(run->memory, run->steps[i].data);
  smr_release(run->memory, run->points.data);
  smr_release(run->memory, run->symbols.data);
  smr_release(run->memory, run->queue.data);
}
