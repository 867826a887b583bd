// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_CELL_KERNELS_H
#define SMR_KERNELS_F32_CELL_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/f32_cell/f32_cell.h"

#define SMR_UKERNEL(isa, suffix, lanes)                                     \
  extern const struct smr_f32_cell_kernels smr_f32_cell_ukernels__##suffix; \
  extern const struct smr_f32_cell_grad_kernels smr_f32_cell_grad_ukernels__##suffix;
#include "kernels/f32_cell/kernels.inc"
#undef SMR_UKERNEL

#endif
