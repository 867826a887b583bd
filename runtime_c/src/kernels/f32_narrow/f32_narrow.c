// SPDX-License-Identifier: Apache-2.0
// Dispatch of the products with weights of 8 or 4 bits.
#include "base/fp.h"

#include "kernels/f32_narrow/f32_narrow.h"

#include "base/isa.h"
#include "kernels/f32_narrow/kernels.h"

static const struct f32_narrow_entry {
  uint32_t isa;
  const struct smr_f32_narrow_config *config;
} f32_narrow_entries[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_f32_narrow_ukernels__##suffix},
#include "kernels/f32_narrow/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_narrow_config *smr_f32_narrow_config(uint32_t isa) {
  size_t i = 0;
  while ((f32_narrow_entries[i].isa & isa) != f32_narrow_entries[i].isa) i++;  // the last: nothing
  return f32_narrow_entries[i].config;
}

size_t smr_narrow_stored_rows(smr_narrow_type type, size_t rows) {
  const size_t together = type == SMR_NARROW_I8 ? SMR_NARROW_ROWS_8 : SMR_NARROW_ROWS_4;
  return (rows + together - 1) / together * together;
}

size_t smr_narrow_panel_bytes(smr_narrow_type type, size_t rows) {
  const size_t stored = smr_narrow_stored_rows(type, rows);
  const size_t bytes =
      type == SMR_NARROW_I8 ? stored * SMR_NARROW_COLUMNS : stored * SMR_NARROW_COLUMNS / 2;
  return (bytes + 63) / 64 * 64;
}
