// SPDX-License-Identifier: Apache-2.0
// softmax on int8 for AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/q8_lookup/kernels.h"
#include "kernels/q8_softmax/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx512_begin.h"
#define Q8_SOFTMAX_SUFFIX avx512
#include "kernels/q8_softmax/body.h"
#include "simd/end.h"
#endif
