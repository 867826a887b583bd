// SPDX-License-Identifier: Apache-2.0
// Gradients of normalised rows for AVX2 with FMA.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_norm_grad/kernels.h"

#include <math.h>

#if SMR_ARCH_X86_64
#include "simd/avx2_begin.h"
#define NORM_GRAD_TABLE smr_f32_norm_grad_ukernels__avx2
#include "kernels/f32_norm_grad/body.h"
#include "simd/end.h"
#endif
