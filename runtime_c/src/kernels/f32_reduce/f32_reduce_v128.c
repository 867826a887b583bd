// SPDX-License-Identifier: Apache-2.0
// Float reductions for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_reduce/kernels.h"

#include <math.h>

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define REDUCE_TABLE smr_f32_reduce_ukernels__v128
#include "kernels/f32_reduce/body.h"
#include "simd/end.h"
#endif
