// SPDX-License-Identifier: Apache-2.0
// Weighted sums that resize, for AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_resize/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define RESIZE_TABLE smr_f32_resize_ukernels__avx2
#include "kernels/f32_resize/body.h"
#include "simd/end.h"
#endif
