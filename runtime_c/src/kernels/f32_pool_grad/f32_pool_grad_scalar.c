// SPDX-License-Identifier: Apache-2.0
// Gradients of pools over channels for every CPU, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_pool_grad/kernels.h"

#include "simd/scalar_begin.h"
#define POOL_GRAD_TABLE smr_f32_pool_grad_ukernels__scalar
#include "kernels/f32_pool_grad/body.h"
#include "simd/end.h"
