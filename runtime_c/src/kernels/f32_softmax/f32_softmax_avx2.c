// SPDX-License-Identifier: Apache-2.0
// Float softmax for AVX2 with FMA.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_softmax/kernels.h"

#include <math.h>

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define SOFTMAX_TABLE smr_f32_softmax_ukernels__avx2
#include "kernels/f32_softmax/body.h"
#include "simd/end.h"
#endif
