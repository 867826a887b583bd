// SPDX-License-Identifier: Apache-2.0
// Sums over pixels that lie anywhere, for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_taps/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define TAPS_TABLE smr_f32_taps_ukernels__v128
#include "kernels/f32_taps/body.h"
#include "simd/end.h"
#endif
