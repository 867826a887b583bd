// SPDX-License-Identifier: Apache-2.0
// Compiles gradients of normalised rows for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_norm_grad/f32_norm_grad.h"

#include "base/isa.h"
#include "kernels/rows.h"

#include <math.h>

#define SMR_SIMD_BODY "kernels/f32_norm_grad/body.h"
#include "kernels/training.inc"
#undef SMR_SIMD_BODY

static const struct smr_kernel_row f32_norm_grad_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_norm_grad_kernels_##suffix},
#include "kernels/training.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_norm_grad *smr_f32_norm_grad_config(uint32_t isa) {
  return smr_best_row(f32_norm_grad_rows, isa)->kernels;
}
