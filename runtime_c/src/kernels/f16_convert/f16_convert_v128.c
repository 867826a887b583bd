// SPDX-License-Identifier: Apache-2.0
// Conversions between float16 and float32 for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f16_convert/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define F16_SUFFIX v128
#include "kernels/f16_convert/body.h"
#include "simd/end.h"
#endif
