// SPDX-License-Identifier: Apache-2.0
// Sums over pixels that lie anywhere, for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_taps/kernels.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define TAPS_TABLE smr_f32_taps_ukernels__neon
#include "kernels/f32_taps/body.h"
#include "simd/end.h"
#endif
