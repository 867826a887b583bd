// SPDX-License-Identifier: Apache-2.0
// Rows of floats as int8 in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/i8_dynamic/kernels.h"

#include "simd/scalar_begin.h"
#define DYNAMIC_KERNELS smr_i8_dynamic_ukernels__scalar
#include "kernels/i8_dynamic/body.h"
#include "simd/end.h"
