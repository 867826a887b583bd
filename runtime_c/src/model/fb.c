// SPDX-License-Identifier: Apache-2.0
// The walk over a file's FlatBuffer: checks each part before it reads it.
#include "base/fp.h"

#include "model/fb.h"

#include <string.h>

#include "base/build.h"
#include "base/format.h"
#include "ops/table/attrs.h"

enum fb_kind {
  FB_U8,
  FB_U16,
  FB_U32,
  FB_I32,
  FB_I64,
  FB_U64,
  FB_F32,
  FB_BOOL,
  FB_UNION_TYPE,
  FB_STRING,
  FB_VEC_U32,
  FB_VEC_I32,
  FB_VEC_I64,
  FB_VEC_U64,
  FB_VEC_F32,
  FB_VEC_STRUCT,
  FB_VEC_STRING,
  FB_VEC_TABLE,
  FB_TABLE,
  FB_UNION,
  FB_END,
  FB_REQUIRED = 0x80,
};

// Bytes of a scalar, or of an element.
static const uint8_t fb_bytes[] = {
    [FB_U8] = 1,         [FB_U16] = 2,
    [FB_U32] = 4,        [FB_I32] = 4,
    [FB_I64] = 8,        [FB_U64] = 8,
    [FB_F32] = 4,        [FB_BOOL] = 1,
    [FB_UNION_TYPE] = 1, [FB_STRING] = 1,
    [FB_VEC_U32] = 4,    [FB_VEC_I32] = 4,
    [FB_VEC_I64] = 8,    [FB_VEC_U64] = 8,
    [FB_VEC_F32] = 4,    [FB_VEC_STRUCT] = sizeof(struct smr_expr),
    [FB_VEC_STRING] = 4, [FB_VEC_TABLE] = 4,
    [FB_TABLE] = 4,      [FB_UNION] = 4,
};
_Static_assert(sizeof(struct smr_expr) == 24, "an expression is laid out as in the file");

enum {
  // Limit of visited bytes per byte of the file: a small file that points at one big vector a
  // thousand times must not cause unlimited work or memory. Writers that share vectors stay far
  // below it.
  FB_COST_PER_BYTE = 4,
  FB_COST_FREE = 1 << 16,
  FB_SCHEMA_VERSION = 1,
  FB_UNION_MEMBERS = 250,  // per union of attribute tables; FlatBuffers allow 255
};

enum { RANK = 1, SAME = 2, WALK = 1 };  // of layout.inc

// ---- rows of layout.inc joined with schema.inc ----

enum {
#define SMR_FIELD(TABLE, field, text, id, KIND, child, required) \
  FB_KIND_##TABLE##_##field = FB_##KIND | ((required) ? FB_REQUIRED : 0),
#include "model/schema.inc"
  FB_KIND_END
};

enum {
#define SMR_FIELD(TABLE, field, text, id, KIND, child, required) \
  FB_CHILD_##TABLE##_##field = FB_##KIND == FB_VEC_STRUCT ? (int)SMR_FB_EXPR : (child),
#include "model/schema.inc"
  FB_CHILD_END
};

// A row for each table, which also ends the previous one, followed by a row for each of its fields.
enum {
#define SMR_READ_TABLE(TABLE, name, type) FB_ROW_##TABLE,
#define SMR_READ(TABLE, field, at, count_at, refers, absent) FB_ROW_##TABLE##_##field,
#include "model/layout.inc"
  FB_ROW_END
};

static const struct fb_row {
  uint8_t id, kind;  // of schema.inc
  uint8_t refers;    // the table of the children, or what the values refer to
  int8_t absent;
  uint8_t at, count_at;  // of a table, at: the bytes of its struct
} fb_rows[] = {
#define SMR_READ_TABLE(TABLE, name, type) {0, FB_END, 0, 0, (uint8_t)sizeof(struct type), 0},
#define SMR_READ(TABLE, field, at, count_at, refers, absent) \
  {SMR_FB_##TABLE##_##field,                                 \
   FB_KIND_##TABLE##_##field,                                \
   (int)SMR_FB_##refers + (int)FB_CHILD_##TABLE##_##field,   \
   (absent),                                                 \
   (at),                                                     \
   (count_at)},
#include "model/layout.inc"
    {.kind = FB_END},
};

