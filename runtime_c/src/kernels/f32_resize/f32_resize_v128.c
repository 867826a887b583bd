// SPDX-License-Identifier: Apache-2.0
// Weighted sums that resize, for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_resize/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define RESIZE_TABLE smr_f32_resize_ukernels__v128
#include "kernels/f32_resize/body.h"
#include "simd/end.h"
#endif
