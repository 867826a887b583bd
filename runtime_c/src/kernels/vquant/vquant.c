// SPDX-License-Identifier: Apache-2.0
// Dispatch between the kernels of quantization.
#include "base/fp.h"

#include "kernels/vquant/vquant.h"

#include "base/parts.h"
#include "kernels/vquant/kernels.h"

static const struct vquant_row {
  uint32_t isa;
  struct smr_vquant kernels;
} vquant_rows[] = {
#define SMR_UKERNEL(isa, suffix)                                                                \
  {isa,                                                                                         \
   {"vquant_" #suffix, SMR_HAS(vquant_quantize) ? smr_vquant_quantize_ukernel__##suffix : NULL, \
    SMR_HAS(vquant_dequantize) ? smr_vquant_dequantize_ukernel__##suffix : NULL,                \
    SMR_HAS(vquant_requantize) ? smr_vquant_requantize_ukernel__##suffix : NULL}},
#include "kernels/vquant/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_vquant *smr_vquant_config(uint32_t isa) {
  size_t i = 0;
  while ((vquant_rows[i].isa & isa) != vquant_rows[i].isa) i++;  // the last needs nothing
  return &vquant_rows[i].kernels;
}
