// SPDX-License-Identifier: Apache-2.0
// Compiles exact float products for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_gemm_exact/f32_gemm_exact.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_gemm_exact/body.h"
#include "kernels/f32_gemm_exact/kernels.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row f32_gemm_exact_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_gemm_exact_config_##suffix},
#include "kernels/f32_gemm_exact/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_gemm_config *smr_f32_gemm_exact_config(uint32_t isa) {
  return smr_best_row(f32_gemm_exact_rows, isa)->kernels;
}
