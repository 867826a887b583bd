// SPDX-License-Identifier: Apache-2.0
// Gradients of pools over channels for AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_pool_grad/kernels.h"

#if SMR_ARCH_X86_64
#include "simd/avx2_begin.h"
#define POOL_GRAD_TABLE smr_f32_pool_grad_ukernels__avx2
#include "kernels/f32_pool_grad/body.h"
#include "simd/end.h"
#endif
