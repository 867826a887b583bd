// SPDX-License-Identifier: Apache-2.0
// Rows of floats as int8 in AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/i8_dynamic/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define DYNAMIC_KERNELS smr_i8_dynamic_ukernels__avx2
#include "kernels/i8_dynamic/body.h"
#include "simd/end.h"
#endif
