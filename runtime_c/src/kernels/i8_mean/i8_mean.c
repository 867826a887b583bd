// SPDX-License-Identifier: Apache-2.0
// Compiles the means of int8 for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i8_mean/i8_mean.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"
#include "simd/requantize.h"

#include <string.h>

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_mean/body.h"
#include "kernels/i8_mean/kernels.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row i8_mean_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_i8_mean_kernels_##suffix},
#include "kernels/i8_mean/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_mean *smr_i8_mean_config(uint32_t isa) {
  return smr_best_row(i8_mean_rows, isa)->kernels;
}
