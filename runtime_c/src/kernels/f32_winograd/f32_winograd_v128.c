// SPDX-License-Identifier: Apache-2.0
// Winograd transforms for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_winograd/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define WINOGRAD_TABLE smr_f32_winograd_ukernels__v128
#include "kernels/f32_winograd/body.h"
#include "simd/end.h"
#endif
