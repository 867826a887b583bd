// SPDX-License-Identifier: Apache-2.0
// Gradients of softmax and cross-entropy for AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_softmax_grad/kernels.h"

#include <math.h>

#if SMR_ARCH_X86_64
#include "simd/avx512_begin.h"
#define SOFTMAX_GRAD_TABLE smr_f32_softmax_grad_ukernels__avx512
#include "kernels/f32_softmax_grad/body.h"
#include "simd/end.h"
#endif
