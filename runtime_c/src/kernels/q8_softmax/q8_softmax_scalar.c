// SPDX-License-Identifier: Apache-2.0
// softmax on int8 with no more than the compiler may assume.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/q8_lookup/kernels.h"
#include "kernels/q8_softmax/kernels.h"

#include "simd/scalar_begin.h"
#define Q8_SOFTMAX_SUFFIX scalar
#include "kernels/q8_softmax/body.h"
#include "simd/end.h"
