// SPDX-License-Identifier: Apache-2.0
// Means of int8 with NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/s8_mean/kernels.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define S8_MEAN_TABLE smr_s8_mean_ukernels__neon
#include "kernels/s8_mean/body.h"
#include "simd/end.h"
#endif
