// SPDX-License-Identifier: Apache-2.0
// Float normalisations for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_norm/kernels.h"

#include <math.h>

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define NORM_TABLE smr_f32_norm_ukernels__neon
#include "kernels/f32_norm/body.h"
#include "simd/end.h"
#endif
