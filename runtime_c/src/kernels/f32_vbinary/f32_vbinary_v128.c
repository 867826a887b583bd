// SPDX-License-Identifier: Apache-2.0
// Elementwise float arithmetic for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_vbinary/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define VBINARY_TABLE smr_f32_vbinary_ukernels__v128
#include "kernels/f32_vbinary/body.h"
#include "simd/end.h"
#endif
