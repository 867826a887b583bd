// SPDX-License-Identifier: Apache-2.0
// Outer products for AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_outer/kernels.h"

#if SMR_ARCH_X86_64
#include "simd/avx512_begin.h"
#define OUTER_MR 12
#define OUTER_NV 3
#define OUTER_MASKED 1
#define OUTER_TILES(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv) X(7, nv) X(8, nv)
#define OUTER_TALL_TILES(X, nv) X(9, nv) X(10, nv) X(11, nv) X(12, nv)
#define OUTER_UKERNEL smr_f32_outer_ukernel_8x48__avx512
#define OUTER_DIAGONAL_UKERNEL smr_f32_outer_diagonal_ukernel__avx512
#include "kernels/f32_outer/body.h"
#include "simd/end.h"
#endif
