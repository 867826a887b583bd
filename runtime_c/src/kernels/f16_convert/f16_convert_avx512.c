// SPDX-License-Identifier: Apache-2.0
// Conversions between float16 and float32 with AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f16_convert/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx512_begin.h"
#define F16_SUFFIX avx512
#include "kernels/f16_convert/body.h"
#include "simd/end.h"
#endif
