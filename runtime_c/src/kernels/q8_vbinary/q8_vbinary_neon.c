// SPDX-License-Identifier: Apache-2.0
// Sums and products of int8 rows for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/q8_vbinary/kernels.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define Q8_VBINARY_TABLE smr_q8_vbinary_ukernels__neon
#include "kernels/q8_vbinary/body.h"
#include "simd/end.h"
#endif
