// SPDX-License-Identifier: Apache-2.0
// Recurrent cells for every CPU, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_cell/kernels.h"

#include "simd/scalar_begin.h"
#define CELL_TABLE smr_f32_cell_ukernels__scalar
#define CELL_GRAD_TABLE smr_f32_cell_grad_ukernels__scalar
#include "kernels/f32_cell/body.h"
#include "simd/end.h"
