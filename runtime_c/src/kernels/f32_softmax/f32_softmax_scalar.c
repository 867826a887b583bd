// SPDX-License-Identifier: Apache-2.0
// Float softmax for any machine, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_softmax/kernels.h"

#include <math.h>

#include "simd/scalar_begin.h"
#define SOFTMAX_TABLE smr_f32_softmax_ukernels__scalar
#include "kernels/f32_softmax/body.h"
#include "simd/end.h"
