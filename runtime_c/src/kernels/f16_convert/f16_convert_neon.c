// SPDX-License-Identifier: Apache-2.0
// Conversions between float16 and float32 for AArch64.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f16_convert/kernels.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define F16_SUFFIX neon
#include "kernels/f16_convert/body.h"
#include "simd/end.h"
#endif
