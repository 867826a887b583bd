// SPDX-License-Identifier: Apache-2.0
// Folds for every CPU, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_fold/kernels.h"

#include "simd/scalar_begin.h"
#define FOLD_UKERNEL smr_f32_fold_ukernel__scalar
#include "kernels/f32_fold/body.h"
#include "simd/end.h"
