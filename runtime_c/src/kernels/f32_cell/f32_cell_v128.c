// SPDX-License-Identifier: Apache-2.0
// Recurrent cells for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_cell/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define CELL_TABLE smr_f32_cell_ukernels__v128
#define CELL_GRAD_TABLE smr_f32_cell_grad_ukernels__v128
#include "kernels/f32_cell/body.h"
#include "simd/end.h"
#endif
