// SPDX-License-Identifier: Apache-2.0
// Dispatch of softmax on int8.
#include "base/fp.h"

#include "kernels/q8_softmax/q8_softmax.h"

#include "base/isa.h"
#include "kernels/q8_softmax/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_q8_softmax *table;
} q8_softmax_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_q8_softmax_ukernels__##suffix},
#include "kernels/q8_softmax/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_q8_softmax *smr_q8_softmax_config(uint32_t isa) {
  size_t i = 0;
  while ((q8_softmax_rows[i].isa & isa) != q8_softmax_rows[i].isa) i++;  // the last needs nothing
  return q8_softmax_rows[i].table;
}
