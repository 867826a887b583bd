// SPDX-License-Identifier: Apache-2.0
// Dispatch of sums and products of int8 rows.
#include "base/fp.h"

#include "kernels/q8_vbinary/q8_vbinary.h"

#include "base/isa.h"
#include "kernels/q8_vbinary/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_q8_vbinary *table;
} q8_vbinary_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_q8_vbinary_ukernels__##suffix},
#include "kernels/q8_vbinary/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_q8_vbinary *smr_q8_vbinary_config(uint32_t isa) {
  size_t i = 0;
  while ((q8_vbinary_rows[i].isa & isa) != q8_vbinary_rows[i].isa) i++;  // the last needs nothing
  return q8_vbinary_rows[i].table;
}
