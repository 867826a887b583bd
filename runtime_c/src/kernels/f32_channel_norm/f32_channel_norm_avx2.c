// SPDX-License-Identifier: Apache-2.0
// Column normalisation for AVX2 with FMA.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_channel_norm/kernels.h"

#include <math.h>

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define CHANNEL_TABLE smr_f32_channel_norm_ukernels__avx2
#define CHANNEL_GRAD_TABLE smr_f32_channel_norm_grad_ukernels__avx2
#include "kernels/f32_channel_norm/body.h"
#include "simd/end.h"
#endif
