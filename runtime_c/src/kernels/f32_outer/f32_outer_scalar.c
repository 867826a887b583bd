// SPDX-License-Identifier: Apache-2.0
// Outer products for every CPU, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_outer/kernels.h"

#include "simd/scalar_begin.h"
#define OUTER_MR 3
#define OUTER_NV 4
#define OUTER_MASKED 0
#define OUTER_TILES(X, nv) X(1, nv) X(2, nv) X(3, nv)
#define OUTER_UKERNEL smr_f32_outer_ukernel_3x4__scalar
#define OUTER_DIAGONAL_UKERNEL smr_f32_outer_diagonal_ukernel__scalar
#include "kernels/f32_outer/body.h"
#include "simd/end.h"
