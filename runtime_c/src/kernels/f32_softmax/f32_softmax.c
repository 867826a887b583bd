// SPDX-License-Identifier: Apache-2.0
// Compiles float softmax for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_softmax/f32_softmax.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"

#include <math.h>

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_softmax/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row f32_softmax_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_softmax_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_softmax *smr_f32_softmax_config(uint32_t isa) {
  return smr_best_row(f32_softmax_rows, isa)->kernels;
}
