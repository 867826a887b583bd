// SPDX-License-Identifier: Apache-2.0
// Winograd transforms for AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_winograd/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define WINOGRAD_TABLE smr_f32_winograd_ukernels__avx2
#include "kernels/f32_winograd/body.h"
#include "simd/end.h"
#endif
