// SPDX-License-Identifier: Apache-2.0
// Elementwise float functions for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_vunary/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define VUNARY_TABLE smr_f32_vunary_ukernels__v128
#include "kernels/f32_vunary/body.h"
#include "simd/end.h"
#endif
