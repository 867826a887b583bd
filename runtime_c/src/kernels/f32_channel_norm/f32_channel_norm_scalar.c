// SPDX-License-Identifier: Apache-2.0
// Column normalisation for any machine, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_channel_norm/kernels.h"

#include <math.h>

#include "simd/scalar_begin.h"
#define CHANNEL_TABLE smr_f32_channel_norm_ukernels__scalar
#define CHANNEL_GRAD_TABLE smr_f32_channel_norm_grad_ukernels__scalar
#include "kernels/f32_channel_norm/body.h"
#include "simd/end.h"
