// SPDX-License-Identifier: Apache-2.0
// Gradients of pools over channels for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_pool_grad/kernels.h"

#if SMR_ARCH_AARCH64
#include "simd/neon_begin.h"
#define POOL_GRAD_TABLE smr_f32_pool_grad_ukernels__neon
#include "kernels/f32_pool_grad/body.h"
#include "simd/end.h"
#endif
