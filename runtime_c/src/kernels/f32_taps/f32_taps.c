// SPDX-License-Identifier: Apache-2.0
// Dispatch of sums over pixels that lie anywhere.
#include "base/fp.h"

#include "kernels/f32_taps/f32_taps.h"

#include "base/isa.h"
#include "kernels/f32_taps/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_f32_taps_kernels *kernels;
} f32_taps_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_taps_ukernels__##suffix},
#include "kernels/f32_taps/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_taps_kernels *smr_f32_taps_kernels(uint32_t isa) {
  size_t i = 0;
  while ((f32_taps_rows[i].isa & isa) != f32_taps_rows[i].isa) i++;  // the last needs nothing
  return f32_taps_rows[i].kernels;
}
