// SPDX-License-Identifier: Apache-2.0
// Compiles sums and products of int8 rows for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i8_vbinary/i8_vbinary.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"
#include "simd/requantize.h"

// Builds whose models rarely add use portable C instead of vectors, or have no row of it.
#include "simd/scalar_begin.h"
#include "kernels/i8_vbinary/scalar.h"
#include "simd/end.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_vbinary/body.h"
#include "kernels/int8.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row i8_vbinary_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_i8_vbinary_kernels_##suffix},
#include "kernels/int8.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_vbinary *smr_i8_vbinary_config(uint32_t isa) {
  return smr_best_row(i8_vbinary_rows, isa)->kernels;
}
