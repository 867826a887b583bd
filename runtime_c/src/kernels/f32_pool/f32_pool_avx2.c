// SPDX-License-Identifier: Apache-2.0
// Pools over channels for AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_pool/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define POOL_TABLE smr_f32_pool_ukernels__avx2
#include "kernels/f32_pool/body.h"
#include "simd/end.h"
#endif
