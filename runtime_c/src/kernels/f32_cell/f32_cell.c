// SPDX-License-Identifier: Apache-2.0
// Compiles recurrent cells for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_cell/f32_cell.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_cell/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row f32_cell_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_cell_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

static const struct smr_kernel_row f32_cell_grad_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_cell_grad_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_cell_kernels *smr_f32_cell_kernels(uint32_t isa) {
  return smr_best_row(f32_cell_rows, isa)->kernels;
}

const struct smr_f32_cell_grad_kernels *smr_f32_cell_grad_kernels(uint32_t isa) {
  return smr_best_row(f32_cell_grad_rows, isa)->kernels;
}
