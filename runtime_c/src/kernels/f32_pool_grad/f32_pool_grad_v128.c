// SPDX-License-Identifier: Apache-2.0
// Gradients of pools over channels for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_pool_grad/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define POOL_GRAD_TABLE smr_f32_pool_grad_ukernels__v128
#include "kernels/f32_pool_grad/body.h"
#include "simd/end.h"
#endif
