// SPDX-License-Identifier: Apache-2.0
// Dispatch of elementwise float arithmetic.
#include "base/fp.h"

#include "kernels/f32_vbinary/f32_vbinary.h"

#include "base/isa.h"
#include "kernels/f32_vbinary/kernels.h"

static const struct {
  uint32_t isa;
  const smr_f32_vbinary_ukernel *table;
  const char *name;
} f32_vbinary_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) \
  {bit, smr_f32_vbinary_ukernels__##suffix, "f32_vbinary__" #suffix},
#include "kernels/f32_vbinary/kernels.inc"
#undef SMR_UKERNEL
};

static size_t f32_vbinary_row(uint32_t isa) {
  size_t i = 0;
  while ((f32_vbinary_rows[i].isa & isa) != f32_vbinary_rows[i].isa) i++;  // the last needs nothing
  return i;
}

smr_f32_vbinary_ukernel smr_f32_vbinary_kernel(uint32_t isa, enum smr_f32_vbinary function) {
  return f32_vbinary_rows[f32_vbinary_row(isa)].table[function];
}

const char *smr_f32_vbinary_kernel_name(uint32_t isa) {
  return f32_vbinary_rows[f32_vbinary_row(isa)].name;
}
