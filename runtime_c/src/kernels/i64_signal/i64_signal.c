// SPDX-License-Identifier: Apache-2.0
// Compiles the transforms in 64-bit fixed point for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i64_signal/i64_signal.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i64_signal/body.h"
#include "kernels/int8.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row i64_signal_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_i64_signal_kernels_##suffix},
#include "kernels/int8.inc"
#undef SMR_UKERNEL
};

const struct smr_i64_signal *smr_i64_signal_config(uint32_t isa) {
  return smr_best_row(i64_signal_rows, isa)->kernels;
}
