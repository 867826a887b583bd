// SPDX-License-Identifier: Apache-2.0
// Compiles the products in blocks for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i8_blocks/i8_blocks.h"

#include <string.h>

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"
#include "simd/common.h"
#include "simd/half.h"
#include "simd/tail.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_blocks/body.h"
#include "kernels/i8_blocks/kernels.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row i8_blocks_entries[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_i8_blocks_kernels_##suffix},
#include "kernels/i8_blocks/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_blocks_config *smr_i8_blocks_config(uint32_t isa) {
  return smr_best_row(i8_blocks_entries, isa)->kernels;
}

SMR_HOT_VECTORIZED static int32_t i8_blocks_sum(size_t n, const int8_t *x) {
  int32_t sum = 0;
  for (size_t i = 0; i < n; i++) sum = (int32_t)((uint32_t)sum + (uint32_t)x[i]);
  return sum;
}

void smr_i8_blocks_less(size_t n, size_t block, const int8_t *x, int32_t factor, int32_t *less) {
  for (size_t i = 0; i < n; i += block) {
    const uint32_t sum = (uint32_t)i8_blocks_sum(n - i < block ? n - i : block, x + i);
    *less++ = (int32_t)(0u - (uint32_t)factor * sum);
  }
}
