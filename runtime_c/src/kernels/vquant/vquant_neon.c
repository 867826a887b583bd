// SPDX-License-Identifier: Apache-2.0
// Between real and quantized elements for NEON.
#include "base/fp.h"

#include <string.h>

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/vquant/kernels.h"
#include "simd/tail.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define VQUANT_SUFFIX neon
#include "kernels/vquant/body.h"
#include "simd/end.h"
#endif
