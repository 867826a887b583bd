// SPDX-License-Identifier: Apache-2.0
// Reading text: UTF-8, tries, automata, buffers.
#include "base/fp.h"

#include "text/text_scan.h"

#include <string.h>

#include "base/checked.h"

// ---- UTF-8 ----

// The range of the second byte behind a lead byte: low in the upper half.
static bool text_second_fits(uint8_t lead, uint8_t byte) {
  const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  return byte >= low && byte <= high;
}

static bool text_is_lead(uint8_t byte) { return byte >= 0xc2 && byte <= 0xf4; }

size_t smr_utf8_valid(const uint8_t *text, size_t size) {
  size_t at = 0;
  while (at < size) {
    if (text[at] < 0x80) {
      at++;
      continue;
    }
    if (!text_is_lead(text[at])) return at;
    const size_t bytes = smr_utf8_bytes(text[at]);
    if (bytes > size - at || !text_second_fits(text[at], text[at + 1])) return at;
    for (size_t i = 2; i < bytes; i++)
      if ((text[at + i] & 0xc0) != 0x80) return at;
    at += bytes;
  }
  return size;
}

size_t smr_utf8_write(uint32_t point, uint8_t out[4]) {
  if (point < 0x80) {
    out[0] = (uint8_t)point;
    return 1;
  }
  const size_t bytes = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = bytes; i-- > 1; point >>= 6) out[i] = (uint8_t)(0x80 | (point & 0x3f));
  out[0] = (uint8_t)(leads[bytes] | point);
  return bytes;
}

samara_status smr_utf8_lossy_end(struct smr_utf8_lossy *lossy, struct smr_text_buffer *out,
                                 const samara_allocator *memory, samara_error *error) {
  if (lossy->count == 0) return SAMARA_OK;
  lossy->count = 0;
  return smr_text_append(out, "\xef\xbf\xbd", 3, memory, error);
}

samara_status smr_utf8_lossy_push(struct smr_utf8_lossy *lossy, uint8_t byte,
                                  struct smr_text_buffer *out, const samara_allocator *memory,
                                  samara_error *error) {
  if (lossy->count != 0) {
    const bool fits =
        lossy->count == 1 ? text_second_fits(lossy->held[0], byte) : (byte & 0xc0) == 0x80;
    if (fits) {
      lossy->held[lossy->count++] = byte;
      if (lossy->count < smr_utf8_bytes(lossy->held[0])) return SAMARA_OK;
      const size_t bytes = lossy->count;
      lossy->count = 0;
      return smr_text_append(out, lossy->held, bytes, memory, error);
    }
    SMR_TRY(smr_utf8_lossy_end(lossy, out, memory, error));
  }
  if (byte < 0x80) return smr_text_append(out, &byte, 1, memory, error);
  lossy->held[0] = byte;
  lossy->count = 1;
  return text_is_lead(byte) ? SAMARA_OK : smr_utf8_lossy_end(lossy, out, memory, error);
}

// ---- buffers ----

samara_status smr_text_reserve(struct smr_text_buffer *buffer, size_t more,
                               const samara_allocator *memory, samara_error *error) {
  if (more <= buffer->capacity - buffer->size) return SAMARA_OK;
  size_t needed, capacity = buffer->capacity < 128 ? 256 : buffer->capacity * 2;
  if (!smr_add_size(buffer->size, more, &needed) || needed > SIZE_MAX / 4)
    return smr_no_memory(error, SIZE_MAX);
  if (capacity < needed) capacity = needed;
  uint8_t *data = (uint8_t *)smr_allocate(memory, capacity);
  if (data == NULL) return smr_no_memory(error, capacity);
  if (buffer->size != 0) memcpy(data, buffer->data, buffer->size);
  smr_release(memory, buffer->data);
  buffer->data = data;
  buffer->capacity = capacity;
  return SAMARA_OK;
}

samara_status smr_text_append(struct smr_text_buffer *buffer, const void *data, size_t size,
                              const samara_allocator *memory, samara_error *error) {
  SMR_TRY(smr_text_reserve(buffer, size, memory, error));
  if (size != 0) memcpy(buffer->data + buffer->size, data, size);
  buffer->size += size;
  return SAMARA_OK;
}

// ---- tries ----

uint32_t smr_text_child(const struct smr_text_trie *trie, uint32_t node, uint8_t byte) {
  uint32_t low = trie->first[node], high = trie->first[node + 1];
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (trie->label[middle] < byte)
      low = middle + 1;
    else
      high = middle;
  }
  return low < trie->first[node + 1] && trie->label[low] == byte ? low : 0;
}

uint32_t smr_text_walk(const struct smr_text_trie *trie, uint32_t node, const uint8_t *text,
                       size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (node >= trie->nodes) return SMR_TEXT_NONE;
    node = smr_text_child(trie, node, text[i]);
    if (node == 0) return SMR_TEXT_NONE;
  }
  return node;
}

uint32_t smr_text_find(const struct smr_text_trie *trie, const uint8_t *text, size_t size) {
  if (trie->nodes == 0) return SMR_TEXT_NONE;
  const uint32_t node = smr_text_walk(trie, 0, text, size);
  return node >= trie->nodes ? SMR_TEXT_NONE : trie->value[node] - 1;
}

// ---- automata ----

size_t smr_text_match(const struct smr_text_dfa *dfa, const uint8_t *text, size_t size,
                      size_t *read) {
  size_t at = 0, end = 0;
  uint32_t state = 1;
  while (state != 0) {
    const bool more = at < size;
    const uint32_t column =
        more ? smr_text_class(&dfa->classes, smr_utf8_read(text + at)) : dfa->width - 1;
    const uint32_t next = dfa->rows[(size_t)state * dfa->width + column];
    if ((next & SMR_TEXT_MATCH) != 0) end = at;
    state = more ? next & (SMR_TEXT_MATCH - 1) : 0;
    if (more) at += smr_utf8_bytes(text[at]);
  }
  *read += at;
  return end;
}

samara_status smr_text_next(struct smr_text_search *search, size_t *start, size_t *end, bool *found,
                            samara_error *error) {
  // Expressions of tokenizers read a character once or twice.
  const size_t most = search->size * 64 + 4096;
  *found = false;
  while (search->at < search->size) {
    const size_t at = search->at;
    const size_t bytes =
        smr_text_match(&search->dfa, search->text + at, search->size - at, &search->read);
    if (search->read > most)
      SMR_FAIL(error, LIMIT,
               "an expression of the tokenizer reads this text of %zu bytes more than 64 times",
               search->size);
    search->at += bytes != 0 ? bytes : smr_utf8_bytes(search->text[at]);
    if (bytes == 0) continue;
    *start = at;
    *end = at + bytes;
    *found = true;
    break;
  }
  return SAMARA_OK;
}
