// SPDX-License-Identifier: Apache-2.0
// FlatBuffers as the file uses them: one walk that checks and reads, driven by tables.
//
// schema.inc says what the fields of the file are, layout.inc which of them the runtime wants and
// where they go. The walk follows the rows of layout.inc from the root: before it reads anything it
// checks bounds, alignment, kind, required fields, terminators and the range of indices. What no
// row asks for is never looked at.
#ifndef SMR_MODEL_FB_H
#define SMR_MODEL_FB_H

#include "base/alloc.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/// Bytes before the FlatBuffer's own content; nothing in it may point there.
enum { SMR_FB_HEADER_BYTES = 64 };

/// Tables of the format, SMR_FB_MODEL and so on, and what else an index or a code can stand for.
enum smr_fb_table {
#define SMR_TABLE(NAME, first_field, field_count) SMR_FB_##NAME,
#include "model/schema.inc"
  SMR_FB_TABLE_COUNT,
  SMR_FB_EXPR = SMR_FB_TABLE_COUNT,
  SMR_FB_RELATION,
  SMR_FB_CHOICE,
  SMR_FB_NAMED_KIND,
  SMR_FB_SCHEMA,
  SMR_FB_RUNTIME,
  /* of these, one that is out of range belongs to a newer version */
  SMR_FB_DTYPE,
  SMR_FB_LAYOUT,
  SMR_FB_BLOCK,
  SMR_FB_OP,
  SMR_FB_REFERRED_COUNT,
  SMR_FB_NONE = 0,  // nothing refers to the model itself
};

/// Vtable ids of fields, SMR_FB_MODEL_functions and so on.
enum {
#define SMR_FIELD(TABLE, field, text, id, KIND, child, required) SMR_FB_##TABLE##_##field = (id),
#include "model/schema.inc"
  SMR_FB_FIELD_ID_END
};

/// A walk over a program part: `size` bytes at `data`, which is aligned to 8 at least. The same
/// walk first counts what memory it wants (bump.base NULL) and then fills that memory.
struct smr_fb_walk {
  const uint8_t *data;
  size_t size;
  struct smr_bump bump;
  samara_error *error;
  samara_model *model;
  size_t budget;     // bytes that may still be looked at
  unsigned row;      // of layout.inc, and the attribute's name or NULL,
  const char *attr;  // for messages
  /* fields that nobody keeps, of the part that is being read */
  uint32_t min_runtime;     // major << 16 | minor << 8 | patch
  uint16_t schema_version;  // 0: the file states none
  uint8_t attrs_type;
  uint32_t segment;
  uint64_t offset, bytes;
  uint32_t counts[SMR_FB_REFERRED_COUNT];  // how many there are of what indices refer to
};

/// Read everything into walk->model, arrays into walk->bump, and have smr_decode_part check each
/// part. walk->data, size, error and model are set. Failures say where; BAD_VERSION comes before
/// all that a newer file may have otherwise.
samara_status smr_fb_read(struct smr_fb_walk *walk);

/// Prefix the error with the kind and the name of the part of the file that it is about. Returns
/// `status`.
samara_status smr_fb_where(const struct smr_fb_walk *walk, samara_status status,
                           enum smr_fb_table table, const char *name);

/// Reserve and, when filling, zero `count * size_bytes` bytes.
void *smr_fb_take(struct smr_fb_walk *walk, size_t count, size_t size_bytes);

// ---- provided by the decoder (decode.c) ----

/// Called after each table was read into the struct `part`, in both walks: the parts of a table
/// come before it.
samara_status smr_decode_part(struct smr_fb_walk *walk, enum smr_fb_table table, void *part);

#endif
