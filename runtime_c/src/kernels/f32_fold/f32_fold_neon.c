// SPDX-License-Identifier: Apache-2.0
// Folds for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_fold/kernels.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define FOLD_UKERNEL smr_f32_fold_ukernel__neon
#include "kernels/f32_fold/body.h"
#include "simd/end.h"
#endif
