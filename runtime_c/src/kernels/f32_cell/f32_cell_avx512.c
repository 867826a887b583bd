// SPDX-License-Identifier: Apache-2.0
// Recurrent cells for AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_cell/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx512_begin.h"
#define CELL_TABLE smr_f32_cell_ukernels__avx512
#define CELL_GRAD_TABLE smr_f32_cell_grad_ukernels__avx512
#include "kernels/f32_cell/body.h"
#include "simd/end.h"
#endif
