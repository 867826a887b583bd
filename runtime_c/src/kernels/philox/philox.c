// SPDX-License-Identifier: Apache-2.0
// Dispatch of the kernels of random numbers.
#include "base/fp.h"

#include "kernels/philox/philox.h"

#include "base/isa.h"
#include "kernels/philox/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_philox_kernels *kernels;
} philox_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_philox_ukernels__##suffix},
#include "kernels/philox/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_philox_kernels *smr_philox_kernels(uint32_t isa) {
  size_t i = 0;
  while ((philox_rows[i].isa & isa) != philox_rows[i].isa) i++;  // the last needs nothing
  return philox_rows[i].kernels;
}
