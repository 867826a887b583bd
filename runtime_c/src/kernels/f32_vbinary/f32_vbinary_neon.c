// SPDX-License-Identifier: Apache-2.0
// Elementwise float arithmetic for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_vbinary/kernels.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define VBINARY_TABLE smr_f32_vbinary_ukernels__neon
#include "kernels/f32_vbinary/body.h"
#include "simd/end.h"
#endif
