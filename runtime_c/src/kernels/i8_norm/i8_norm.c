// SPDX-License-Identifier: Apache-2.0
// Compiles normalisations of int8 rows for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i8_norm/i8_norm.h"

#include "base/isa.h"
#include "kernels/rows.h"
#include "simd/requantize.h"

#include <math.h>

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_norm/body.h"
#include "kernels/int8.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row i8_norm_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_i8_norm_kernels_##suffix},
#include "kernels/int8.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_norm *smr_i8_norm_config(uint32_t isa) {
  return smr_best_row(i8_norm_rows, isa)->kernels;
}
