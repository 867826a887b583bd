// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F16_CONVERT_KERNELS_H
#define SMR_KERNELS_F16_CONVERT_KERNELS_H

#include "base/isa.h"
#include "kernels/f16_convert/f16_convert.h"

#define SMR_UKERNEL(isa, suffix, lanes)                                             \
  void smr_f16_to_f32_ukernel__##suffix(size_t n, const uint16_t *src, float *dst); \
  void smr_f32_to_f16_ukernel__##suffix(size_t n, const float *src, uint16_t *dst);
#include "kernels/f16_convert/kernels.inc"
#undef SMR_UKERNEL

#endif
