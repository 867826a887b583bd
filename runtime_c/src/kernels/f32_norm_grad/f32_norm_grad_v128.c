// SPDX-License-Identifier: Apache-2.0
// Gradients of normalised rows for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_norm_grad/kernels.h"

#include <math.h>

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define NORM_GRAD_TABLE smr_f32_norm_grad_ukernels__v128
#include "kernels/f32_norm_grad/body.h"
#include "simd/end.h"
#endif
