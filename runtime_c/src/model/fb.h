// SPDX-License-Identifier: Apache-2.0
// FlatBuffers as the file uses them: one verifier and one set of accessors, driven by a table.
//
// The verifier walks everything that the descriptor rows of schema.inc can reach and checks bounds,
// alignment, kinds, required fields and terminators. Accessors trust a verified buffer and read
// through memcpy. Positions are bytes from the start of the program part; 0 is "absent".
#ifndef SMR_MODEL_FB_H
#define SMR_MODEL_FB_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Bytes before the FlatBuffer's own content; nothing in it may point there.
enum { SMR_FB_HEADER_BYTES = 64 };

/// Position of each table in the descriptor, SMR_FB_MODEL and so on.
enum smr_fb_table {
#define SMR_TABLE(NAME, first_field, field_count) SMR_FB_##NAME,
#include "model/schema.inc"
  SMR_FB_TABLE_COUNT
};

/// Vtable ids of fields, SMR_FB_MODEL_functions and so on.
enum {
#define SMR_FIELD(TABLE, field, text, id, KIND, child, required) SMR_FB_##TABLE##_##field = (id),
#include "model/schema.inc"
  SMR_FB_FIELD_ID_END
};

/// A program part: `size` bytes at `data`, which is aligned to 8 at least.
struct smr_fb {
  const uint8_t *data;
  size_t size;
};

/// A vector. `data` points into the buffer and is aligned to its elements.
struct smr_fb_vec {
  const void *data;
  uint32_t count;
};

/// Verify the root table's own scalars only: enough to read the versions that decide whether the
/// rest can be understood. *root is its position.
samara_status smr_fb_verify_root(const struct smr_fb *fb, uint32_t *root, samara_error *error);

/// Verify everything that hangs on the root. BAD_MODEL says which field is wrong and where.
samara_status smr_fb_verify(const struct smr_fb *fb, uint32_t root, samara_error *error);

/// Whether field `id` of the table at `table` is stored.
bool smr_fb_has(const struct smr_fb *fb, uint32_t table, uint32_t id);

uint8_t smr_fb_u8(const struct smr_fb *fb, uint32_t table, uint32_t id, uint8_t absent);
uint16_t smr_fb_u16(const struct smr_fb *fb, uint32_t table, uint32_t id, uint16_t absent);
uint32_t smr_fb_u32(const struct smr_fb *fb, uint32_t table, uint32_t id, uint32_t absent);
int32_t smr_fb_i32(const struct smr_fb *fb, uint32_t table, uint32_t id, int32_t absent);
uint64_t smr_fb_u64(const struct smr_fb *fb, uint32_t table, uint32_t id, uint64_t absent);
int64_t smr_fb_i64(const struct smr_fb *fb, uint32_t table, uint32_t id, int64_t absent);
float smr_fb_f32(const struct smr_fb *fb, uint32_t table, uint32_t id, float absent);

/// The bytes of a stored scalar field, or NULL.
const void *smr_fb_scalar(const struct smr_fb *fb, uint32_t table, uint32_t id);
/// A string in place, NULL when absent.
const char *smr_fb_string(const struct smr_fb *fb, uint32_t table, uint32_t id);
/// A string in place, "" when absent.
const char *smr_fb_text(const struct smr_fb *fb, uint32_t table, uint32_t id);
/// Any vector; count 0 when absent.
struct smr_fb_vec smr_fb_vector(const struct smr_fb *fb, uint32_t table, uint32_t id);
/// Position of element `index` of a vector of tables.
uint32_t smr_fb_element(const struct smr_fb *fb, struct smr_fb_vec vector, uint32_t index);
/// Element `index` of a vector of strings.
const char *smr_fb_element_text(const struct smr_fb *fb, struct smr_fb_vec vector, uint32_t index);
/// Position of a child table or a union's value, 0 when absent.
uint32_t smr_fb_child(const struct smr_fb *fb, uint32_t table, uint32_t id);

#endif