static const uint8_t fb_tables[] = {
#define SMR_READ_TABLE(TABLE, name, type) [SMR_FB_##TABLE] = FB_ROW_##TABLE,
#define SMR_READ(TABLE, field, at, count_at, refers, absent)
#include "model/layout.inc"
};

// Names of the rows for messages, concatenated.
static const char fb_names[] =
#define SMR_READ_TABLE(TABLE, name, type) #name "\0"
#define SMR_READ(TABLE, field, at, count_at, refers, absent) #field "\0"
#include "model/layout.inc"
    ;

static const char *fb_row_name(unsigned row) {
  const char *name = fb_names;
  while (row-- != 0) name += strlen(name) + 1;
  return name;
}

// ---- failures ----

static const char *fb_field_name(const struct smr_fb_walk *walk) {
  return walk->attr != NULL ? walk->attr : fb_row_name(walk->row);
}

static samara_status fb_bad(const struct smr_fb_walk *walk, size_t at, const char *what) {
  SMR_FAIL(walk->error, BAD_MODEL, "%s at byte %u: %s", fb_field_name(walk), (unsigned)at, what);
}

samara_status smr_fb_where(const struct smr_fb_walk *walk, samara_status status,
                           enum smr_fb_table table, const char *name) {
  return smr_fail_prefix(walk->error, status, "%s '%.80s': ", fb_row_name(fb_tables[table]), name);
}

void *smr_fb_take(struct smr_fb_walk *walk, size_t count, size_t size_bytes) {
  void *memory = smr_bump_take(&walk->bump, count, size_bytes);
  return memory != NULL ? memset(memory, 0, count * size_bytes) : NULL;
}

// ---- checks ----

static uint32_t fb_load16(const struct smr_fb_walk *walk, size_t at) {
  uint16_t value;
  memcpy(&value, walk->data + at, sizeof value);
  return value;
}

static uint32_t fb_load32(const struct smr_fb_walk *walk, size_t at) {
  uint32_t value;
  memcpy(&value, walk->data + at, sizeof value);
  return value;
}

static samara_status fb_spend(struct smr_fb_walk *walk, size_t at, size_t bytes) {
  if (bytes > walk->budget) return fb_bad(walk, at, "referred to too often");
  walk->budget -= bytes;
  return SAMARA_OK;
}

// Follow the offset at `*at`, to at least four bytes, aligned to 4.
static samara_status fb_follow(const struct smr_fb_walk *walk, size_t *at) {
  const uint32_t offset = fb_load32(walk, *at);
  if (offset < 4 || offset > walk->size - *at - 4) return fb_bad(walk, *at, "out of bounds");
  if ((*at + offset) % 4 != 0) return fb_bad(walk, *at, "misaligned");
  *at += offset;
  return SAMARA_OK;
}

// A table and its vtable, both within bounds.
struct fb_table {
  size_t at, vtable;
  uint32_t bytes, vtable_bytes;
};

static samara_status fb_open_table(struct smr_fb_walk *walk, size_t at, struct fb_table *table) {
  // If the subtraction wraps around, the result is beyond the end, too.
  const size_t vtable = at - (size_t)(int32_t)fb_load32(walk, at);
  if (at >= SMR_FB_HEADER_BYTES && vtable >= SMR_FB_HEADER_BYTES && vtable % 2 == 0 &&
      vtable <= walk->size - 4) {
    *table = (struct fb_table){at, vtable, fb_load16(walk, vtable + 2), fb_load16(walk, vtable)};
    if (table->vtable_bytes >= 4 && table->vtable_bytes % 2 == 0 &&
        table->vtable_bytes <= walk->size - vtable && table->bytes >= 4 &&
        table->bytes <= walk->size - at) {
      return fb_spend(walk, at, table->bytes + 4);
    }
  }
  return fb_bad(walk, at, "table out of bounds");
}

// Position of a field: of the value, of the first element or character, or of the offset to a
// table; 0 if the field is absent.
struct fb_found {
  size_t at;
  uint32_t count;
};

