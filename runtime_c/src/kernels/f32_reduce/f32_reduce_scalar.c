// SPDX-License-Identifier: Apache-2.0
// Float reductions for any machine, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_reduce/kernels.h"

#include <math.h>

#include "simd/scalar_begin.h"
#define REDUCE_TABLE smr_f32_reduce_ukernels__scalar
#include "kernels/f32_reduce/body.h"
#include "simd/end.h"
