// SPDX-License-Identifier: Apache-2.0
// Compiles softmax on int8 for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/i8_softmax/i8_softmax.h"

#include "base/build.h"
#include "base/isa.h"
#include "base/parts.h"
#include "kernels/i8_lookup/i8_lookup.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/i8_softmax/body.h"
#include "kernels/i8_softmax/kernels.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row i8_softmax_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_i8_softmax_kernels_##suffix},
#include "kernels/i8_softmax/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_softmax *smr_i8_softmax_config(uint32_t isa) {
  return smr_best_row(i8_softmax_rows, isa)->kernels;
}
