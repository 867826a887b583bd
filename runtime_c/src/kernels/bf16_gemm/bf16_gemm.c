// SPDX-License-Identifier: Apache-2.0
// Compiles the float product in bfloat16, and its weights for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/bf16_gemm/bf16_gemm.h"

#include "base/isa.h"
#include "kernels/rows.h"
#include "simd/half.h"

// The configuration at the end of each instruction set's file.
#define BF16_CONFIG(rows, columns)                                                      \
  static const struct smr_f32_gemm_config N(bf16_gemm_config) = {                       \
      .isa = SMR_SIMD_NAME,                                                             \
      .mr = rows,                                                                       \
      .nr = {[SMR_GEMM_BF16] = columns},                                                \
      .ukernel = {[SMR_GEMM_BF16] = SMR_HAS(bf16_gemm) ? N(bf16_gemm_kernel) : NULL},   \
      .gemv = {[SMR_GEMM_BF16] = SMR_HAS(bf16_gemm) ? N(bf16_gemm_gemv_kernel) : NULL}, \
      .gemv_nr = {[SMR_GEMM_BF16] = columns},                                           \
      .names = {[SMR_GEMM_BF16] = "bf16_gemm_" #rows "x" #columns "__" SMR_SIMD_NAME},  \
      .gemv_names = {[SMR_GEMM_BF16] = "bf16_gemm_gemv__" SMR_SIMD_NAME}}

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/bf16_gemm/body.h"
#include "kernels/bf16_gemm/kernels.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT
#undef BF16_CONFIG

static const struct smr_kernel_row bf16_gemm_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_bf16_gemm_config_##suffix},
#include "kernels/bf16_gemm/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_gemm_config *smr_bf16_gemm_config(uint32_t isa) {
  return smr_best_row(bf16_gemm_rows, isa)->kernels;
}

bool smr_bf16_gemm_pays(uint32_t isa) {
  return smr_best_row(bf16_gemm_rows, isa)->isa != SMR_ISA_NONE;
}

size_t smr_bf16_gemm_panel_bytes(size_t taps, size_t k) {
  return smr_panel_stride_bytes(taps * (k / 2 + k % 2), 2 * sizeof(uint16_t));
}

void smr_bf16_gemm_pack(size_t rows, const float *panel, uint16_t *out) {
  for (; rows >= 2; rows -= 2, panel += 2 * SMR_PANEL, out += 2 * SMR_PANEL) {
    for (size_t n = 0; n < SMR_PANEL; n++) {
      out[2 * n] = smr_f32_to_bf16(panel[n]);
      out[2 * n + 1] = smr_f32_to_bf16(panel[SMR_PANEL + n]);
    }
  }
  for (size_t n = 0; rows != 0 && n < SMR_PANEL; n++) {
    out[2 * n] = smr_f32_to_bf16(panel[n]);
    out[2 * n + 1] = 0;
  }
}
