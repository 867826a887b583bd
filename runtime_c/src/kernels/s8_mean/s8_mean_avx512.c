// SPDX-License-Identifier: Apache-2.0
// Means of int8 with AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/s8_mean/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx512_begin.h"
#define S8_MEAN_TABLE smr_s8_mean_ukernels__avx512
#include "kernels/s8_mean/body.h"
#include "simd/end.h"
#endif
