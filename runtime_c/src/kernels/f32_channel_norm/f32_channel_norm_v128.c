// SPDX-License-Identifier: Apache-2.0
// Column normalisation for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_channel_norm/kernels.h"

#include <math.h>

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define CHANNEL_TABLE smr_f32_channel_norm_ukernels__v128
#define CHANNEL_GRAD_TABLE smr_f32_channel_norm_grad_ukernels__v128
#include "kernels/f32_channel_norm/body.h"
#include "simd/end.h"
#endif
