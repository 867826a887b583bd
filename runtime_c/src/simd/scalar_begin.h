// SPDX-License-Identifier: Apache-2.0
// Opens a region of portable C; see simd/common.h for the vocabulary.
#include "simd/common.h"
#include "simd/half.h"

#include <math.h>

#define SMR_SIMD_SUFFIX _scalar
#define SMR_SIMD_ISA SMR_ISA_NONE
#define SMR_SIMD_NAME "scalar"
#define SMR_SIMD_SCALAR
#define SMR_SIMD_PLAIN
#define N(name) SMR_PASTE(smr_, name, SMR_SIMD_SUFFIX)
#define VF 1

#ifndef SMR_SIMD_SCALAR_OPS
#define SMR_SIMD_SCALAR_OPS
#include "simd/scalar_ops.h"
#endif
