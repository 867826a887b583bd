// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_BF16_GEMM_KERNELS_H
#define SMR_KERNELS_BF16_GEMM_KERNELS_H

#include "base/isa.h"
#include "kernels/bf16_gemm/bf16_gemm.h"

#define SMR_BF16_GEMM_DECLARE(name)                                                     \
  void smr_bf16_gemm_ukernel_##name(size_t rows, size_t columns, const float *a,        \
                                    const float *const *indirect, const void *w,        \
                                    const float *bias, void *out, const void *residual, \
                                    const struct smr_f32_gemm_params *params);
#define SMR_UKERNEL(isa, suffix, mr, nr)       \
  SMR_BF16_GEMM_DECLARE(mr##x##nr##__##suffix) \
  SMR_BF16_GEMM_DECLARE(gemv__##suffix)
#include "kernels/bf16_gemm/kernels.inc"
#undef SMR_UKERNEL
#undef SMR_BF16_GEMM_DECLARE

#endif
