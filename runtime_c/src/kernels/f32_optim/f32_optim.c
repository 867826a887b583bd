// SPDX-License-Identifier: Apache-2.0
// Compiles optimiser kernels for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_optim/f32_optim.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_BODY "kernels/f32_optim/body.h"
#include "kernels/training.inc"
#undef SMR_SIMD_BODY

static const struct smr_kernel_row f32_optim_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_optim_kernels_##suffix},
#include "kernels/training.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_optim_kernels *smr_f32_optim_kernels(uint32_t isa) {
  return smr_best_row(f32_optim_rows, isa)->kernels;
}
