// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_FOLD_KERNELS_H
#define SMR_KERNELS_F32_FOLD_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_fold/f32_fold.h"

#define SMR_UKERNEL(isa, suffix, lanes)                                               \
  void smr_f32_fold_ukernel__##suffix(size_t count, size_t turns, size_t length,      \
                                      const float *from, size_t from_step, float *to, \
                                      size_t to_step);
#include "kernels/f32_fold/kernels.inc"
#undef SMR_UKERNEL

#endif
