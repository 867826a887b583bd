// SPDX-License-Identifier: Apache-2.0
// Winograd transforms for every CPU, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_winograd/kernels.h"

#include "simd/scalar_begin.h"
#define WINOGRAD_TABLE smr_f32_winograd_ukernels__scalar
#include "kernels/f32_winograd/body.h"
#include "simd/end.h"
