// SPDX-License-Identifier: Apache-2.0
// Dispatch of lookups of int8.
#include "base/fp.h"

#include "kernels/q8_lookup/q8_lookup.h"

#include "base/isa.h"
#include "kernels/q8_lookup/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_q8_lookup *table;
} q8_lookup_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_q8_lookup_ukernels__##suffix},
#include "kernels/q8_lookup/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_q8_lookup *smr_q8_lookup_config(uint32_t isa) {
  size_t i = 0;
  while ((q8_lookup_rows[i].isa & isa) != q8_lookup_rows[i].isa) i++;  // the last needs nothing
  return q8_lookup_rows[i].table;
}
