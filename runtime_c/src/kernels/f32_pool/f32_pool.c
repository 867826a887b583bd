// SPDX-License-Identifier: Apache-2.0
// Compiles pool kernels for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_pool/f32_pool.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_pool/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct {
  uint32_t isa;
  const smr_f32_pool_ukernel (*table)[SMR_POOL_TYPES];
  const char *name;
} f32_pool_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, smr_f32_pool_kernels_##suffix, "f32_pool__" #suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

static size_t f32_pool_row(uint32_t isa) {
  size_t i = 0;
  while ((f32_pool_rows[i].isa & isa) != f32_pool_rows[i].isa) i++;  // the last needs nothing
  return i;
}

smr_f32_pool_ukernel smr_f32_pool_kernel(uint32_t isa, enum smr_f32_pool_kind kind,
                                         enum smr_f32_pool_type type) {
  if (SMR_HAS(f32_pool_power) && kind == SMR_POOL_POWER) return smr_f32_pool_libm[type];
  return f32_pool_rows[f32_pool_row(isa)].table[kind][type];
}

const char *smr_f32_pool_kernel_name(uint32_t isa, enum smr_f32_pool_kind kind) {
  return kind == SMR_POOL_POWER ? "f32_pool__libm" : f32_pool_rows[f32_pool_row(isa)].name;
}
