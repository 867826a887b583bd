// SPDX-License-Identifier: Apache-2.0
// Dispatch of float normalisations.
#include "base/fp.h"

#include "kernels/f32_norm/f32_norm.h"

#include "base/isa.h"
#include "kernels/f32_norm/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_f32_norm *table;
} f32_norm_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_norm_ukernels__##suffix},
#include "kernels/f32_norm/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_norm *smr_f32_norm_config(uint32_t isa) {
  size_t i = 0;
  while ((f32_norm_rows[i].isa & isa) != f32_norm_rows[i].isa) i++;  // the last needs nothing
  return f32_norm_rows[i].table;
}
