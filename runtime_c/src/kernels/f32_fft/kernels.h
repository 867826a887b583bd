// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_FFT_KERNELS_H
#define SMR_KERNELS_F32_FFT_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_fft/f32_fft.h"

#define SMR_UKERNEL(isa, suffix, lanes)                                                    \
  void smr_f32_fft_pass_ukernel__##suffix(const struct smr_f32_fft_pass *pass);            \
  void smr_f32_fft_scale_ukernel__##suffix(size_t n, size_t s, struct smr_f32_fft_parts w, \
                                           struct smr_f32_fft_parts x);
#include "kernels/f32_fft/kernels.inc"
#undef SMR_UKERNEL

#endif
