// SPDX-License-Identifier: Apache-2.0
// Folds for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_fold/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define FOLD_UKERNEL smr_f32_fold_ukernel__v128
#include "kernels/f32_fold/body.h"
#include "simd/end.h"
#endif
