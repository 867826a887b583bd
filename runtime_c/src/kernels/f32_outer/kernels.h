// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_OUTER_KERNELS_H
#define SMR_KERNELS_F32_OUTER_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_outer/f32_outer.h"

#define SMR_UKERNEL(isa, suffix, mr, nr, tall, narrow)                                       \
  void smr_f32_outer_ukernel_##mr##x##nr##__##suffix(size_t height, size_t width,            \
                                                     const struct smr_f32_outer_walk *walk); \
  void smr_f32_outer_diagonal_ukernel__##suffix(size_t taps, size_t channels, size_t b_tap,  \
                                                const struct smr_f32_outer_walk *walk);
#include "kernels/f32_outer/kernels.inc"
#undef SMR_UKERNEL

#endif
