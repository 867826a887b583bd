// SPDX-License-Identifier: Apache-2.0
// Compiles softmax on int8 for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/q8_softmax/q8_softmax.h"

#include "base/build.h"
#include "base/isa.h"
#include "base/parts.h"
#include "kernels/q8_lookup/q8_lookup.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/q8_softmax/body.h"
#include "kernels/q8_softmax/kernels.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row q8_softmax_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_q8_softmax_kernels_##suffix},
#include "kernels/q8_softmax/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_q8_softmax *smr_q8_softmax_config(uint32_t isa) {
  return smr_best_row(q8_softmax_rows, isa)->kernels;
}
