// SPDX-License-Identifier: Apache-2.0
// Pools over channels for every CPU, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_pool/kernels.h"

#include "simd/scalar_begin.h"
#define POOL_TABLE smr_f32_pool_ukernels__scalar
#include "kernels/f32_pool/body.h"
#include "simd/end.h"
