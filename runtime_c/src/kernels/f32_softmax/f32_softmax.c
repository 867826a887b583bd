// SPDX-License-Identifier: Apache-2.0
// Dispatch of float softmax.
#include "base/fp.h"

#include "kernels/f32_softmax/f32_softmax.h"

#include "base/isa.h"
#include "kernels/f32_softmax/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_f32_softmax *table;
} f32_softmax_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_softmax_ukernels__##suffix},
#include "kernels/f32_softmax/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_softmax *smr_f32_softmax_config(uint32_t isa) {
  size_t i = 0;
  while ((f32_softmax_rows[i].isa & isa) != f32_softmax_rows[i].isa) i++;  // the last needs nothing
  return f32_softmax_rows[i].table;
}
