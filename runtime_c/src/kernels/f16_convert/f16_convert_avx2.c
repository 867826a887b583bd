// SPDX-License-Identifier: Apache-2.0
// Conversions between float16 and float32 with F16C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f16_convert/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define F16_SUFFIX avx2
#include "kernels/f16_convert/body.h"
#include "simd/end.h"
#endif
