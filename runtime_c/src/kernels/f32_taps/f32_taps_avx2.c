// SPDX-License-Identifier: Apache-2.0
// Sums over pixels that lie anywhere, for AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_taps/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define TAPS_TABLE smr_f32_taps_ukernels__avx2
#include "kernels/f32_taps/body.h"
#include "simd/end.h"
#endif
