// SPDX-License-Identifier: Apache-2.0
// Outer products for AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_outer/kernels.h"

#if SMR_ARCH_X86_64
#include "simd/avx2_begin.h"
#define OUTER_MR 6
#define OUTER_NV 2
#define OUTER_MASKED 0
#define OUTER_TILES(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv)
#define OUTER_UKERNEL smr_f32_outer_ukernel_6x16__avx2
#define OUTER_DIAGONAL_UKERNEL smr_f32_outer_diagonal_ukernel__avx2
#include "kernels/f32_outer/body.h"
#include "simd/end.h"
#endif
