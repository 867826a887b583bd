// SPDX-License-Identifier: Apache-2.0
// The FlatBuffer verifier and accessors over the descriptor rows of schema.inc.
#include "base/fp.h"

#include "model/fb.h"

#include <string.h>

#include "base/checked.h"

enum fb_kind {
  FB_U8,
  FB_U16,
  FB_U32,
  FB_I32,
  FB_I64,
  FB_U64,
  FB_F32,
  FB_BOOL,
  FB_STRING,
  FB_VEC_U32,
  FB_VEC_I32,
  FB_VEC_I64,
  FB_VEC_F32,
  FB_VEC_STRING,
  FB_VEC_STRUCT,
  FB_TABLE,
  FB_VEC_TABLE,
  FB_UNION_TYPE,
  FB_UNION,
};

enum {
  // Every visit costs the bytes it looks at, so that a few bytes which point at one big vector a
  // thousand times cannot buy unlimited work or memory. A writer that shares vectors stays far
  // below this many times its own size.
  FB_COST_PER_BYTE = 4,
  FB_COST_FREE = 1 << 16,
  FB_MAX_DEPTH = 16,  // the schema nests four deep and has no cycle
};

struct fb_field {
  const char *text;
  uint16_t id;
  uint8_t kind;
  bool required;
  uint16_t child;  // table, or bytes of a struct
};

