// SPDX-License-Identifier: Apache-2.0
// Dispatch of recurrent cells.
#include "base/fp.h"

#include "kernels/f32_cell/f32_cell.h"

#include "base/isa.h"
#include "kernels/f32_cell/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_f32_cell_kernels *kernels;
} f32_cell_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_cell_ukernels__##suffix},
#include "kernels/f32_cell/kernels.inc"
#undef SMR_UKERNEL
};

static const struct {
  uint32_t isa;
  const struct smr_f32_cell_grad_kernels *kernels;
} f32_cell_grad_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_cell_grad_ukernels__##suffix},
#include "kernels/f32_cell/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_cell_kernels *smr_f32_cell_kernels(uint32_t isa) {
  size_t i = 0;
  while ((f32_cell_rows[i].isa & isa) != f32_cell_rows[i].isa) i++;  // the last needs nothing
  return f32_cell_rows[i].kernels;
}

const struct smr_f32_cell_grad_kernels *smr_f32_cell_grad_kernels(uint32_t isa) {
  size_t i = 0;
  while ((f32_cell_grad_rows[i].isa & isa) != f32_cell_grad_rows[i].isa) i++;
  return f32_cell_grad_rows[i].kernels;
}