// Follow an offset to elements of `kind`.
static samara_status fb_open_vector(struct smr_fb_walk *walk, unsigned kind,
                                    struct fb_found *found) {
  SMR_TRY(fb_follow(walk, &found->at));
  const size_t element = fb_bytes[kind], at = found->at, room = walk->size - at - 4;
  found->count = fb_load32(walk, at);
  found->at = at + 4;
  size_t bytes = found->count * element;
  if (found->count > room / element) return fb_bad(walk, at, "out of bounds");
  if (element % 8 == 0 && found->at % 8 != 0) return fb_bad(walk, at, "misaligned");
  if (kind == FB_STRING) {
    if (bytes == room || walk->data[found->at + bytes] != 0) return fb_bad(walk, at, "no NUL");
    bytes = 0;  // not walked
  }
  return fb_spend(walk, at, bytes + 4);
}

static samara_status fb_find(struct smr_fb_walk *walk, const struct fb_table *table, unsigned id,
                             unsigned kind, struct fb_found *found) {
  const size_t slot = 4 + 2 * (size_t)id;
  const uint32_t offset =
      slot + 2 <= table->vtable_bytes ? fb_load16(walk, table->vtable + slot) : 0;
  *found = (struct fb_found){0, 0};
  if (offset == 0) {
    return (kind & FB_REQUIRED) != 0 ? fb_bad(walk, table->at, "missing") : SAMARA_OK;
  }
  kind &= ~(unsigned)FB_REQUIRED;
  const uint32_t bytes = kind < FB_STRING ? fb_bytes[kind] : 4;
  const size_t at = table->at + offset;
  if (offset < 4 || offset + bytes > table->bytes) return fb_bad(walk, at, "out of bounds");
  if (at % bytes != 0) return fb_bad(walk, at, "misaligned");
  *found = (struct fb_found){at, 1};
  if (kind == FB_BOOL && walk->data[at] > 1) return fb_bad(walk, at, "a bool is 0 or 1");
  return kind >= FB_STRING && kind < FB_TABLE ? fb_open_vector(walk, kind, found) : SAMARA_OK;
}

// Text for operator `code`: its name if the file has it (lines "81 conv"), else the code, written
// to `number`. *length is the length of the result.
static const char *fb_op_text(const struct smr_fb_walk *walk, int code, char *number, size_t room,
                              size_t *length) {
  const size_t key = smr_format(number, room, "%d ", code);
  *length = key - 1;
  const char *line = walk->model->operators;
  while (*line != '\0') {
    size_t end = 0;
    while (line[end] != '\0' && line[end] != '\n') end++;
    if (end > key && memcmp(line, number, key) == 0) {
      *length = end - key;
      return line + key;
    }
    line += end + (line[end] != '\0');
  }
  return number;
}

// Check an index or a code against the number of its targets.
static samara_status fb_refer(const struct smr_fb_walk *walk, unsigned what, int64_t least,
                              int64_t value) {
  const bool good = what == SMR_FB_DTYPE ? smr_dtype_bytes((uint8_t)value) != 0
                    : what == SMR_FB_OP  ? smr_op_find((uint16_t)value) != NULL
                                         : value >= least && value < walk->counts[what];
  if (good) return SAMARA_OK;
  if (what == SMR_FB_RUNTIME || what == SMR_FB_SCHEMA) {
    SMR_FAIL(walk->error, BAD_VERSION, "%s %u.%u.%u is newer than this samara " SAMARA_VERSION,
             fb_field_name(walk), (unsigned)(value >> 16), (unsigned)(value >> 8 & 0xff),
             (unsigned)(value & 0xff));
  }
  if (what == SMR_FB_OP) {
    char number[16];
    size_t length;
    const char *name = fb_op_text(walk, (int)value, number, sizeof number, &length);
    SMR_FAIL(walk->error, UNSUPPORTED,
             "operator %.*s is not in this build of samara " SAMARA_VERSION
             ": run samara build with this model to make one that has it",
             (int)(length < 80 ? length : 80), name);
  }
  if (what >= SMR_FB_DTYPE) {
    SMR_FAIL(walk->error, UNSUPPORTED, "%s %d is not in this build of samara " SAMARA_VERSION,
             fb_field_name(walk), (int)value);
  }
  SMR_FAIL(walk->error, BAD_MODEL, "%s is %d of %u", fb_field_name(walk), (int)value,
           (unsigned)walk->counts[what]);
}

// ---- reading ----

static samara_status fb_read_table(struct smr_fb_walk *walk, size_t at, unsigned table,
                                   uint8_t *out);

