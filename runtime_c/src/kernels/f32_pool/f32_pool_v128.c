// SPDX-License-Identifier: Apache-2.0
// Pools over channels for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_pool/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define POOL_TABLE smr_f32_pool_ukernels__v128
#include "kernels/f32_pool/body.h"
#include "simd/end.h"
#endif
