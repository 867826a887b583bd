// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_GEMM_KERNELS_H
#define SMR_KERNELS_F32_GEMM_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_gemm/f32_gemm.h"

#define SMR_F32_GEMM_DECLARE(name)                                                                 \
  void smr_f32_gemm_ukernel_##name(size_t rows, size_t columns, const float *a,                    \
                                   const float *const *indirect, const void *w, const float *bias, \
                                   void *out, const void *residual,                                \
                                   const struct smr_f32_gemm_params *params);
#define SMR_UKERNEL(isa, suffix, mr, nr)           \
  SMR_F32_GEMM_DECLARE(mr##x##nr##__##suffix)      \
  SMR_F32_GEMM_DECLARE(mr##x##nr##_f16w__##suffix) \
  SMR_F32_GEMM_DECLARE(gemv__##suffix)             \
  SMR_F32_GEMM_DECLARE(gemv_f16w__##suffix)
#define SMR_UKERNEL_TALL(isa, suffix, mr, nr, tall_mr) \
  SMR_UKERNEL(isa, suffix, mr, nr)                     \
  SMR_F32_GEMM_DECLARE(tall_mr##x16__##suffix)
#define SMR_UKERNEL_HALF(isa, suffix, mr, nr, other, other_nr) \
  SMR_F32_GEMM_DECLARE(mr##x##nr##_f16w__##suffix)             \
  SMR_F32_GEMM_DECLARE(gemv_f16w__##suffix)
#include "kernels/f32_gemm/kernels.inc"
#undef SMR_UKERNEL
#undef SMR_UKERNEL_TALL
#undef SMR_UKERNEL_HALF
#undef SMR_F32_GEMM_DECLARE

#endif
