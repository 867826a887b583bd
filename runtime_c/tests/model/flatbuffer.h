// SPDX-License-Identifier: Apache-2.0
// Writes FlatBuffers for C tests, forward: a table's children follow it.
#ifndef SMR_TESTS_MODEL_FLATBUFFER_H
#define SMR_TESTS_MODEL_FLATBUFFER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct fbb {
  uint8_t *data;
  size_t size, capacity;
};

static inline size_t fbb_grow(struct fbb *b, size_t bytes, size_t alignment) {
  const size_t at = (b->size + alignment - 1) / alignment * alignment;
  if (at + bytes > b->capacity) {
    b->capacity = (at + bytes) * 2;
    b->data = (uint8_t *)realloc(b->data, b->capacity);
    assert(b->data != NULL);
  }
  memset(b->data + b->size, 0, at + bytes - b->size);
  b->size = at + bytes;
  return at;
}

static inline void fbb_put(struct fbb *b, size_t at, const void *value, size_t bytes) {
  memcpy(b->data + at, value, bytes);
}

/// A zeroed table. `layout` has a letter per field id: b h i l for 1, 2, 4, 8 bytes, r for an
/// offset, - for a field that is absent.
static inline size_t fbb_table(struct fbb *b, const char *layout) {
  const uint16_t fields = (uint16_t)strlen(layout);
  const size_t vtable = fbb_grow(b, 4 + 2 * (size_t)fields, 2);
  const size_t table = fbb_grow(b, 4, 8);
  for (uint16_t i = 0; i < fields; i++) {
    const char kind = layout[i];
    if (kind == '-') continue;
    const size_t bytes = kind == 'b' ? 1 : kind == 'h' ? 2 : kind == 'l' ? 8 : 4;
    const uint16_t offset = (uint16_t)(fbb_grow(b, bytes, bytes) - table);
    fbb_put(b, vtable + 4 + 2 * (size_t)i, &offset, 2);
  }
  const uint16_t head[2] = {(uint16_t)(4 + 2 * fields), (uint16_t)(b->size - table)};
  const int32_t back = (int32_t)(table - vtable);
  fbb_put(b, vtable, head, 4);
  fbb_put(b, table, &back, 4);
  return table;
}

/// Where field `id` of a table is stored; it must be there.
static inline size_t fbb_field(const struct fbb *b, size_t table, uint32_t id) {
  int32_t back;
  uint16_t offset;
  memcpy(&back, b->data + table, 4);
  memcpy(&offset, b->data + table - (size_t)back + 4 + 2 * id, 2);
  assert(offset != 0);
  return table + offset;
}

static inline void fbb_u8(struct fbb *b, size_t table, uint32_t id, unsigned value) {
  const uint8_t v = (uint8_t)value;
  fbb_put(b, fbb_field(b, table, id), &v, 1);
}
static inline void fbb_u16(struct fbb *b, size_t table, uint32_t id, unsigned value) {
  const uint16_t v = (uint16_t)value;
  fbb_put(b, fbb_field(b, table, id), &v, 2);
}
static inline void fbb_u32(struct fbb *b, size_t table, uint32_t id, uint32_t value) {
  fbb_put(b, fbb_field(b, table, id), &value, 4);
}
static inline void fbb_i32(struct fbb *b, size_t table, uint32_t id, int32_t value) {
  fbb_put(b, fbb_field(b, table, id), &value, 4);
}
static inline void fbb_f32(struct fbb *b, size_t table, uint32_t id, float value) {
  fbb_put(b, fbb_field(b, table, id), &value, 4);
}
static inline void fbb_u64(struct fbb *b, size_t table, uint32_t id, uint64_t value) {
  fbb_put(b, fbb_field(b, table, id), &value, 8);
}

/// Make the offset stored at `at` point to `target`.
static inline void fbb_link(struct fbb *b, size_t at, size_t target) {
  const uint32_t offset = (uint32_t)(target - at);
  fbb_put(b, at, &offset, 4);
}

/// Append a vector whose first element is aligned to its size; returns where its count is.
static inline size_t fbb_vector(struct fbb *b, const void *elements, uint32_t count, size_t bytes,
                                size_t alignment) {
  while ((b->size + 4) % alignment != 0 || b->size % 4 != 0) fbb_grow(b, 1, 1);
  const size_t at = fbb_grow(b, 4 + count * bytes, 4);
  fbb_put(b, at, &count, 4);
  if (count != 0 && elements != NULL) fbb_put(b, at + 4, elements, count * bytes);
  return at;
}

static inline void fbb_list(struct fbb *b, size_t table, uint32_t id, const void *elements,
                            uint32_t count, size_t bytes, size_t alignment) {
  const size_t at = fbb_vector(b, elements, count, bytes, alignment);
  fbb_link(b, fbb_field(b, table, id), at);
}

static inline size_t fbb_string(struct fbb *b, const char *text) {
  const uint32_t length = (uint32_t)strlen(text);
  const size_t at = fbb_grow(b, 4 + (size_t)length + 1, 4);
  fbb_put(b, at, &length, 4);
  fbb_put(b, at + 4, text, (size_t)length);
  return at;
}

static inline void fbb_text(struct fbb *b, size_t table, uint32_t id, const char *text) {
  const size_t at = fbb_string(b, text);
  fbb_link(b, fbb_field(b, table, id), at);
}

/// A vector of `count` offsets; returns where the first one is, to be linked.
static inline size_t fbb_offsets(struct fbb *b, size_t table, uint32_t id, uint32_t count) {
  const size_t at = fbb_vector(b, NULL, count, 4, 4);
  fbb_link(b, fbb_field(b, table, id), at);
  return at + 4;
}

/// A vector of `count` tables or strings; `write` appends number `i` and returns where it is.
#define FBB_EACH(b, table, id, count, write)                        \
  do {                                                              \
    const size_t first_ = fbb_offsets((b), (table), (id), (count)); \
    for (uint32_t i = 0; i < (count); i++) {                        \
      const size_t at_ = (write);                                   \
      fbb_link((b), first_ + 4 * (size_t)i, at_);                   \
    }                                                               \
  } while (0)

static inline void fbb_texts(struct fbb *b, size_t table, uint32_t id, const char *const *texts,
                             uint32_t count) {
  FBB_EACH(b, table, id, count, fbb_string(b, texts[i]));
}

#endif
