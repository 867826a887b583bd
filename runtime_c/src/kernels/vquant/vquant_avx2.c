// SPDX-License-Identifier: Apache-2.0
// Between real and quantized elements for AVX2.
#include "base/fp.h"

#include <string.h>

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/vquant/kernels.h"
#include "simd/tail.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define VQUANT_SUFFIX avx2
#include "kernels/vquant/body.h"
#include "simd/end.h"
#endif
