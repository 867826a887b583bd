// SPDX-License-Identifier: Apache-2.0
// Gradients of normalised rows for any machine, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_norm_grad/kernels.h"

#include <math.h>

#include "simd/scalar_begin.h"
#define NORM_GRAD_TABLE smr_f32_norm_grad_ukernels__scalar
#include "kernels/f32_norm_grad/body.h"
#include "simd/end.h"
