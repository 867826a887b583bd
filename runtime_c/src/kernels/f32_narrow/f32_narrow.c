// SPDX-License-Identifier: Apache-2.0
// Compiles the products with weights of 8 or 4 bits for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_narrow/f32_narrow.h"

#include "base/isa.h"
#include "kernels/rows.h"
#include "simd/half.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_narrow/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row f32_narrow_entries[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_f32_narrow_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_narrow_config *smr_f32_narrow_config(uint32_t isa) {
  return smr_best_row(f32_narrow_entries, isa)->kernels;
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
