// SPDX-License-Identifier: Apache-2.0
// Sums and products of int8 rows for AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/q8_vbinary/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define Q8_VBINARY_TABLE smr_q8_vbinary_ukernels__avx2
#include "kernels/q8_vbinary/body.h"
#include "simd/end.h"
#endif
