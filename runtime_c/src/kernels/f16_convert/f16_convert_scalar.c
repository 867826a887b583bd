// SPDX-License-Identifier: Apache-2.0
// Conversions between float16 and float32 in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f16_convert/kernels.h"

#include "simd/scalar_begin.h"
#define F16_SUFFIX scalar
#include "kernels/f16_convert/body.h"
#include "simd/end.h"
