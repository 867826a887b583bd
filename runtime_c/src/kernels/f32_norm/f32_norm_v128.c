// SPDX-License-Identifier: Apache-2.0
// Float normalisations for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_norm/kernels.h"

#include <math.h>

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define NORM_TABLE smr_f32_norm_ukernels__v128
#include "kernels/f32_norm/body.h"
#include "simd/end.h"
#endif
