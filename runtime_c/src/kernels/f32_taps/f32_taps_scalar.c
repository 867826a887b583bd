// SPDX-License-Identifier: Apache-2.0
// Sums over pixels that lie anywhere, for every CPU, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_taps/kernels.h"

#include "simd/scalar_begin.h"
#define TAPS_TABLE smr_f32_taps_ukernels__scalar
#include "kernels/f32_taps/body.h"
#include "simd/end.h"
