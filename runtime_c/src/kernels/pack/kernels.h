// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_PACK_KERNELS_H
#define SMR_KERNELS_PACK_KERNELS_H

#include "base/isa.h"
#include "kernels/pack/pack_f32.h"

/// dst[i * 16 + j] = src[j * n_stride + i] for i < k and j < 16.
typedef void (*smr_pack_f32_transpose_ukernel)(size_t k, const float *src, size_t n_stride,
                                               float *dst);

#define SMR_UKERNEL(isa, suffix, block)                                                      \
  void smr_pack_f32_transpose_ukernel__##suffix(size_t k, const float *src, size_t n_stride, \
                                                float *dst);
#include "kernels/pack/kernels.inc"
#undef SMR_UKERNEL

#endif
