// SPDX-License-Identifier: Apache-2.0
// Dispatch of normalisations of int8 rows.
#include "base/fp.h"

#include "kernels/q8_norm/q8_norm.h"

#include "base/isa.h"
#include "kernels/q8_norm/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_q8_norm *table;
} q8_norm_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_q8_norm_ukernels__##suffix},
#include "kernels/q8_norm/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_q8_norm *smr_q8_norm_config(uint32_t isa) {
  size_t i = 0;
  while ((q8_norm_rows[i].isa & isa) != q8_norm_rows[i].isa) i++;  // the last needs nothing
  return q8_norm_rows[i].table;
}
