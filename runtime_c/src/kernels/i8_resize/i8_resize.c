// SPDX-License-Identifier: Apache-2.0
// Compiles the linear interpolation of int8 for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i8_resize/i8_resize.h"

#include "base/isa.h"
#include "kernels/rows.h"
#include "simd/requantize.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_resize/body.h"
#include "kernels/int8.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row i8_resize_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_i8_resize_kernels_##suffix},
#include "kernels/int8.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_resize *smr_i8_resize_config(uint32_t isa) {
  return smr_best_row(i8_resize_rows, isa)->kernels;
}
