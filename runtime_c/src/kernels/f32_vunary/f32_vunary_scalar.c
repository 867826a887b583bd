// SPDX-License-Identifier: Apache-2.0
// Elementwise float functions for any machine, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_vunary/kernels.h"

#include "simd/scalar_begin.h"
#define VUNARY_TABLE smr_f32_vunary_ukernels__scalar
#include "kernels/f32_vunary/body.h"
#include "simd/end.h"
