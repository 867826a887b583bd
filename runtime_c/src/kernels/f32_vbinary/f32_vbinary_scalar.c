// SPDX-License-Identifier: Apache-2.0
// Elementwise float arithmetic for any machine, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_vbinary/kernels.h"

#include "simd/scalar_begin.h"
#define VBINARY_TABLE smr_f32_vbinary_ukernels__scalar
#include "kernels/f32_vbinary/body.h"
#include "simd/end.h"
