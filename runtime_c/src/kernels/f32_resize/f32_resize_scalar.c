// SPDX-License-Identifier: Apache-2.0
// Weighted sums that resize, for every CPU, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_resize/kernels.h"

#include "simd/scalar_begin.h"
#define RESIZE_TABLE smr_f32_resize_ukernels__scalar
#include "kernels/f32_resize/body.h"
#include "simd/end.h"
