/* SPDX-License-Identifier: Apache-2.0 */
/* Reading text: UTF-8, classes of characters, tries and automata, and buffers that grow. */
#ifndef SMR_TEXT_TEXT_SCAN_H_
#define SMR_TEXT_TEXT_SCAN_H_

#include "base/alloc.h"
#include "base/error.h"
#include "text/text_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The number of leading bytes that are valid UTF-8; `size` if all are.
size_t smr_utf8_valid(const uint8_t *text, size_t size);

/// Bytes of the character that begins with `lead`, in valid UTF-8.
static inline size_t smr_utf8_bytes(uint8_t lead) {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/// The character at `text`, in valid UTF-8.
static inline uint32_t smr_utf8_read(const uint8_t *text) {
  const uint32_t a = text[0];
  if (a < 0x80) return a;
  if (a < 0xe0) return (a & 0x1f) << 6 | (text[1] & 0x3f);
  if (a < 0xf0) return (a & 0xf) << 12 | (uint32_t)(text[1] & 0x3f) << 6 | (text[2] & 0x3f);
  return (a & 7) << 18 | (uint32_t)(text[1] & 0x3f) << 12 | (uint32_t)(text[2] & 0x3f) << 6 |
         (text[3] & 0x3f);
}

/// Write a character; returns its bytes (1..4).
size_t smr_utf8_write(uint32_t point, uint8_t out[4]);

/// Decodes bytes that may be no UTF-8. Each longest start of a character that is cut off, and each
/// other byte, becomes U+FFFD.
struct smr_utf8_lossy {
  uint8_t held[4];
  uint8_t count;
};

/// Memory that grows. Zeroed at first; release `data` with the allocator.
struct smr_text_buffer {
  uint8_t *data;
  size_t size, capacity;
};

/// Room for `more` further bytes behind `size`. OUT_OF_MEMORY.
samara_status smr_text_reserve(struct smr_text_buffer *buffer, size_t more,
                               const samara_allocator *memory, samara_error *error);
samara_status smr_text_append(struct smr_text_buffer *buffer, const void *data, size_t size,
                              const samara_allocator *memory, samara_error *error);

/// Append one byte's worth of text.
samara_status smr_utf8_lossy_push(struct smr_utf8_lossy *lossy, uint8_t byte,
                                  struct smr_text_buffer *out, const samara_allocator *memory,
                                  samara_error *error);
/// Append what is held back as U+FFFD.
samara_status smr_utf8_lossy_end(struct smr_utf8_lossy *lossy, struct smr_text_buffer *out,
                                 const samara_allocator *memory, samara_error *error);

static inline uint8_t smr_text_class(const struct smr_text_classes *classes, uint32_t point) {
  return classes->blocks[(size_t)classes->first[point >> 8] * 256 + (point & 255)];
}

/// The child of `node` by `byte`; 0 if there is none.
uint32_t smr_text_child(const struct smr_text_trie *trie, uint32_t node, uint8_t byte);
/// The node behind `size` bytes from `node`; 0 if there is none. SMR_TEXT_NONE stays.
uint32_t smr_text_walk(const struct smr_text_trie *trie, uint32_t node, const uint8_t *text,
                       size_t size);
/// The value of a whole string; SMR_TEXT_NONE if the trie lacks it.
uint32_t smr_text_find(const struct smr_text_trie *trie, const uint8_t *text, size_t size);

/// The length of the match of `dfa` at `text`; 0 for none. Adds the bytes read to *read.
size_t smr_text_match(const struct smr_text_dfa *dfa, const uint8_t *text, size_t size,
                      size_t *read);

/// Searches matches from left to right.
struct smr_text_search {
  struct smr_text_dfa dfa;
  const uint8_t *text;
  size_t size, at, read;
};

/// The next match: *start and *end. False behind the last one. LIMIT if the automaton reads the
/// text far more often than expressions of tokenizers do.
samara_status smr_text_next(struct smr_text_search *search, size_t *start, size_t *end, bool *found,
                            samara_error *error);

#endif /* SMR_TEXT_TEXT_SCAN_H_ */
