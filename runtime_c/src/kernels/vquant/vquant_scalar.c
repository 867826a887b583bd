// SPDX-License-Identifier: Apache-2.0
// Between real and quantized elements with no more than the compiler may assume.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/vquant/kernels.h"
#include "simd/requantize.h"

#include "simd/scalar_begin.h"
#define VQUANT_SUFFIX scalar
#include "kernels/vquant/body.h"
#include "simd/end.h"
