// SPDX-License-Identifier: Apache-2.0
// Compiles elementwise float functions for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_vunary/f32_vunary.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_vunary/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct {
  uint32_t isa;
  const smr_f32_vunary_ukernel *table;
  const char *name;
} f32_vunary_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) \
  {bit, smr_f32_vunary_kernels_##suffix, "f32_vunary__" #suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

static size_t f32_vunary_row(uint32_t isa) {
  size_t i = 0;
  while ((f32_vunary_rows[i].isa & isa) != f32_vunary_rows[i].isa) i++;  // the last needs nothing
  return i;
}

smr_f32_vunary_ukernel smr_f32_vunary_kernel(uint32_t isa, enum smr_f32_vunary function) {
  return f32_vunary_rows[f32_vunary_row(isa)].table[function];
}

const char *smr_f32_vunary_kernel_name(uint32_t isa, enum smr_f32_vunary function) {
  (void)function;  // one name for all functions
  return f32_vunary_rows[f32_vunary_row(isa)].name;
}
