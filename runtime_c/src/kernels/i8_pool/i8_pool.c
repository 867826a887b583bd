// SPDX-License-Identifier: Apache-2.0
// Compiles the pools of 8-bit integers for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i8_pool/i8_pool.h"

#include "base/parts.h"
#include "base/isa.h"
#include "kernels/rows.h"

#include <string.h>

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_pool/body.h"
#include "kernels/i8_pool/kernels.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct i8_pool_row {
  uint32_t isa;
  struct smr_i8_pool kernels;
} i8_pool_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes)                                            \
  {isa,                                                                            \
   {"i8_pool__" #suffix, SMR_HAS(x8_pool_s8) ? smr_i8_pool_max_s8_##suffix : NULL, \
    SMR_HAS(x8_pool_u8) ? smr_i8_pool_max_u8_##suffix : NULL}},
#include "kernels/i8_pool/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_pool *smr_i8_pool_config(uint32_t isa) {
  size_t i = 0;
  while ((i8_pool_rows[i].isa & isa) != i8_pool_rows[i].isa) i++;  // the last needs nothing
  return &i8_pool_rows[i].kernels;
}
