// SPDX-License-Identifier: Apache-2.0
// Compiles float normalisations for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_norm/f32_norm.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"

#include <math.h>

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_norm/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row f32_norm_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_norm_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_norm *smr_f32_norm_config(uint32_t isa) {
  return smr_best_row(f32_norm_rows, isa)->kernels;
}