static const struct fb_field fb_fields[] = {
#define SMR_FIELD(TABLE, field, text, id, KIND, child, required) \
  {text, (id), FB_##KIND, (required) != 0, (child)},
#include "model/schema.inc"
};

static const struct fb_table {
  const char *name;
  uint16_t first, count;
} fb_tables[] = {
#define SMR_TABLE(NAME, first_field, field_count) {#NAME, (first_field), (field_count)},
#include "model/schema.inc"
};

// Attribute table of a union type, which is the operator's code; -1 where there is none.
static int fb_union_table(uint8_t type) {
  switch (type) {
#define SMR_UNION(type_index, TABLE, op_code) \
  case (type_index):                          \
    return SMR_FB_##TABLE;
#include "model/schema.inc"
    default:
      return -1;
  }
}

static const uint8_t fb_scalar_bytes[] = {
    [FB_U8] = 1,  [FB_U16] = 2, [FB_U32] = 4,  [FB_I32] = 4,        [FB_I64] = 8,
    [FB_U64] = 8, [FB_F32] = 4, [FB_BOOL] = 1, [FB_UNION_TYPE] = 1,
};

static uint16_t fb_load16(const struct smr_fb *fb, size_t at) {
  uint16_t value;
  memcpy(&value, fb->data + at, sizeof value);
  return value;
}

static uint32_t fb_load32(const struct smr_fb *fb, size_t at) {
  uint32_t value;
  memcpy(&value, fb->data + at, sizeof value);
  return value;
}

// ---- verification ----

struct fb_walk {
  struct smr_fb fb;
  uint64_t budget;
  samara_error *error;
  const struct fb_table *table;  // where the walk is, for messages
  const struct fb_field *field;
};

static samara_status fb_bad(const struct fb_walk *walk, size_t at, const char *what) {
  SMR_FAIL(walk->error, BAD_MODEL, "%s%s%s at byte %zu: %s", walk->table->name,
           walk->field != NULL ? "." : "", walk->field != NULL ? walk->field->text : "", at, what);
}

static bool fb_spend(struct fb_walk *walk, size_t bytes) {
  if (bytes > walk->budget) return false;
  walk->budget -= bytes;
  return true;
}

// Follow the offset at `at`; *target holds at least four bytes, aligned to 4.
static samara_status fb_follow(struct fb_walk *walk, size_t at, size_t *target) {
  const uint32_t offset = fb_load32(&walk->fb, at);
  if (offset < 4 || offset > walk->fb.size - at) return fb_bad(walk, at, "offset out of bounds");
  const size_t to = at + offset;
  if (to % 4 != 0) return fb_bad(walk, at, "offset to a misaligned place");
  if (walk->fb.size - to < 4) return fb_bad(walk, at, "offset out of bounds");
  *target = to;
  return SAMARA_OK;
}

static samara_status fb_verify_string(struct fb_walk *walk, size_t at) {
  size_t to = 0;
  SMR_TRY(fb_follow(walk, at, &to));
  const size_t length = fb_load32(&walk->fb, to);
  if (length >= walk->fb.size - to - 4) return fb_bad(walk, to, "string out of bounds");
  if (walk->fb.data[to + 4 + length] != 0) return fb_bad(walk, to, "string without a NUL");
  return fb_spend(walk, 4) ? SAMARA_OK : fb_bad(walk, to, "the file refers to its parts too often");
}

static samara_status fb_verify_vector(struct fb_walk *walk, size_t at, size_t element_bytes,
                                      size_t alignment, size_t *first, uint32_t *count) {
  size_t to = 0, bytes;
  SMR_TRY(fb_follow(walk, at, &to));
  *count = fb_load32(&walk->fb, to);
  *first = to + 4;
  if (!smr_mul_size(*count, element_bytes, &bytes) || bytes > walk->fb.size - *first) {
    return fb_bad(walk, to, "vector out of bounds");
  }
  if (*first % alignment != 0) return fb_bad(walk, to, "misaligned vector");
  if (!fb_spend(walk, bytes + 4)) return fb_bad(walk, to, "the file refers to its parts too often");
  return SAMARA_OK;
}

// The bounds of the table at `at` and its vtable; *vtable, *vtable_bytes, *table_bytes describe
// them.
static samara_status fb_verify_head(struct fb_walk *walk, size_t at, size_t *vtable,
                                    size_t *vtable_bytes, size_t *table_bytes) {
  const size_t size = walk->fb.size;
  if (at < SMR_FB_HEADER_BYTES || at % 4 != 0 || at > size || size - at < 4) {
    return fb_bad(walk, at, "table out of bounds");
  }
  int32_t back;
  memcpy(&back, walk->fb.data + at, sizeof back);
  const int64_t start = (int64_t)at - back;
  if (start < SMR_FB_HEADER_BYTES || start % 2 != 0 || start > (int64_t)size - 4) {
    return fb_bad(walk, at, "vtable out of bounds");
  }
  *vtable = (size_t)start;
  *vtable_bytes = fb_load16(&walk->fb, *vtable);
  *table_bytes = fb_load16(&walk->fb, *vtable + 2);
  if (*vtable_bytes < 4 || *vtable_bytes % 2 != 0 || *vtable_bytes > size - *vtable) {
    return fb_bad(walk, at, "vtable out of bounds");
  }
  if (*table_bytes < 4 || *table_bytes > size - at) return fb_bad(walk, at, "table out of bounds");
  if (!fb_spend(walk, *table_bytes + 4)) {
    return fb_bad(walk, at, "the file refers to its parts too often");
  }
  return SAMARA_OK;
}

static samara_status fb_verify_table(struct fb_walk *walk, size_t at, unsigned index, int depth);

static samara_status fb_verify_tables(struct fb_walk *walk, size_t at, unsigned child, int depth) {
  size_t first;
  uint32_t count;
  SMR_TRY(fb_verify_vector(walk, at, 4, 4, &first, &count));
  for (uint32_t i = 0; i < count; i++) {
    size_t to = 0;
    SMR_TRY(fb_follow(walk, first + (size_t)i * 4, &to));
    SMR_TRY(fb_verify_table(walk, to, child, depth));
  }
  return SAMARA_OK;
}

static samara_status fb_verify_strings(struct fb_walk *walk, size_t at) {
  size_t first;
  uint32_t count;
  SMR_TRY(fb_verify_vector(walk, at, 4, 4, &first, &count));
  for (uint32_t i = 0; i < count; i++) {
    SMR_TRY(fb_verify_string(walk, first + (size_t)i * 4));
  }
  return SAMARA_OK;
}

// A field that is not a scalar; `at` is in bounds. `type` is that of the union before it.
static samara_status fb_verify_reference(struct fb_walk *walk, size_t at, uint8_t type, int depth) {
  const struct fb_field *field = walk->field;
  size_t to = 0;
  uint32_t count;
  switch ((enum fb_kind)field->kind) {
    case FB_STRING:
      return fb_verify_string(walk, at);
    case FB_VEC_U32:
    case FB_VEC_I32:
    case FB_VEC_F32:
      return fb_verify_vector(walk, at, 4, 4, &to, &count);
    case FB_VEC_I64:
      return fb_verify_vector(walk, at, 8, 8, &to, &count);
    case FB_VEC_STRUCT:
      return fb_verify_vector(walk, at, field->child, 8, &to, &count);
    case FB_VEC_STRING:
      return fb_verify_strings(walk, at);
    case FB_VEC_TABLE:
      return fb_verify_tables(walk, at, field->child, depth);
    case FB_TABLE:
      SMR_TRY(fb_follow(walk, at, &to));
      return fb_verify_table(walk, to, field->child, depth);
    case FB_UNION: {
      SMR_TRY(fb_follow(walk, at, &to));
      const int child = fb_union_table(type);
      // A type this version does not know belongs to an operator it does not know, which the
      // decoder refuses by its code; nobody looks inside.
      return child < 0 ? SAMARA_OK : fb_verify_table(walk, to, (unsigned)child, depth);
    }
    default:
      return fb_bad(walk, at, "unknown kind of field");
  }
}

static samara_status fb_verify_field(struct fb_walk *walk, size_t at, size_t offset,
                                     size_t table_bytes, uint8_t *type, int depth) {
  const uint8_t kind = walk->field->kind;
  const bool scalar = kind <= FB_BOOL || kind == FB_UNION_TYPE;
  const size_t bytes = scalar ? fb_scalar_bytes[kind] : 4;
  if (offset < 4 || offset > table_bytes || bytes > table_bytes - offset) {
    return fb_bad(walk, at, "field outside its table");
  }
  if ((at + offset) % bytes != 0) return fb_bad(walk, at + offset, "misaligned field");
  if (kind == FB_UNION_TYPE) *type = walk->fb.data[at + offset];
  if (kind == FB_BOOL && walk->fb.data[at + offset] > 1) {
    return fb_bad(walk, at + offset, "a bool is 0 or 1");
  }
  return scalar ? SAMARA_OK : fb_verify_reference(walk, at + offset, *type, depth);
}

static samara_status fb_verify_table(struct fb_walk *walk, size_t at, unsigned index, int depth) {
  const struct fb_table *const outer_table = walk->table;
  const struct fb_field *const outer_field = walk->field;
  if (depth <= 0) return fb_bad(walk, at, "tables nest too deep");
  size_t vtable, vtable_bytes, table_bytes;
  walk->table = &fb_tables[index];
  walk->field = NULL;
  SMR_TRY(fb_verify_head(walk, at, &vtable, &vtable_bytes, &table_bytes));
  uint8_t type = 0;
  for (unsigned i = 0; i < walk->table->count; i++) {
    const struct fb_field *field = &fb_fields[walk->table->first + i];
    walk->field = field;
    const size_t slot = 4 + 2 * (size_t)field->id;
    const size_t offset = slot + 2 <= vtable_bytes ? fb_load16(&walk->fb, vtable + slot) : 0;
    if (field->kind == FB_UNION && (offset != 0) != (type != 0)) {
      return fb_bad(walk, at, "a union has a type and a value, or neither");
    }
    if (offset != 0) {
      SMR_TRY(fb_verify_field(walk, at, offset, table_bytes, &type, depth - 1));
    } else if (field->required) {
      return fb_bad(walk, at, "missing");
    }
  }
  walk->table = outer_table;
  walk->field = outer_field;
  return SAMARA_OK;
}

static struct fb_walk fb_walk_start(const struct smr_fb *fb, samara_error *error) {
  return (struct fb_walk){
      .fb = *fb,
      .budget = (uint64_t)fb->size * FB_COST_PER_BYTE + FB_COST_FREE,
      .error = error,
      .table = &fb_tables[SMR_FB_MODEL],
  };
}

samara_status smr_fb_verify_root(const struct smr_fb *fb, uint32_t *root, samara_error *error) {
  struct fb_walk walk = fb_walk_start(fb, error);
  if (fb->size < SMR_FB_HEADER_BYTES + 8) SMR_FAIL(error, BAD_MODEL, "the program part is empty");
  size_t at = 0, vtable, vtable_bytes, table_bytes;
  SMR_TRY(fb_follow(&walk, 0, &at));
  SMR_TRY(fb_verify_head(&walk, at, &vtable, &vtable_bytes, &table_bytes));
  for (unsigned i = 0; i < walk.table->count; i++) {
    walk.field = &fb_fields[walk.table->first + i];
    const size_t slot = 4 + 2 * (size_t)walk.field->id;
    const size_t offset = slot + 2 <= vtable_bytes ? fb_load16(fb, vtable + slot) : 0;
    uint8_t type = 0;
    if (walk.field->kind <= FB_BOOL && offset != 0) {
      SMR_TRY(fb_verify_field(&walk, at, offset, table_bytes, &type, 1));
    } else if (walk.field->kind <= FB_BOOL && walk.field->required) {
      return fb_bad(&walk, at, "missing");
    }
  }
  *root = (uint32_t)at;
  return SAMARA_OK;
}

samara_status smr_fb_verify(const struct smr_fb *fb, uint32_t root, samara_error *error) {
  struct fb_walk walk = fb_walk_start(fb, error);
  return fb_verify_table(&walk, root, SMR_FB_MODEL, FB_MAX_DEPTH);
}

// ---- accessors ----

// Where field `id` is stored; 0 when it is not.
static size_t fb_place(const struct smr_fb *fb, uint32_t table, uint32_t id) {
  int32_t back;
  memcpy(&back, fb->data + table, sizeof back);
  const size_t vtable = (size_t)((int64_t)table - back);
  const size_t slot = 4 + 2 * (size_t)id;
  if (slot + 2 > fb_load16(fb, vtable)) return 0;
  const size_t offset = fb_load16(fb, vtable + slot);
  return offset != 0 ? table + offset : 0;
}

const void *smr_fb_scalar(const struct smr_fb *fb, uint32_t table, uint32_t id) {
  const size_t at = fb_place(fb, table, id);
  return at != 0 ? fb->data + at : NULL;
}

bool smr_fb_has(const struct smr_fb *fb, uint32_t table, uint32_t id) {
  return fb_place(fb, table, id) != 0;
}

#define FB_ACCESSOR(name, type)                                                           \
  type smr_fb_##name(const struct smr_fb *fb, uint32_t table, uint32_t id, type absent) { \
    const void *stored = smr_fb_scalar(fb, table, id);                                    \
    if (stored != NULL) memcpy(&absent, stored, sizeof absent);                           \
    return absent;                                                                        \
  }
