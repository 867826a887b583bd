// SPDX-License-Identifier: Apache-2.0
// Outer products for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_outer/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define OUTER_MR 6
#define OUTER_NV 4
#define OUTER_MASKED 0
#define OUTER_TILES(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv)
#define OUTER_UKERNEL smr_f32_outer_ukernel_6x16__v128
#define OUTER_DIAGONAL_UKERNEL smr_f32_outer_diagonal_ukernel__v128
#include "kernels/f32_outer/body.h"
#include "simd/end.h"
#endif
