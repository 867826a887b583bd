// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels of quantization for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/vquant/vquant.h"

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/rows.h"
#include "simd/requantize.h"
#include "simd/tail.h"

#include <string.h>

// Vector kernels leave some cases to portable C, which must exist even if a selective build drops
// its row.
#include "simd/scalar_begin.h"
#include "kernels/vquant/scalar.h"
#include "simd/end.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/vquant/body.h"
#include "kernels/vquant/kernels.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct vquant_row {
  uint32_t isa;
  struct smr_vquant kernels;
} vquant_rows[] = {
#define VQUANT_KERNEL(name, suffix) \
  SMR_KERNEL_OF(vquant_##name, smr_vquant_##name##_##suffix, smr_vquant_##name##_scalar)
#define SMR_UKERNEL(isa, suffix, lanes)                                                    \
  {isa,                                                                                    \
   {"vquant_" #suffix, VQUANT_KERNEL(quantize, suffix), VQUANT_KERNEL(dequantize, suffix), \
    VQUANT_KERNEL(requantize, suffix)}},
#include "kernels/vquant/kernels.inc"
#undef SMR_UKERNEL
#undef VQUANT_KERNEL
};

const struct smr_vquant *smr_vquant_config(uint32_t isa) {
  size_t i = 0;
  while ((vquant_rows[i].isa & isa) != vquant_rows[i].isa) i++;  // the last needs nothing
  return &vquant_rows[i].kernels;
}
