// SPDX-License-Identifier: Apache-2.0
// Compiles column normalisation for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_channel_norm/f32_channel_norm.h"

#include "base/isa.h"
#include "kernels/rows.h"

#include <math.h>

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_channel_norm/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row f32_channel_norm_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_channel_norm_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_channel_norm *smr_f32_channel_norm_config(uint32_t isa) {
  return smr_best_row(f32_channel_norm_rows, isa)->kernels;
}

static const struct smr_kernel_row f32_channel_norm_grad_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_channel_norm_grad_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_channel_norm_grad *smr_f32_channel_norm_grad_config(uint32_t isa) {
  return smr_best_row(f32_channel_norm_grad_rows, isa)->kernels;
}
