// SPDX-License-Identifier: Apache-2.0
// Folds for AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_fold/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define FOLD_UKERNEL smr_f32_fold_ukernel__avx2
#include "kernels/f32_fold/body.h"
#include "simd/end.h"
#endif
