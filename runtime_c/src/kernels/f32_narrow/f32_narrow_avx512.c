// SPDX-License-Identifier: Apache-2.0
// Products with weights of 8 or 4 bits in AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_narrow/kernels.h"
#include "simd/half.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx512_begin.h"
#define NARROW_KERNELS smr_f32_narrow_ukernels__avx512
#include "kernels/f32_narrow/body.h"
#include "simd/end.h"
#endif
