// SPDX-License-Identifier: Apache-2.0
// Dispatch of the float product in bfloat16, and its weights.
#include "base/fp.h"

#include "kernels/bf16_gemm/bf16_gemm.h"

#include "base/isa.h"
#include "kernels/bf16_gemm/kernels.h"
#include "simd/half.h"

static const struct bf16_gemm_row {
  uint32_t isa;
  struct smr_f32_gemm_config config;
} bf16_gemm_rows[] = {
#define BF16_IN(name) SMR_HAS(bf16_gemm) ? smr_bf16_gemm_ukernel_##name : NULL
#define SMR_UKERNEL(bit, suffix, rows, columns)                                \
  {bit,                                                                        \
   {.isa = #suffix,                                                            \
    .mr = rows,                                                                \
    .nr = {[SMR_GEMM_BF16] = columns},                                         \
    .ukernel = {[SMR_GEMM_BF16] = BF16_IN(rows##x##columns##__##suffix)},      \
    .gemv = {[SMR_GEMM_BF16] = BF16_IN(gemv__##suffix)},                       \
    .gemv_nr = {[SMR_GEMM_BF16] = columns},                                    \
    .names = {[SMR_GEMM_BF16] = "bf16_gemm_" #rows "x" #columns "__" #suffix}, \
    .gemv_names = {[SMR_GEMM_BF16] = "bf16_gemm_gemv__" #suffix}}},
#include "kernels/bf16_gemm/kernels.inc"
#undef SMR_UKERNEL
#undef BF16_IN
};

static const struct bf16_gemm_row *bf16_gemm_row(uint32_t isa) {
  const struct bf16_gemm_row *row = bf16_gemm_rows;
  while ((row->isa & isa) != row->isa) row++;  // the last row needs nothing
  return row;
}

const struct smr_f32_gemm_config *smr_bf16_gemm_config(uint32_t isa) {
  return &bf16_gemm_row(isa)->config;
}

bool smr_bf16_gemm_pays(uint32_t isa) { return bf16_gemm_row(isa)->isa != SMR_ISA_NONE; }

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
