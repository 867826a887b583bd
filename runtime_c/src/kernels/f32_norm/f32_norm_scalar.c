// SPDX-License-Identifier: Apache-2.0
// Float normalisations for any machine, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_norm/kernels.h"

#include <math.h>

#include "simd/scalar_begin.h"
#define NORM_TABLE smr_f32_norm_ukernels__scalar
#include "kernels/f32_norm/body.h"
#include "simd/end.h"
