// SPDX-License-Identifier: Apache-2.0
// Outer products for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_outer/kernels.h"

#if SMR_ARCH_AARCH64
#include "simd/neon_begin.h"
#define OUTER_MR 6
#define OUTER_NV 4
#define OUTER_MASKED 0
#define OUTER_TILES(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv)
#define OUTER_UKERNEL smr_f32_outer_ukernel_6x16__neon
#define OUTER_DIAGONAL_UKERNEL smr_f32_outer_diagonal_ukernel__neon
#include "kernels/f32_outer/body.h"
#include "simd/end.h"
#endif
