// SPDX-License-Identifier: Apache-2.0
// Recurrent cells for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_cell/kernels.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define CELL_TABLE smr_f32_cell_ukernels__neon
#define CELL_GRAD_TABLE smr_f32_cell_grad_ukernels__neon
#include "kernels/f32_cell/body.h"
#include "simd/end.h"
#endif
