// SPDX-License-Identifier: Apache-2.0
// A FlatBuffers reader for the file: one table-driven walk that checks and reads.
//
// schema.inc lists the fields of the file, layout.inc those that the runtime reads and where they
// are stored. The walk follows the rows of layout.inc from the root. Before it reads anything it
// checks bounds, alignment, kind, required fields, terminators and ranges of indices. It ignores
// fields without a row.
#ifndef SMR_MODEL_FB_H
#define SMR_MODEL_FB_H

#include "base/alloc.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/// Bytes before the FlatBuffer; nothing in it may point there.
enum { SMR_FB_HEADER_BYTES = 64 };

/// Tables of the format (SMR_FB_MODEL and so on), and other targets of indices and codes.
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
  /* a value of these that is out of range belongs to a newer version */
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

/// A walk over a program part: `size` bytes at `data`, aligned to at least 8. It runs twice: first
/// it counts the memory it needs (bump.base NULL), then it fills that memory.
struct smr_fb_walk {
  const uint8_t *data;
  size_t size;
  struct smr_bump bump;
  samara_error *error;
  samara_model *model;
  size_t budget;     // bytes that may still be visited
  unsigned row;      // row of layout.inc, and the attribute's name or NULL,
  const char *attr;  // for messages
  /* fields of the current part that are not stored */
  uint32_t min_runtime;     // major << 16 | minor << 8 | patch
  uint16_t schema_version;  // 0: absent in the file
  uint8_t attrs_type;
  uint32_t segment;
  uint64_t offset, bytes;
  uint32_t counts[SMR_FB_REFERRED_COUNT];  // numbers of the targets of indices
};

/// Read everything into walk->model, arrays into walk->bump, and call smr_decode_part for each
/// part. walk->data, size, error and model must be set. Failures name the position. BAD_VERSION is
/// reported before other failures that a newer file may cause.
samara_status smr_fb_read(struct smr_fb_walk *walk);

/// Prefix the error with the kind and the name of the affected part of the file. Returns `status`.
samara_status smr_fb_where(const struct smr_fb_walk *walk, samara_status status,
                           enum smr_fb_table table, const char *name);

/// Reserve and, when filling, zero `count * size_bytes` bytes.
void *smr_fb_take(struct smr_fb_walk *walk, size_t count, size_t size_bytes);

// ---- decode.c ----

/// Called in both walks after a table was read into the struct `part`, children first.
samara_status smr_decode_part(struct smr_fb_walk *walk, enum smr_fb_table table, void *part);

#endif
