// SPDX-License-Identifier: Apache-2.0
// Compiles sums over pixels at arbitrary offsets for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_taps/f32_taps.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_taps/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row f32_taps_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_taps_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_taps_kernels *smr_f32_taps_kernels(uint32_t isa) {
  return smr_best_row(f32_taps_rows, isa)->kernels;
}