FB_ACCESSOR(u8, uint8_t)
FB_ACCESSOR(u16, uint16_t)
FB_ACCESSOR(u32, uint32_t)
FB_ACCESSOR(i32, int32_t)
FB_ACCESSOR(u64, uint64_t)
FB_ACCESSOR(i64, int64_t)
FB_ACCESSOR(f32, float)
#undef FB_ACCESSOR

uint32_t smr_fb_child(const struct smr_fb *fb, uint32_t table, uint32_t id) {
  const size_t at = fb_place(fb, table, id);
  return at != 0 ? (uint32_t)(at + fb_load32(fb, at)) : 0;
}

struct smr_fb_vec smr_fb_vector(const struct smr_fb *fb, uint32_t table, uint32_t id) {
  const uint32_t at = smr_fb_child(fb, table, id);
  if (at == 0) return (struct smr_fb_vec){0};
  return (struct smr_fb_vec){.data = fb->data + at + 4, .count = fb_load32(fb, at)};
}

const char *smr_fb_string(const struct smr_fb *fb, uint32_t table, uint32_t id) {
  const uint32_t at = smr_fb_child(fb, table, id);
  return at != 0 ? (const char *)(fb->data + at + 4) : NULL;
}

const char *smr_fb_text(const struct smr_fb *fb, uint32_t table, uint32_t id) {
  const char *string = smr_fb_string(fb, table, id);
  return string != NULL ? string : "";
}

uint32_t smr_fb_element(const struct smr_fb *fb, struct smr_fb_vec vector, uint32_t index) {
  const size_t at = (size_t)((const uint8_t *)vector.data - fb->data) + (size_t)index * 4;
  return (uint32_t)(at + fb_load32(fb, at));
}

const char *smr_fb_element_text(const struct smr_fb *fb, struct smr_fb_vec vector, uint32_t index) {
  return (const char *)(fb->data + smr_fb_element(fb, vector, index) + 4);
}
