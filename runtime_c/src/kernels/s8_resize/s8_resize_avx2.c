// SPDX-License-Identifier: Apache-2.0
// Linear interpolation of int8 with AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/s8_resize/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define S8_RESIZE_TABLE smr_s8_resize_ukernels__avx2
#include "kernels/s8_resize/body.h"
#include "simd/end.h"
#endif
