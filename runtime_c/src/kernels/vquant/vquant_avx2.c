// SPDX-License-Identifier: Apache-2.0
// Between real and quantized elements with AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/vquant/kernels.h"
#include "simd/requantize.h"

#if SMR_ARCH_X86_64
#include "simd/avx2_begin.h"
#define VQUANT_SUFFIX avx2
#include "kernels/vquant/body.h"
#include "simd/end.h"
#endif
