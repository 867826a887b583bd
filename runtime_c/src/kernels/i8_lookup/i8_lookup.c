// SPDX-License-Identifier: Apache-2.0
// Compiles lookups of int8 for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i8_lookup/i8_lookup.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_lookup/body.h"
#include "kernels/int8.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row i8_lookup_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_i8_lookup_kernels_##suffix},
#include "kernels/int8.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_lookup *smr_i8_lookup_config(uint32_t isa) {
  return smr_best_row(i8_lookup_rows, isa)->kernels;
}
