// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_CONV_DIRECT_KERNELS_H
#define SMR_KERNELS_F32_CONV_DIRECT_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_conv_direct/f32_conv_direct.h"

#define SMR_F32_CONV_DIRECT_DECLARE(name)                                                          \
  void smr_f32_conv_direct_ukernel_##name(size_t rows, size_t columns, const float *const *rows_a, \
                                          const int32_t *offsets, const void *w,                   \
                                          const float *bias, void *out, const void *residual,      \
                                          const struct smr_f32_gemm_params *params);
#define SMR_UKERNEL(isa, suffix, mr, nr)             \
  SMR_F32_CONV_DIRECT_DECLARE(mr##x##nr##__##suffix) \
  SMR_F32_CONV_DIRECT_DECLARE(mr##x##nr##_f16w__##suffix)
#include "kernels/f32_conv_direct/kernels.inc"
#undef SMR_UKERNEL
#undef SMR_F32_CONV_DIRECT_DECLARE

#endif
