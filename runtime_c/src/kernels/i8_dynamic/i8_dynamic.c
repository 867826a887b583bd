// SPDX-License-Identifier: Apache-2.0
// Compiles the dynamic quantization of rows for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i8_dynamic/i8_dynamic.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_dynamic/body.h"
#include "kernels/int8.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row i8_dynamic_entries[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_i8_dynamic_kernels_##suffix},
#include "kernels/int8.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_dynamic_kernels *smr_i8_dynamic_kernels(uint32_t isa) {
  return smr_best_row(i8_dynamic_entries, isa)->kernels;
}
