// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels of random numbers for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/philox/philox.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_BODY "kernels/philox/body.h"
#include "kernels/training.inc"
#undef SMR_SIMD_BODY

static const struct smr_kernel_row philox_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_philox_kernels_##suffix},
#include "kernels/training.inc"
#undef SMR_UKERNEL
};

const struct smr_philox_kernels *smr_philox_kernels(uint32_t isa) {
  return smr_best_row(philox_rows, isa)->kernels;
}
