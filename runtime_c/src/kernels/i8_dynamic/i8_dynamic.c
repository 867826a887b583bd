// SPDX-License-Identifier: Apache-2.0
// Dispatch of the dynamic quantization of rows.
#include "base/fp.h"

#include "kernels/i8_dynamic/i8_dynamic.h"

#include "base/isa.h"
#include "kernels/i8_dynamic/kernels.h"

static const struct i8_dynamic_entry {
  uint32_t isa;
  const struct smr_i8_dynamic_kernels *kernels;
} i8_dynamic_entries[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_i8_dynamic_ukernels__##suffix},
#include "kernels/i8_dynamic/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_i8_dynamic_kernels *smr_i8_dynamic_kernels(uint32_t isa) {
  size_t i = 0;
  while ((i8_dynamic_entries[i].isa & isa) != i8_dynamic_entries[i].isa) i++;  // the last: nothing
  return i8_dynamic_entries[i].kernels;
}
