// SPDX-License-Identifier: Apache-2.0
// Products with weights of 8 or 4 bits in vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_narrow/kernels.h"
#include "simd/half.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define NARROW_KERNELS smr_f32_narrow_ukernels__v128
#include "kernels/f32_narrow/body.h"
#include "simd/end.h"
#endif
