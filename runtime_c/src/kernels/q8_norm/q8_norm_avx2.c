// SPDX-License-Identifier: Apache-2.0
// Normalisations of int8 rows for AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/q8_norm/kernels.h"

#include <math.h>

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define Q8_NORM_TABLE smr_q8_norm_ukernels__avx2
#include "kernels/q8_norm/body.h"
#include "simd/end.h"
#endif
