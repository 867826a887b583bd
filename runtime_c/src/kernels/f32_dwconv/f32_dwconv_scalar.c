// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_dwconv/kernels.h"

#include "simd/scalar_begin.h"
#define DW_SUFFIX scalar
#define DW_REGISTERS 16
#include "kernels/f32_dwconv/body.h"
#include "simd/end.h"