// A buffer for any struct, for the counting walk.
enum { FB_LARGEST = sizeof(struct smr_function) };
_Static_assert(FB_LARGEST <= UINT8_MAX, "offsets of members fit the rows");
#define SMR_READ_TABLE(TABLE, name, type) \
  _Static_assert(SMR_FB_##TABLE == SMR_FB_MODEL || sizeof(struct type) <= FB_LARGEST, #type);
#define SMR_READ(TABLE, field, at, count_at, refers, absent)
#include "model/layout.inc"

// Read `count` tables through the offsets from `found` on, into *array.
static samara_status fb_read_tables(struct smr_fb_walk *walk, unsigned table, struct fb_found found,
                                    void **array) {
  const struct fb_row *row = &fb_rows[fb_tables[table]];
  const size_t size = row->at;
  *array = smr_fb_take(walk, found.count, size);
  walk->counts[table] = found.count;
  for (uint32_t i = 0; i < found.count; i++) {
    uint64_t scratch[FB_LARGEST / 8] = {0};
    uint8_t *const out = *array != NULL ? (uint8_t *)*array + i * size : (uint8_t *)scratch;
    size_t at = found.at + 4 * (size_t)i;
    samara_status status = fb_follow(walk, &at);
    if (status == SAMARA_OK) status = fb_read_table(walk, at, table, out);
    if (status == SAMARA_OK) status = smr_decode_part(walk, (enum smr_fb_table)table, out);
    if (status == SAMARA_OK) continue;
    char number[16];
    const char *name = NULL;
    if (row[1].kind == (FB_STRING | FB_REQUIRED)) memcpy(&name, out + row[1].at, sizeof name);
    smr_format(number, sizeof number, "%u", (unsigned)i);
    return smr_fb_where(walk, status, (enum smr_fb_table)table, name != NULL ? name : number);
  }
  return SAMARA_OK;
}

static samara_status fb_read_strings(struct smr_fb_walk *walk, struct fb_found found,
                                     void **array) {
  const char **texts = smr_fb_take(walk, found.count, sizeof *texts);
  *array = texts;
  for (uint32_t i = 0; i < found.count; i++) {
    struct fb_found text = {found.at + 4 * (size_t)i, 0};
    SMR_TRY(fb_open_vector(walk, FB_STRING, &text));
    if (texts != NULL) texts[i] = (const char *)walk->data + text.at;
  }
  return SAMARA_OK;
}

static samara_status fb_store_scalar(struct smr_fb_walk *walk, const struct fb_row *row,
                                     unsigned kind, struct fb_found found, uint8_t *out) {
  uint8_t *const member = (row->count_at == WALK ? (uint8_t *)walk : out) + row->at;
  int64_t value = row->absent;
  if (found.at != 0) {
    value = 0;
    memcpy(&value, walk->data + found.at, fb_bytes[kind]);
    if (kind == FB_I32) value = (int32_t)value;
  }
  if (row->refers != SMR_FB_NONE) {
    SMR_TRY(fb_refer(walk, row->refers, row->absent < 0 ? -1 : 0, value));
  }
  if (row->refers != SMR_FB_OP) {
    memcpy(member, &value, fb_bytes[kind]);
    return SAMARA_OK;
  }
  const struct smr_op *op = smr_op_find((uint16_t)value);
  memcpy(member, &op, sizeof op);
  return smr_op_expect_built(op, walk->error);
}

static samara_status fb_read_attrs(struct smr_fb_walk *walk, unsigned which, struct fb_found found,
                                   struct smr_node *node);

// Store a field in the struct at `out`.
static samara_status fb_store(struct smr_fb_walk *walk, const struct fb_row *row,
                              struct fb_found found, uint8_t *out) {
  const unsigned kind = row->kind & ~(unsigned)FB_REQUIRED;
  uint8_t *const member = out + row->at;
  void *pointer = found.at != 0 ? (void *)(walk->data + found.at) : NULL;
  if (kind < FB_STRING) return fb_store_scalar(walk, row, kind, found, out);
  if (kind == FB_UNION)
    return fb_read_attrs(walk, row->count_at, found, (struct smr_node *)(void *)out);
  if (row->absent == RANK) {
    if (found.count > SAMARA_MAX_RANK) return fb_bad(walk, found.at, "rank above 8");
    out[row->count_at] = (uint8_t)found.count;
  } else if (row->absent == SAME) {
    uint32_t before;
    memcpy(&before, out + row->count_at, sizeof before);
    if (before != found.count) return fb_bad(walk, found.at, "not as many as before");
  } else if (row->count_at != 0) {
    memcpy(out + row->count_at, &found.count, sizeof found.count);
  }
  switch (kind) {
    case FB_STRING:
      if (pointer == NULL) pointer = (void *)"";
      break;
    case FB_VEC_STRUCT:
      walk->counts[row->refers] = found.count;
      pointer = smr_fb_take(walk, found.count, fb_bytes[kind]);
      if (pointer != NULL) memcpy(pointer, walk->data + found.at, found.count * fb_bytes[kind]);
      break;
    case FB_VEC_I64:
      if (row->absent != RANK) break;
      if (pointer != NULL) memcpy(member, pointer, found.count * sizeof(int64_t));
      return SAMARA_OK;
    case FB_VEC_STRING:
      SMR_TRY(fb_read_strings(walk, found, &pointer));
      break;
    case FB_VEC_TABLE:
    case FB_TABLE:
      SMR_TRY(fb_read_tables(walk, row->refers, found, &pointer));
      break;
    default:
      if (row->refers == SMR_FB_NONE) break;
      for (uint32_t i = 0; i < found.count; i++) {
        const uint32_t value = fb_load32(walk, found.at + 4 * (size_t)i);
        SMR_TRY(fb_refer(walk, row->refers, row->absent < 0 ? -1 : 0,
                         kind == FB_VEC_I32 ? (int32_t)value : (int64_t)value));
      }
      break;
  }
  memcpy(member, &pointer, sizeof pointer);
  return SAMARA_OK;
}

// ---- attributes: as ops/table/attrs.h describes them, by position ----

#define ATTR(type, KIND, member, count, refers) \
  [SMR_ATTR_##type] = {                         \
      0, FB_##KIND, SMR_FB_##refers, -1, offsetof(struct smr_node_attr, member), (count)}
#define COUNT(member) offsetof(struct smr_node_attr, member)
static const struct fb_row fb_attr_rows[] = {
    ATTR(INT, I64, literal.i, 0, NONE),
    ATTR(BOOL, BOOL, literal.i, 0, NONE),
    ATTR(F32, F32, literal.f, 0, NONE),
    ATTR(ENUM, U8, literal.i, 0, CHOICE),
    ATTR(DTYPE, U8, literal.i, 0, DTYPE),
    ATTR(INTS, VEC_I64, literal.ints, COUNT(literal.count), NONE),
    ATTR(FLOATS, VEC_F32, literal.floats, COUNT(literal.count), NONE),
    ATTR(STRING, STRING, literal.text, COUNT(literal.count), NONE),
    ATTR(DIM, I32, expr_count, 0, EXPR),
    ATTR(DIMS, VEC_U32, exprs, COUNT(expr_count), EXPR),
    ATTR(FUNCTION, U32, literal.i, 0, FUNCTION),
    ATTR(NAMED, VEC_TABLE, literal.named, COUNT(literal.count), NAMED_VALUE),
};
#undef ATTR
#undef COUNT

static samara_status fb_read_attr(struct smr_fb_walk *walk, const struct fb_table *table,
                                  unsigned id, const struct smr_attr_desc *desc,
                                  struct smr_node_attr *attr) {
  const struct fb_row *row = &fb_attr_rows[desc->type];
  struct fb_found found;
  walk->attr = smr_attr_name(desc);
  walk->counts[SMR_FB_CHOICE] = desc->choices;
  SMR_TRY(fb_find(walk, table, id, row->kind | (desc->required ? FB_REQUIRED : 0u), &found));
  attr->is_list = desc->type == SMR_ATTR_DIMS;
  if (desc->type == SMR_ATTR_STRING) attr->literal.text = "";
  if (found.at != 0) {
    attr->literal.present = true;
    SMR_TRY(fb_store(walk, row, found, (uint8_t *)attr));
  }
  if (desc->type == SMR_ATTR_DIM && attr->literal.present) {
    // -1: absent.
    attr->literal.present = fb_load32(walk, found.at) != UINT32_MAX;
    attr->expr_count = attr->literal.present;
    if (attr->literal.present)
      attr->exprs = (const uint32_t *)(const void *)(walk->data + found.at);
    if (desc->required && !attr->literal.present) return fb_bad(walk, found.at, "missing");
  }
  if (!attr->literal.present || attr->exprs != NULL) attr->literal.i = desc->default_int;
  if (found.at == 0 || desc->type != SMR_ATTR_F32) attr->literal.f = desc->default_f32;
  return SAMARA_OK;
}

// Read attributes from union `which`; an operator's attributes are a member of one of the unions.
static samara_status fb_read_attrs(struct smr_fb_walk *walk, unsigned which, struct fb_found found,
                                   struct smr_node *node) {
  const struct smr_op *op = node->op;
  struct fb_table table = {0, 0, 0, 0};  // all defaults
  if ((found.at != 0) != (walk->attrs_type != 0)) {
    return fb_bad(walk, found.at, "a type or a value alone");
  }
  const bool own = (op->code - 1u) / FB_UNION_MEMBERS == which;
  if (found.at != 0) {
    if (!own || walk->attrs_type + which * FB_UNION_MEMBERS != op->code || op->attr_count == 0) {
      return fb_bad(walk, found.at, "attributes of another operator");
    }
    SMR_TRY(fb_follow(walk, &found.at));
    SMR_TRY(fb_open_table(walk, found.at, &table));
  }
  if (!own) return SAMARA_OK;
  struct smr_node_attr *attrs = smr_fb_take(walk, op->attr_count, sizeof *attrs);
  node->attrs = attrs;
  for (uint32_t i = 0; i < op->attr_count; i++) {
    struct smr_node_attr scratch;
    memset(&scratch, 0, sizeof scratch);
    SMR_TRY(fb_read_attr(walk, &table, i, &smr_attr_descs[op->attr_first + i],
                         attrs != NULL ? &attrs[i] : &scratch));
  }
  walk->attr = NULL;
  return SAMARA_OK;
}

// ---- the walk ----

static samara_status fb_read_table(struct smr_fb_walk *walk, size_t at, unsigned table,
                                   uint8_t *out) {
  struct fb_table open;
  SMR_TRY(fb_open_table(walk, at, &open));
  for (unsigned i = fb_tables[table] + 1u; fb_rows[i].kind != FB_END; i++) {
    const struct fb_row *row = &fb_rows[i];
    struct fb_found found;
    if (!SMR_HAS(selftest) && row->refers == SMR_FB_GOLDEN) continue;
    if (!SMR_HAS(derived_stored) && row->refers == SMR_FB_DERIVED) continue;
    walk->row = i;
    SMR_TRY(fb_find(walk, &open, row->id, row->kind, &found));
    SMR_TRY(fb_store(walk, row, found, out));
  }
  return SAMARA_OK;
}

// major << 16 | minor << 8 | patch of SAMARA_VERSION.
static uint32_t fb_runtime(void) {
  uint32_t version = 0, number = 0;
  int parts = 0;
  for (const char *at = SAMARA_VERSION; parts < 3; at++) {
    if (*at >= '0' && *at <= '9') {
      number = number * 10 + (uint32_t)(*at - '0');
    } else {
      version = version << 8 | number;
      number = 0;
      parts++;
    }
  }
  return version;
}

samara_status smr_fb_read(struct smr_fb_walk *walk) {
  size_t root = 0;
  walk->budget = walk->size * FB_COST_PER_BYTE + FB_COST_FREE;
  walk->row = FB_ROW_MODEL;
  walk->attr = NULL;
  walk->counts[SMR_FB_RELATION] = SMR_RELATION_LT + 1;
  walk->counts[SMR_FB_LAYOUT] = SMR_LAYOUT_DWPANEL + 1;
  walk->counts[SMR_FB_BLOCK] = 1;
  walk->counts[SMR_FB_NAMED_KIND] = SMR_NAMED_KINDS;
  walk->counts[SMR_FB_SCHEMA] = FB_SCHEMA_VERSION + 1;
  walk->counts[SMR_FB_RUNTIME] = fb_runtime() + 1;
  SMR_TRY(fb_follow(walk, &root));
  return fb_read_table(walk, root, SMR_FB_MODEL, (uint8_t *)walk->model);
}
