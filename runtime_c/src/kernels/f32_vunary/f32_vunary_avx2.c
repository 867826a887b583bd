// SPDX-License-Identifier: Apache-2.0
// Elementwise float functions for AVX2 with FMA.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_vunary/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define VUNARY_TABLE smr_f32_vunary_ukernels__avx2
#include "kernels/f32_vunary/body.h"
#include "simd/end.h"
#endif
