// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_VQUANT_KERNELS_H
#define SMR_KERNELS_VQUANT_KERNELS_H

#include "base/isa.h"
#include "kernels/vquant/vquant.h"

#define SMR_UKERNEL(isa, suffix)                                                                   \
  void smr_vquant_quantize_ukernel__##suffix(size_t n, const float *x, struct smr_vquant_params p, \
                                             int8_t *y);                                           \
  void smr_vquant_dequantize_ukernel__##suffix(size_t n, const int8_t *x,                          \
                                               struct smr_vquant_params p, float *y);              \
  void smr_vquant_requantize_ukernel__##suffix(size_t n, const int8_t *x,                          \
                                               struct smr_vquant_params from,                      \
                                               struct smr_vquant_params to, int8_t *y);
#include "kernels/vquant/kernels.inc"
// Vector kernels leave some cases to portable C, whose row a selective build may lack.
SMR_UKERNEL(SMR_ISA_NONE, scalar)
#undef SMR_UKERNEL

#endif
