// SPDX-License-Identifier: Apache-2.0
// Float normalisations for AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_norm/kernels.h"

#include <math.h>

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx512_begin.h"
#define NORM_TABLE smr_f32_norm_ukernels__avx512
#include "kernels/f32_norm/body.h"
#include "simd/end.h"
#endif
